// The globals of the web platform, compared with those of Node.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as web from "../src/web.js";
import { deadline } from "../src/web/events.js";
import { connect } from "../src/double.js";

const outcome = async (work) => {
  try {
    return await work();
  } catch (error) {
    return error.name;
  }
};

test("URLs are those of Node", async () => {
  const urls = [
    "http://ex.org:80/a/../b c?q=ä#f ü", "http://bücher.de/", "http://[::1]:8080/", "http://0x7f.1/", "file:///C:/a/../b",
    "data:text/plain,hi there", "nope", "http://exa mple", "https://u:p@h/", "//h/x", "?x", "http://a:99999/",
  ];
  for (const url of urls) {
    const base = /^[/?]/.test(url) ? "https://a/b" : undefined;
    const [own, node] = await Promise.all([web, globalThis].map(({ URL }) => outcome(() => new URL(url, base).href)));
    assert.equal(own, node, url);
  }
  const url = new web.URL("http://a/?b=1");
  url.searchParams.append("c", "d e");
  assert.equal(url.href, "http://a/?b=1&c=d+e");
});

test("headers, requests and responses are those of Node", async () => {
  const look = ({ Headers, Request, Response, URLSearchParams }) => [
    () => [...new Headers([["B", " 1 "], ["a", "2"], ["b", "3"], ["set-cookie", "x"], ["Set-Cookie", "y"]])],
    () => new Headers({ a: "1" }).get("A"),
    () => new Headers({ a: "1" }).get("b"),
    () => new Headers({ "a b": "1" }),
    () => new Headers({ a: "1\n2" }),
    () => new Request("https://a/", { method: "post", body: "x" }).headers.get("content-type"),
    () => new Request("https://a/", { method: "post", body: "x" }).method,
    () => new Request("https://a/", { body: "x" }),
    () => new Response(new URLSearchParams({ a: "b c" })).text(),
    () => new Response("\ufeff{}").json(),
    () => new Response(new Uint8Array([1, 2]).buffer).arrayBuffer().then((buffer) => [...new Uint8Array(buffer)]),
    () => Response.json([1], { status: 201 }).headers.get("content-type"),
    () => new Response("a", { status: 404 }).ok,
    async () => {
      const response = new Response("a");
      const copy = response.clone();
      await response.text();
      return [response.bodyUsed, copy.bodyUsed, await copy.text(), await outcome(() => response.text())];
    },
  ];
  const [own, node] = [web, globalThis].map(look);
  for (const [at, work] of own.entries()) assert.deepEqual(await outcome(work), await outcome(node[at]), String(work));
});

test("clones are those of Node", async () => {
  const loop = { a: [1, , new Date(5)] };
  loop.self = loop;
  const values = [
    1, "a", null, undefined, 5n, loop, new Map([[{ a: 1 }, new Set([1])]]), /a/gi, new Uint8Array([1, 2]).subarray(1),
    Object(1), () => {}, Symbol("a"), { a: () => {} }, new Proxy({ a: 1 }, {}).a,
    JSON.parse('{"__proto__":{"x":1}}'),
  ];
  for (const value of values) {
    const [own, node] = await Promise.all([web, globalThis].map(({ structuredClone }) => outcome(() => structuredClone(value))));
    assert.deepEqual(own, node);
  }
  const error = new RangeError("no");
  const { name, message, stack } = web.structuredClone(error);
  assert.deepEqual([name, message, stack], [error.name, error.message, error.stack]);
  const copy = web.structuredClone(loop);
  assert.ok(copy.self === copy && copy !== loop);
});

test("events and signals are those of Node", () => {
  const look = ({ AbortController, AbortSignal, Event, EventTarget }) => {
    const seen = [];
    const target = new EventTarget();
    const listener = { handleEvent: (event) => seen.push(event.type, event.target === target) };
    target.addEventListener("a", listener);
    target.addEventListener("a", listener);
    target.addEventListener("a", () => seen.push("once"), { once: true });
    target.addEventListener("a", (event) => event.preventDefault());
    seen.push(target.dispatchEvent(new Event("a", { cancelable: true })), target.dispatchEvent(new Event("a")));
    target.addEventListener("b", (event) => event.stopImmediatePropagation());
    target.addEventListener("b", () => seen.push("stopped"));
    target.dispatchEvent(new Event("b"));
    const controller = new AbortController();
    const any = AbortSignal.any([new AbortController().signal, controller.signal]);
    any.onabort = () => seen.push("aborted");
    target.addEventListener("c", () => seen.push("removed"), { signal: any });
    controller.abort();
    controller.abort("again");
    target.dispatchEvent(new Event("c"));
    seen.push(any.aborted, any.reason.name, AbortSignal.abort("why").reason);
    assert.throws(() => any.throwIfAborted(), { name: "AbortError" });
    assert.throws(() => new AbortSignal(), TypeError);
    return seen;
  };
  assert.deepEqual(look(web), look(globalThis));
  const soon = web.AbortSignal.timeout(50);
  assert.ok(deadline(web.AbortSignal.any([soon, web.AbortSignal.timeout(9999)])) <= Date.now() + 50);
  assert.equal(deadline(new web.AbortController().signal), Infinity);
});

test("fetch", async () => {
  const seen = [];
  const host = {
    fetch({ url, method, headers, timeoutMs }) {
      seen.push([method, url, headers.map(({ name }) => name), timeoutMs !== undefined]);
      if (timeoutMs !== undefined) throw Object.assign(new Error(), { payload: { tag: "timeout" } });
      const next = url === "https://a/loop" ? "/loop" : "https://b/";
      const location = { name: "Location", value: new TextEncoder().encode(next) };
      return { status: url.endsWith("/") ? 200 : 307, headers: [location], body: [104, 105] };
    },
  };
  const run = (...args) => connect(host, () => web.fetch(...args));
  const response = await run("https://a/x#f", { method: "put", body: "x", headers: { Authorization: "b", accept: "c" } });
  assert.deepEqual([response.url, response.redirected, await response.text()], ["https://b/", true, "hi"]);
  assert.deepEqual(seen, [
    ["PUT", "https://a/x", ["accept", "authorization", "content-type"], false],
    ["PUT", "https://b/", ["accept", "content-type"], false],
  ]);
  assert.equal((await run("https://a/x", { redirect: "manual" })).status, 307);
  await assert.rejects(run("https://a/x", { redirect: "error" }), /fetch failed: https:\/\/a\/x redirects to https:\/\/b\//);
  await assert.rejects(run("https://a/loop"), /more than 20 redirects/);
  await assert.rejects(run("nope"), /fetch failed: nope is not an absolute URL/);
  await assert.rejects(run("https://a/", { signal: web.AbortSignal.timeout(1000) }), { name: "TimeoutError" });
  await assert.rejects(run("https://a/", { signal: web.AbortSignal.abort() }), { name: "AbortError" });
});
