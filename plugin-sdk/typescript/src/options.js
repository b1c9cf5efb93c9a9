// Objects that authors pass to functions of this package. Types reject a member that does not exist; without types it would
// be dropped without a word, and with it a description or a hint.

import { instead } from "./names.js";

const HINTS = ["audience", "priority", "lastModified", "meta"];
const ABOUT = ["title", "description", "icons", "meta"];
const RESOURCE = ["uri", "name", "title", "description", "mimeType", "size", "icons", ...HINTS];

/** The members, as in the types. */
export const MEMBERS = {
  hints: HINTS,
  icon: ["src", "mimeType", "sizes", "theme"],
  contents: ["uri", "mimeType", "meta", "text", "bytes"],
  link: RESOURCE,
  result: ["content", "structured", "failed", "meta"],
  tool: [...ABOUT, "input", "output", "readOnly", "destructive", "idempotent", "openWorld", "tasks", "page", "appOnly"],
  page: ["uri", "html", "title", "border", "connectsTo", "loadsFrom", "permissions", "ownScript"],
  prompt: [...ABOUT, "arguments"],
  resource: [...RESOURCE.filter((name) => name !== "uri"), "variables"],
  request: ["method", "headers", "body", "json", "timeout"],
  sampling: [
    "messages", "maxTokens", "system", "temperature", "stopAt", "models", "costPriority", "speedPriority",
    "intelligencePriority", "context", "tools", "toolChoice", "metadata",
  ],
  sampledTool: ["name", "description", "schema"],
  client: ["answers", "http", "config", "environment", "store", "timeout", "features", "meta"],
};

/** Whether a call may run as a task. */
const TASKS = ["forbidden", "optional", "required"];

/** Fails for a member that does not exist. `kind` is one of `MEMBERS`, `what` has the options. */
export function check(kind, what, options) {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`the options of ${what} must be an object, such as {}`);
  }
  const names = MEMBERS[kind];
  const wrong = Object.keys(options).find((name) => !names.includes(name));
  if (wrong !== undefined) throw new TypeError(`${what} has no option '${wrong}'${instead(wrong, names)}`);
  const { tasks = TASKS[0] } = options;
  if (kind === "tool" && !TASKS.includes(tasks)) throw new TypeError(`tasks of ${what} must be one of ${TASKS.join(", ")}`);
  for (const icon of (names.includes("icons") && options.icons) || []) check("icon", `an icon of ${what}`, icon);
}
