// `fetch` over the host's HTTP. The host answers a request as a whole, before anything else runs.

import { fetch as exchange } from "#http";
import { URL } from "../../url/whatwg-url-minimum.js";
import { refused } from "../http.js";
import { bytesOf, Request, Response } from "./body.js";
import { deadline, timedOut } from "./events.js";
import { decode, encode } from "../utf8.js";

const MAX_REDIRECTS = 20;
const REDIRECTS = [301, 302, 303, 307, 308];

export async function fetch(input, init) {
  const request = new Request(input, init);
  const { signal } = request;
  signal.throwIfAborted();
  let url = parsed(request.url);
  let { method } = request;
  const headers = [...request.headers];
  let [body, fields] = [bytesOf(request), headers];
  for (let redirects = 0; ; redirects++) {
    const response = sent({ method, url: without(url), headers: fields, body }, deadline(signal));
    const location = REDIRECTS.includes(response.status) && response.headers.find(([name]) => name === "location")?.[1];
    if (!location || request.redirect === "manual") {
      const empty = method === "HEAD" || [204, 304].includes(response.status);
      return new Response(empty ? null : response.body, response, { url: without(url), redirected: redirects > 0 });
    }
    if (request.redirect === "error") throw failed(new Error(`${url.href} redirects to ${location}`));
    if (redirects === MAX_REDIRECTS) throw failed(new Error(`more than ${MAX_REDIRECTS} redirects`));
    const next = parsed(location, url);
    const becomesGet = response.status === 303 ? method !== "HEAD" : response.status < 303 && method === "POST";
    if (becomesGet) [method, body] = ["GET", null];
    // Credentials are for the server that they were written for.
    const dropped = [...(becomesGet ? CONTENT : []), ...(next.origin === url.origin ? [] : CREDENTIALS)];
    fields = fields.filter(([name]) => !dropped.includes(name));
    url = next;
  }
}

const CONTENT = ["content-encoding", "content-language", "content-length", "content-location", "content-type"];
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];

function parsed(url, base) {
  const found = URL.parse(url, base);
  if (!found) throw failed(new Error(`${url} is not an absolute URL`));
  return found;
}

/** A URL without its fragment. */
const without = ({ href, hash }) => (hash ? href.slice(0, -hash.length) : href);

/** One exchange. */
function sent({ method, url, headers, body }, until) {
  const timeout = until - Date.now();
  if (timeout <= 0) throw timedOut();
  const fields = headers.map(([name, value]) => ({ name, value: encode(value) }));
  const timeoutMs = Number.isFinite(timeout) ? Math.min(Math.ceil(timeout), 0xffffffff) : undefined;
  try {
    const response = exchange({ method, url, headers: fields, body: body ?? undefined, timeoutMs });
    return {
      status: response.status,
      headers: response.headers.map(({ name, value }) => [name.toLowerCase(), decode(value)]),
      body: new Uint8Array(response.body),
    };
  } catch (error) {
    if (!error?.payload) throw error;
    if (error.payload.tag === "timeout" && timeoutMs !== undefined) throw timedOut();
    throw failed(refused(error.payload));
  }
}

const failed = (cause) => new TypeError(`fetch failed: ${cause.message}`, { cause });
