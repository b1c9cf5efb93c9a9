// Globals of the web platform. The bundler imports them where a module uses their names, so that a
// component has only those that it uses: one that makes no requests does not import HTTP.

import { URL, URLSearchParams } from "../url/whatwg-url-minimum.js";
import { Headers, Request, Response } from "./web/body.js";
import { structuredClone } from "./web/clone.js";
import { AbortController, AbortSignal, Event, EventTarget } from "./web/events.js";
import { fetch } from "./web/fetch.js";

export {
  AbortController,
  AbortController as "globalThis.AbortController",
  AbortSignal,
  AbortSignal as "globalThis.AbortSignal",
  Event,
  Event as "globalThis.Event",
  EventTarget,
  EventTarget as "globalThis.EventTarget",
  fetch,
  fetch as "globalThis.fetch",
  Headers,
  Headers as "globalThis.Headers",
  Request,
  Request as "globalThis.Request",
  Response,
  Response as "globalThis.Response",
  structuredClone,
  structuredClone as "globalThis.structuredClone",
  URL,
  URL as "globalThis.URL",
  URLSearchParams,
  URLSearchParams as "globalThis.URLSearchParams",
};
