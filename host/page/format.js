// Numbers, times and texts for people.

/** Characters that are not seen, or that change how others are shown: controls, marks of direction, tags and the like. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]/gu;

/** The same text with such characters spelt out. */
export function visible(text) {
  return text.replace(HIDDEN, (hidden) => `\\u{${hidden.codePointAt(0).toString(16)}}`);
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function count(number) {
  return number === undefined ? "" : NUMBER.format(number);
}

export function bytes(number) {
  if (number === undefined) return "";
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  while (number >= 1000 && at < units.length - 1) {
    number /= 1000;
    at += 1;
  }
  return `${NUMBER.format(number)} ${units[at]}`;
}

/** A time that is given in microseconds. */
export function micros(number) {
  if (number === undefined) return "";
  if (number < 1000) return `${NUMBER.format(number)} µs`;
  if (number < 1_000_000) return `${NUMBER.format(number / 1000)} ms`;
  return `${NUMBER.format(number / 1_000_000)} s`;
}

/** The time of day, of milliseconds since 1970. */
export function timeOfDay(at) {
  return new Date(at).toLocaleTimeString("en-GB");
}

/** The beginning of a digest, which is enough to tell versions apart. */
export function short(content) {
  return content ? `blake3:${content.slice(0, 12)}…` : "";
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
