// Pages that chat clients show beside the results of tools (MCP Apps).

import * as options from "./options.js";
import { SCRIPT } from "./page_script.js";

export const MIME_TYPE = "text/html;profile=mcp-app";

/** What clients are told of a page. */
function metaOf({ border = true, connectsTo = [], loadsFrom = [], permissions = [] }) {
  const csp = {
    ...(connectsTo.length && { connectDomains: connectsTo }),
    ...(loadsFrom.length && { resourceDomains: loadsFrom }),
  };
  const asked = Object.fromEntries(permissions.map((name) => [name, {}]));
  return {
    ui: {
      prefersBorder: border,
      ...(Object.keys(csp).length && { csp }),
      ...(permissions.length && { permissions: asked }),
    },
  };
}

/** The document, with the script before the first one of its own. */
function documentOf({ html, ownScript }) {
  if (ownScript) return html;
  const at = html.indexOf("<script");
  const [before, after] = at < 0 ? [html, ""] : [html.slice(0, at), html.slice(at)];
  return `${before}<script>${SCRIPT}</script>\n${after}`;
}

/** The resource of a page: its options, and what reads it. */
export function resourceOf(page) {
  const meta = metaOf(page);
  const about = { name: page.uri.split("/").at(-1), title: page.title, mimeType: MIME_TYPE, meta };
  return [about, () => ({ uri: page.uri, text: documentOf(page), meta })];
}

export function check(page, what) {
  options.check("page", `the page of ${what}`, page);
  for (const name of ["uri", "html"]) {
    if (typeof page[name] !== "string") throw new TypeError(`the page of ${what} needs a text: ${name}`);
  }
}

/** The metadata of a tool with what it says of pages. */
export function toolMeta(meta, page, appOnly) {
  if (!page && !appOnly) return meta;
  const ui = { ...meta?.ui, ...(page && { resourceUri: page.uri }), ...(appOnly && { visibility: ["app"] }) };
  return { ...meta, ui };
}
