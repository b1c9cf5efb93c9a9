// The component's exports, as the host calls them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { plugin } from "wharf-plugin";
import { component } from "wharf-plugin/component";

import { Promise as PromiseOfLoop } from "../src/promise.js";

test("a component has the interfaces that the plugin has", () => {
  const mine = plugin().prompt("a", {}, () => "");
  assert.deepEqual(Object.keys(component(mine, { exports: ["prompts"], stated: false })), ["prompts"]);
  assert.throws(() => component(mine, { exports: ["tools"], stated: false }), { message: 'OtherWorld: ["prompts"]' });
  assert.deepEqual(Object.keys(component(mine, { exports: ["tools", "prompts"], stated: true })), ["tools", "prompts"]);
});

test("a component names what is wrong", () => {
  const mine = plugin().prompt("a", {}, () => "");
  assert.throws(() => component(mine, { exports: ["tools"], stated: true }), /BuildError: .*add "prompts" to `exports`/);
  assert.throws(() => component({}, { exports: ["tools"], stated: false }), /BuildError: .*export default plugin/);
  assert.throws(() => component(plugin(), { exports: ["tools"], stated: false }), /BuildError: .*nothing to call/);
});

test("a question of a promise that nothing waits for is asked", () => {
  const mine = plugin().tool("a", {}, (_, { ask }) => {
    void PromiseOfLoop.resolve().then(() => ask.confirm("Sure?"));
    return "done";
  });
  const { tools } = component(mine, { exports: ["tools"], stated: false });
  const context = { id: "1", client: { elicitForm: true }, timeLeftMs: 1000, answers: [] };
  assert.equal(tools.callTool("a", "{}", context).tag, "input-required");
});
