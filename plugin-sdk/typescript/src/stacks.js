// Stacks of errors with the lines of the author's files, instead of those of the bundle, and names
// that a component does not have with what to use instead.

/** What to use instead of globals of Node and browsers. */
const INSTEAD = {
  Buffer: "use Uint8Array, with encode and decode of wharf-plugin for text",
  process: "settings.environment() has the variables of the grant `env`",
  require: "write import at the top of the module",
  module: "write export",
  exports: "write export",
  global: "write globalThis",
  __dirname: "there is no access to files",
  __filename: "there is no access to files",
  Intl: "the engine has no locales: format numbers and dates yourself, or with a package that needs no Intl",
  XMLHttpRequest: "use fetch",
  WebSocket: "use fetch; a plugin makes single HTTP requests",
  EventSource: "use fetch; a plugin makes single HTTP requests",
  Blob: "use Uint8Array",
  File: "use Uint8Array",
  FormData: "use URLSearchParams, or write the body yourself",
  ReadableStream: "bodies are read as a whole: use bytes(), text() or json()",
  WritableStream: "bodies are written as a whole: pass a string or a Uint8Array",
  TransformStream: "bodies are read as a whole: use bytes(), text() or json()",
  WebAssembly: "a component cannot load further code",
  Worker: "a plugin has one thread; calls run in parallel",
  localStorage: "use Store",
  sessionStorage: "use Store",
  window: "there is no browser",
  document: "there is no browser",
};

const UNDEFINED = /^(\w+) is not defined$/;

/** The text of an error for a name that is missing. */
export function explained(message) {
  const name = UNDEFINED.exec(message)?.[1];
  const instead = Object.hasOwn(INSTEAD, name ?? "") ? INSTEAD[name] : undefined;
  return instead ? `${message} in a plugin: ${instead}` : message;
}

/** The place of a line of the bundle. `lines` has runs of lines that follow one another:
    the first in the bundle, the number of the file, the first in it, and how many. */
export function place(line, { files, lines }) {
  for (let at = 0; at < lines.length; at += 4) {
    const below = line - lines[at];
    if (below >= 0 && below < lines[at + 3]) return `${files[lines[at + 1]]}:${lines[at + 2] + below}`;
  }
  return undefined;
}

/** Makes stacks of the author's lines; the engine calls this for each error. */
export function install(global, built) {
  global.Error.prepareStackTrace = (error, sites) => {
    if (error instanceof ReferenceError && typeof error.message === "string") error.message = explained(error.message);
    const frames = sites.map((site) => {
      const found = place(site.getLineNumber(), built);
      const name = site.getFunctionName();
      return found && `    at ${name && name !== "<anonymous>" ? `${name} (${found})` : found}\n`;
    });
    return frames.filter(Boolean).join("");
  };
}
