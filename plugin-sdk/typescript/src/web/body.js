// `Headers`, `Request` and `Response`, with bodies that are there as a whole.

import { URLSearchParams } from "../../url/whatwg-url-minimum.js";
import { decode, encode } from "../utf8.js";
import { AbortController } from "./events.js";

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export class Headers {
  /** Pairs of a name in lower case and a value, in the order of adding. */
  #fields = [];

  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init !== "object") throw new TypeError("headers are an object, pairs, or Headers");
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name, value) {
    this.#fields.push([named(name), valued(value)]);
  }

  delete(name) {
    const key = named(name);
    this.#fields = this.#fields.filter(([one]) => one !== key);
  }

  get(name) {
    const key = named(name);
    const found = this.#fields.filter(([one]) => one === key);
    return found.length ? found.map(([, value]) => value).join(", ") : null;
  }

  getSetCookie() {
    return this.#fields.filter(([name]) => name === "set-cookie").map(([, value]) => value);
  }

  has(name) {
    const key = named(name);
    return this.#fields.some(([one]) => one === key);
  }

  set(name, value) {
    const [key, text] = [named(name), valued(value)];
    const at = this.#fields.findIndex(([one]) => one === key);
    if (at < 0) return void this.#fields.push([key, text]);
    this.#fields = this.#fields.filter(([one], index) => one !== key || index === at);
    this.#fields[at][1] = text;
  }

  forEach(visit, self) {
    for (const [name, value] of this) visit.call(self, value, name, this);
  }

  *entries() {
    for (const name of [...new Set(this.#fields.map(([one]) => one))].sort()) {
      if (name === "set-cookie") for (const cookie of this.getSetCookie()) yield [name, cookie];
      else yield [name, this.get(name)];
    }
  }

  *keys() {
    for (const [name] of this) yield name;
  }

  *values() {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}

function named(name) {
  if (!NAME.test(name)) throw new TypeError(`${name}: invalid name of a header`);
  return String(name).toLowerCase();
}

function valued(value) {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\r\n]/.test(text)) throw new TypeError("a header's value has no line breaks");
  return text;
}

/** A body's bytes, and the media type that it suggests. */
function taken(body) {
  if (body === undefined || body === null) return [null];
  if (body instanceof ArrayBuffer) return [new Uint8Array(body.slice(0))];
  if (ArrayBuffer.isView(body)) return [new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()];
  if (body instanceof URLSearchParams) return [encode(String(body)), "application/x-www-form-urlencoded;charset=UTF-8"];
  return [encode(String(body)), "text/plain;charset=UTF-8"];
}

class Body {
  #bytes = null;
  #used = false;

  constructor(body, headers) {
    const [bytes, type] = taken(body);
    this.#bytes = bytes;
    this.headers = headers;
    if (type && !headers.has("content-type")) headers.set("content-type", type);
  }

  get bodyUsed() {
    return this.#used;
  }

  /** There are no streams: use `text`, `json`, `bytes` or `arrayBuffer`. */
  get body() {
    return null;
  }

  async bytes() {
    if (this.#used) throw new TypeError("the body has been read already: clone() it before that");
    this.#used = this.#bytes !== null;
    return this.#bytes ?? new Uint8Array();
  }

  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }

  async text() {
    const text = decode(await this.bytes());
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  async json() {
    return JSON.parse(await this.text());
  }

  async blob() {
    throw new TypeError("a component has no Blob: read bytes() or arrayBuffer()");
  }

  async formData() {
    throw new TypeError("a component has no FormData: read text()");
  }

  /** A copy of the bytes for a clone or a request. */
  static bytesOf(body) {
    if (body.#used) throw new TypeError("the body has been read already");
    return body.#bytes;
  }
}
const { bytesOf } = Body;
delete Body.bytesOf;
export { bytesOf };

const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

export class Request extends Body {
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    const given = String(init.method ?? from?.method ?? "GET");
    const method = METHODS.includes(given.toUpperCase()) ? given.toUpperCase() : given;
    const body = init.body ?? (from ? bytesOf(from) : null);
    if (body !== null && (method === "GET" || method === "HEAD")) throw new TypeError(`a ${method} request has no body`);
    super(body, new Headers(init.headers ?? from?.headers));
    this.method = method;
    this.url = from?.url ?? String(input);
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
  }

  clone() {
    return new Request(this);
  }
}

export class Response extends Body {
  constructor(body, { status = 200, statusText = "", headers } = {}, { url = "", redirected = false } = {}) {
    super(body, new Headers(headers));
    this.status = status;
    this.statusText = statusText;
    this.url = url;
    this.redirected = redirected;
    this.type = "default";
  }

  get ok() {
    return this.status >= 200 && this.status < 300;
  }

  clone() {
    return new Response(bytesOf(this), this, this);
  }

  static error() {
    return Object.assign(new Response(null, { status: 0 }), { type: "error" });
  }

  static json(value, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(value), { ...init, headers });
  }

  static redirect(url, status = 302) {
    return new Response(null, { status, headers: { location: String(url) } });
  }
}
