// Calls of a component's functions by the host, with the globals as in a component.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "../src/double.js";

// The wrapper takes this for a component, and replaces globals.
const built = (globalThis.wharfBuild = { files: [], lines: [], exports: ["tools", "resources"], stated: false });
const { component } = await import("wharf-plugin/component");
const { plugin } = await import("wharf-plugin");

const { tools, resources } = component(
  plugin()
    .tool("late", {}, () => new Promise((done) => setTimeout(done, 5, "late")))
    .tool("stuck", {}, () => new Promise(() => {}))
    .tool("fail", {}, () => Promise.reject(new TypeError("no")))
    .tool("timer", {}, () => {
      setTimeout(() => {
        throw new RangeError("in a timer");
      }, 1);
      return new Promise((done) => setTimeout(done, 50));
    })
    .tool("lost", {}, (_, { ask }) => {
      Promise.reject("lost");
      new Promise(() => ask.confirm("Sure?"));
      return "done";
    })
    .tool("asks", {}, (_, { ask }) => {
      setTimeout(() => ask.confirm("Later?"), 1);
      return new Promise(() => {});
    })
    .tool("missing", {}, () => Promise.resolve().then(() => Blob_))
    .resource("a://{b}", {}, () => "")
    .resources(() => Promise.resolve([{ uri: "a://1", name: "one" }])),
  built,
);

const CONTEXT = { id: "1", client: {}, timeLeftMs: 1000, answers: [], state: null, meta: null };

function call(name) {
  const logged = [];
  const host = { log: (level, text) => logged.push(`${level}: ${text}`) };
  try {
    const { tag, val } = connect(host, () => tools.callTool(name, "{}", CONTEXT));
    return [tag, val.questions?.map(({ ask }) => ask.val.message) ?? val.content[0].val.text, logged];
  } catch ({ tag, val }) {
    return [tag, val, logged];
  }
}

test("calls run to their end", () => {
  assert.deepEqual(call("late"), ["complete", "late", []]);
  assert.deepEqual(resources.listResources().map(({ uri }) => uri), ["a://1"]);
});

test("errors are those of the function, of a timer, or of waiting for nothing", () => {
  assert.deepEqual(call("fail").slice(0, 2), ["failed", "TypeError: no"]);
  assert.deepEqual(call("timer").slice(0, 2), ["failed", "RangeError: in a timer"]);
  assert.match(call("stuck")[1], /waits for a promise that nothing settles/);
  assert.deepEqual(call("missing").slice(0, 2), ["failed", "ReferenceError: Blob_ is not defined"]);
});

test("questions count wherever they are asked", () => {
  assert.deepEqual(call("asks"), ["input-required", ["Later?"], []]);
  assert.deepEqual(call("lost"), ["input-required", ["Sure?"], ["error: unhandled rejection: lost"]]);
});
