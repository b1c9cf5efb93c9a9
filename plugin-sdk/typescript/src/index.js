// Tools, resources and prompts for Wharf, in TypeScript and JavaScript.

import { listChanged as listChangedOf, resourceUpdated as resourceUpdatedOf } from "#host";
import { Plugin } from "./plugin.js";

export { audio, Content, embedded, image, link, result, text, ToolResult } from "./content.js";
export { HttpError, InvalidArguments, NotFound, ToolError, Unavailable } from "./errors.js";
export * as http from "./http.js";
export * as log from "./log.js";
export { Plugin } from "./plugin.js";
export { s, Schema } from "./schema.js";
export * as settings from "./settings.js";
export { Store, StoreError } from "./store.js";
export { decode, encode } from "./utf8.js";

/** Creates a plugin, to be the default export. */
export const plugin = () => new Plugin();

/** Notifies the host that one of this plugin's lists has changed. */
export function listChanged(listing) {
  if (!["tools", "prompts", "resources"].includes(listing)) throw new TypeError(`${listing}: there is no such list`);
  listChangedOf(listing);
}

/** Notifies the host that a resource of this plugin has new contents. */
export const resourceUpdated = (uri) => resourceUpdatedOf(String(uri).toWellFormed());
