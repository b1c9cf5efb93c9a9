// Values stored between calls, if the plugin was granted `keyvalue`.

import { host, increment, open } from "#keyvalue";
import { ToolError } from "./errors.js";
import { refuseMisspelt } from "./names.js";
import { decode, encode } from "./utf8.js";

const DENIED =
  "this plugin may not store anything: the operator of the server can grant it `keyvalue`; the server's log says how";

/** The store was not granted, is full, or failed. */
export class StoreError extends ToolError {
  name = "StoreError";
}

/** A bucket of the plugin: keys, and a value for each. */
export class Store {
  #name;
  #opened;

  constructor(name = "") {
    this.#name = String(name).toWellFormed();
  }

  // Opened when it is first used: there is no host when module-level code runs. Of another host it is another bucket: tests
  // have several.
  #bucket() {
    const current = host();
    if (this.#opened?.host !== current) this.#opened = { host: current, bucket: open(this.#name) };
    return this.#opened.bucket;
  }

  get(key) {
    const bytes = this.getBytes(key);
    return bytes && JSON.parse(decode(bytes));
  }

  set(key, value) {
    const json = JSON.stringify(value);
    if (json === undefined) throw new TypeError(`${key}: a ${typeof value} cannot be converted to JSON`);
    this.setBytes(key, encode(json));
  }

  getBytes(key) {
    const bytes = convertErrors(() => this.#bucket().get(wanted(key)));
    return bytes ? new Uint8Array(bytes) : undefined;
  }

  setBytes(key, bytes) {
    if (!(bytes instanceof Uint8Array)) throw new TypeError(`${key}: expected a Uint8Array`);
    convertErrors(() => this.#bucket().set(wanted(key), bytes));
  }

  has(key) {
    return convertErrors(() => this.#bucket().exists(wanted(key)));
  }

  delete(key) {
    convertErrors(() => this.#bucket().delete(wanted(key)));
  }

  keys() {
    let page = convertErrors(() => this.#bucket().listKeys(undefined));
    const keys = [...page.keys];
    while (page.cursor !== null && page.cursor !== undefined) {
      const { cursor } = page;
      page = convertErrors(() => this.#bucket().listKeys(cursor));
      keys.push(...page.keys);
    }
    return keys;
  }

  increment(key, delta = 1) {
    if (!Number.isSafeInteger(delta) || delta < 0) throw new RangeError("the increment must be a non-negative whole number");
    return convertErrors(() => increment(this.#bucket(), wanted(key), delta));
  }
}

refuseMisspelt(Store, "a store");

const wanted = (key) => String(key).toWellFormed();

function convertErrors(work) {
  try {
    return work();
  } catch (error) {
    if (!error?.payload) throw error;
    const { tag, val } = error.payload;
    if (tag === "access-denied") throw new StoreError(DENIED);
    throw new StoreError(tag === "no-such-store" ? "there is no bucket of that name" : val);
  }
}
