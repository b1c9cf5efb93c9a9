// Pieces of results and prompts. The host converts them for older clients.

import * as options from "./options.js";

/** A piece of content; a plain string is one too. */
export class Content {
  constructor(kind, fields, hints = {}) {
    options.check("hints", kind, hints);
    this.kind = kind;
    Object.assign(this, fields, hints);
  }
}

export const text = (text, hints) => new Content("text", { text }, hints);
export const image = (data, mimeType, hints) => new Content("image", { data, mimeType }, hints);
export const audio = (data, mimeType, hints) => new Content("audio", { data, mimeType }, hints);

/** A resource's contents inside a result: `{ uri, text }` or `{ uri, bytes }`. */
export function embedded(contents, hints) {
  options.check("contents", "embedded", contents);
  return new Content("embedded", { contents }, hints);
}

/** A link to a resource. */
export function link(resource) {
  options.check("link", "link", resource);
  return new Content("link", { resource });
}

/** An explicit result of a tool. */
export class ToolResult {
  constructor({ content = [], structured, failed = false, meta } = {}) {
    this.content = typeof content === "string" || content instanceof Content ? [content] : content;
    this.structured = structured;
    this.failed = failed;
    this.meta = meta;
  }

  /** All its texts, concatenated. */
  get text() {
    return this.content.map((piece) => (typeof piece === "string" ? piece : (piece.text ?? ""))).join("");
  }
}

export function result(parts = {}) {
  options.check("result", "result", parts);
  return new ToolResult(parts);
}

const isPiece = (value) => typeof value === "string" || value instanceof Content;

/** A tool's return value as a result: a value that is not content is structured content. */
export function toResult(value, hasOutput) {
  if (value instanceof ToolResult) return value;
  if (hasOutput) return new ToolResult({ structured: value });
  if (value === undefined) return new ToolResult();
  if (isPiece(value)) return new ToolResult({ content: [value] });
  const pieces = Array.isArray(value) && value.every(isPiece) && value.some((piece) => typeof piece !== "string");
  return new ToolResult(pieces ? { content: value } : { structured: value });
}
