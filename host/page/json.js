// JSON whose whole numbers keep all their digits: those that a number of JavaScript would round are kept as their text.
//
// Source: ECMAScript, "JSON.parse source text access". A browser without it rounds them.

export const isExact = typeof JSON.rawJSON === "function";

/** A whole number as it was written. */
const WHOLE = /^-?(?:0|[1-9]\d*)$/;

/** The number of that text; `undefined` if it is none. */
export function number(text) {
  const value = Number(text);
  if (isExact && WHOLE.test(text) && !Number.isSafeInteger(value)) return JSON.rawJSON(text);
  return Number.isFinite(value) ? value : undefined;
}

export function isWhole(value) {
  return typeof value === "object" || Number.isInteger(value);
}

export function parse(text) {
  return JSON.parse(text, (key, value, { source } = {}) => (typeof value === "number" && source ? (number(source) ?? value) : value));
}

/** A value as it is shown: a text as it is, anything else as JSON, on one line unless it is indented. */
export function shown(value, indent) {
  return typeof value === "string" ? value : JSON.stringify(value, null, indent);
}
