// Tools, resources and prompts for Wharf, in TypeScript and JavaScript.

import { listChanged as listChangedOf, resourceUpdated as resourceUpdatedOf } from "#host";
import { Plugin } from "./plugin.js";

export { audio, Content, embedded, image, link, result, text, ToolResult } from "./content.js";
export { InvalidArguments, NotFound, ToolError, Unavailable } from "./errors.js";
export * as http from "./http.js";
export * as log from "./log.js";
export { Plugin } from "./plugin.js";
export { s, Schema } from "./schema.js";
export * as settings from "./settings.js";
export { Store, StoreError } from "./store.js";
export { decode, encode } from "./utf8.js";

/** A new plugin, to be exported as the default. */
export const plugin = () => new Plugin();

/** One of this plugin's lists would now be answered differently. */
export function listChanged(listing) {
  if (!["tools", "prompts", "resources"].includes(listing)) throw new TypeError(`${listing}: there is no such list`);
  listChangedOf(listing);
}

/** A resource of this plugin has new contents. */
export const resourceUpdated = (uri) => resourceUpdatedOf(String(uri).toWellFormed());
