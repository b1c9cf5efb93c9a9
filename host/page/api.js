// Requests to the server. The token is sent in a header: nothing else in the browser sends it, so no other page can use it.

import { parse } from "./json.js";

const KEY = "wharf-token";
/** Milliseconds between two attempts to follow the server. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

/** Takes the token out of the address, where it should not stay. */
export function takeToken() {
  const hash = location.hash.slice(1);
  if (hash.length >= 32 && !hash.startsWith("/")) {
    sessionStorage.setItem(KEY, decodeURIComponent(hash));
    history.replaceState(null, "", "#/plugins");
  }
}

export function setToken(token) {
  sessionStorage.setItem(KEY, token);
}

export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

/** What the server refused. */
export class Refused extends Error {
  isRefusal = true;

  constructor(status, { error, hint, shown }) {
    super(error);
    Object.assign(this, { status, hint, shown });
  }
}

async function request(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, ...options.headers };
  const response = await fetch(`api/${path}`, { ...options, headers, cache: "no-store", credentials: "omit" });
  if (response.ok) return response;
  const why = await response.json().catch(() => ({ error: `answer: status ${response.status}` }));
  throw new Refused(response.status, why);
}

export async function get(path) {
  return parse(await (await request(path)).text());
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return parse(await (await request(path, { method: "POST", headers, body: JSON.stringify(body), signal })).text());
}

/** One request of MCP to a plugin; the result, or an error with what was wrong. */
export async function ask(method, params, signal) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} } },
    "wharf/cost": true,
  };
  const answer = await post("mcp", { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }, signal);
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

/**
 * Follows what happens, and begins again when the connection is lost. `onBatch` gets each event, `onState` is told
 * `connected`, `lost`, or `refused` with an error, after which nothing follows.
 */
export async function follow(onBatch, onState) {
  let pause = FIRST_PAUSE;
  for (;;) {
    try {
      const response = await request("events");
      pause = FIRST_PAUSE;
      onState("connected");
      await readEvents(response.body, onBatch);
    } catch (error) {
      if (error.status === 401 || error.status === 403) return onState("refused", error);
    }
    onState("lost");
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}

async function readEvents(body, onBatch) {
  let text = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      if (event.startsWith("data: ")) onBatch(JSON.parse(event.slice("data: ".length)));
    }
  }
}
