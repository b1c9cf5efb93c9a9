// Promises, timers and errors as in a component, where the wrapper runs them itself.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drain, runUntil, setImmediate, setInterval, setTimeout, clearInterval, clearTimeout, start } from "../src/loop.js";
import { errorText } from "../src/errors.js";
import { fromAsync, Promise as Own, unhandled } from "../src/promise.js";
import { explained, install, place } from "../src/stacks.js";

/** What a promise of the loop ends with. */
function settled(promise) {
  let outcome;
  promise.then((value) => (outcome = { value }), (error) => (outcome = { error }));
  start();
  return runUntil(() => outcome) ? outcome : "stuck";
}

const later = (value, milliseconds) => new Own((done) => setTimeout(done, milliseconds, value));

test("promises settle in order", () => {
  const seen = [];
  Own.resolve(1).then((one) => seen.push(one)).finally(() => seen.push(3));
  queueMicrotaskOf(() => seen.push(2));
  assert.deepEqual(seen, []);
  drain();
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(settled(Own.all([1, later(2, 1), { then: (done) => done(3) }])), { value: [1, 2, 3] });
  assert.deepEqual(settled(Own.race([later("slow", 9), later("fast", 1)])), { value: "fast" });
  assert.deepEqual(settled(Own.any([Own.reject(1), later("any", 1)])), { value: "any" });
  assert.deepEqual(settled(Own.any([Own.reject(1)])).error.errors, [1]);
  assert.deepEqual(settled(Own.allSettled([Own.reject(1), 2])).value, [
    { status: "rejected", reason: 1 },
    { status: "fulfilled", value: 2 },
  ]);
  assert.deepEqual(settled(Own.try(() => { throw 4; })), { error: 4 });
  const own = Own.withResolvers();
  own.resolve(own.promise);
  assert.match(settled(own.promise).error.message, /cannot wait for itself/);
  class Mine extends Own {}
  assert.ok(Mine.resolve(1).then(() => {}) instanceof Mine);
  assert.equal(settled(new Own(() => {})), "stuck");
  assert.equal(Object.prototype.toString.call(Own.resolve()), "[object Promise]");
});

const queueMicrotaskOf = (task) => Own.resolve().then(task);

test("rejections that nothing handles are known", () => {
  unhandled.clear();
  const lost = Own.reject(1);
  assert.deepEqual([...unhandled.values()], [1]);
  lost.catch(() => {});
  assert.equal(unhandled.size, 0);
});

test("timers wait, in the order of their times", () => {
  start();
  const seen = [];
  const began = performance.now();
  setTimeout((text) => seen.push(text), 20, "last");
  clearTimeout(setTimeout(() => seen.push("never"), 1));
  setImmediate(() => seen.push("first"));
  const ticking = setInterval(() => seen.push("tick") === 3 && clearInterval(ticking), 5);
  assert.ok(runUntil(() => seen.includes("last")));
  assert.deepEqual(seen, ["first", "tick", "tick", "last"]);
  assert.ok(performance.now() - began >= 19);
  assert.equal(runUntil(() => false), false);
  assert.throws(() => setTimeout("text"), /needs a function/);
});

test("items that come later", async () => {
  const items = async function* () { yield 1; yield 2; };
  assert.deepEqual(await fromAsync(items(), async (item) => item * 2), [2, 4]);
  assert.deepEqual(await fromAsync({ length: 1, 0: Promise.resolve(1) }), [1]);
});

test("missing globals are explained", () => {
  assert.match(explained("process is not defined"), /in a plugin: settings.environment\(\)/);
  assert.match(explained("Buffer is not defined"), /Uint8Array/);
  assert.equal(explained("toString is not defined"), "toString is not defined");
  assert.equal(explained("mine is not defined"), "mine is not defined");
});

test("stacks have the author's lines", () => {
  const built = { files: ["plugin.ts", "lib/a.ts"], lines: [3, 0, 10, 2, 9, 1, 1, 1] };
  assert.deepEqual([2, 3, 4, 5, 9].map((line) => place(line, built)), [
    undefined, "plugin.ts:10", "plugin.ts:11", undefined, "lib/a.ts:1",
  ]);
  const host = { Error: {} };
  install(host, built);
  const site = (line, name) => ({ getLineNumber: () => line, getFunctionName: () => name });
  const error = new ReferenceError("require is not defined");
  const stack = host.Error.prepareStackTrace(error, [site(9, "load"), site(2, "then"), site(3, "<anonymous>")]);
  assert.equal(stack, "    at load (lib/a.ts:1)\n    at plugin.ts:10\n");
  assert.match(error.message, /write import/);
});

test("many timers run in order, and cleared ones do not", () => {
  const seen = [];
  // All are set within the shortest delay.
  const timers = Array.from({ length: 6_000 }, (_, at) => setTimeout(() => seen.push(at), (at % 3) * 200));
  timers.filter((_, at) => at % 2).forEach((timer) => clearTimeout(timer));
  start();
  assert.equal(runUntil(() => false), false);
  const even = Array.from({ length: 3_000 }, (_, at) => 2 * at);
  assert.deepEqual(seen, [0, 1, 2].flatMap((delay) => even.filter((at) => at % 3 === delay)));
});

test("anything that is thrown has a text", () => {
  const refuses = { toString: () => { throw new Error("no"); } };
  assert.equal(errorText(refuses), "an error without a text");
  assert.equal(errorText(Object.assign(new Error("a"), { name: Symbol("b") })), "an error without a text");
  assert.equal(errorText(null), "null");
});
