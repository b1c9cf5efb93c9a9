// HTTP requests, if the plugin was granted them. Redirects are not followed.

import { fetch as exchange } from "#http";
import { HttpError, ToolError } from "./errors.js";
import { refuseMisspelt } from "./names.js";
import * as options from "./options.js";
import { decode, encode } from "./utf8.js";

export { HttpError };

/** A response, whatever its status. */
export class Response {
  constructor(status, body = new Uint8Array(), headers = []) {
    this.status = status;
    this.bytes = typeof body === "string" ? encode(body) : body;
    this.headers = headers;
  }

  /** Itself if its status is 200 to 299, else an error. */
  ok() {
    if (this.status >= 200 && this.status < 300) return this;
    throw new ToolError(`the server answered with status ${this.status}`);
  }

  /** The first header field of that name. */
  header(name) {
    return this.headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  }

  text() {
    return decode(this.bytes);
  }

  json() {
    return JSON.parse(this.text());
  }
}

refuseMisspelt(Response, "a response", ["status", "bytes", "headers", "ok", "header", "text", "json"]);

/** Sends a request and waits for the whole response. */
export function fetch(url, given = {}) {
  options.check("request", "http.fetch", given);
  const { method = "GET", headers = {}, json, timeout } = given;
  let { body } = given;
  const fields = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => field(name, one)));
  if (json !== undefined) {
    fields.push(field("content-type", "application/json"));
    body = JSON.stringify(json);
  }
  const request = {
    method: String(method).toWellFormed(),
    url: String(url).toWellFormed(),
    headers: fields,
    body: body === undefined ? undefined : bytes(body),
    timeoutMs: timeout === undefined ? undefined : Math.min(Math.max(Math.trunc(timeout), 0), 0xffffffff),
  };
  try {
    const { status, body, headers } = exchange(request);
    return new Response(status, new Uint8Array(body), headers.map(({ name, value }) => [name, decode(value)]));
  } catch (error) {
    throw error?.payload ? refused(error.payload) : error;
  }
}

export const get = (url, options) => fetch(url, options);
export const post = (url, options) => fetch(url, { ...options, method: "POST" });

const field = (name, value) => ({ name: name.toWellFormed(), value: bytes(value) });

const bytes = (value) => (value instanceof Uint8Array ? value : encode(String(value)));

/** The error of the host. */
export function refused({ tag, val }) {
  if (tag === "timeout") return new HttpError(tag, "the request timed out");
  if (tag === "too-large") return new HttpError(tag, `the response has more than ${val} bytes`);
  return new HttpError(tag, val);
}
