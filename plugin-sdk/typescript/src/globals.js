// Globals that libraries expect and QuickJS lacks: `console`, `TextEncoder` and
// `TextDecoder` for UTF-8, `crypto` for random values, a `Math.random` that is seeded in each call,
// promises and timers. Outside of a component nothing is replaced. Those of `web.js` are in a
// component only if it uses them.

import { log } from "#host";
import { getRandomBytes } from "#random";
import * as loop from "./loop.js";
import { fromAsync, Promise } from "./promise.js";
import { decode, encode } from "./utf8.js";

const said = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}\n${value.stack ?? ""}`.trimEnd();
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
};

const say = (level) => (...values) => {
  if (loop.isRunning()) log(level, values.map(said).join(" ").toWellFormed());
};

const console = {
  debug: say("debug"),
  trace: say("debug"),
  log: say("info"),
  info: say("info"),
  warn: say("warning"),
  error: say("error"),
  assert: (condition, ...values) => {
    if (!condition) say("error")("assertion failed:", ...values);
  },
};

class TextEncoder {
  encoding = "utf-8";
  encode(text = "") {
    return encode(String(text));
  }
}

class TextDecoder {
  encoding = "utf-8";
  constructor(label = "utf-8") {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`${label}: only UTF-8 is supported`);
  }
  decode(bytes = new Uint8Array()) {
    const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    const text = decode(view);
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

const random = (length) => {
  if (!loop.isRunning()) throw new Error("no random values while the component is built: they would be the same in every call");
  return new Uint8Array(getRandomBytes(length));
};

const crypto = {
  getRandomValues(array) {
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(random(array.byteLength));
    return array;
  },
  randomUUID() {
    const bytes = random(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  },
};

// QuickJS seeds its own generator while the component is built, so it would give the same
// numbers in every call. This is sfc32, seeded by the host at the first number of a call.
const builtin = Math.random;
let state = null;
function number() {
  if (!loop.isRunning()) return builtin();
  if (!state) {
    state = new Uint32Array(4);
    crypto.getRandomValues(state);
  }
  const sum = (state[0] + state[1] + state[3]) >>> 0;
  state[3] += 1;
  state[0] = state[1] ^ (state[1] >>> 9);
  state[1] = state[2] + (state[2] << 3);
  state[2] = ((state[2] << 21) | (state[2] >>> 11)) + sum;
  return sum / 2 ** 32;
}

/** Defines those that are missing, and replaces those that would do nothing in a call. */
export function install(global) {
  const define = (name, value, on = global) => Object.defineProperty(on, name, { value, writable: true, configurable: true });
  for (const [name, value] of Object.entries({ console, TextEncoder, TextDecoder, crypto })) {
    if (!(name in global)) define(name, value);
  }
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, queueMicrotask } = loop;
  const timers = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, queueMicrotask };
  for (const [name, value] of Object.entries({ ...timers, Promise })) define(name, value);
  define("fromAsync", fromAsync, global.Array);
  global.Math.random = number;
}
