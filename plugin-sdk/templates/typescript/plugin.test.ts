// Tries the plugin without a component: `npm test`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArguments } from "wharf-plugin";
import { Client } from "wharf-plugin/testing";

import plugin from "./plugin.ts";

test("greet", () => {
  assert.equal(new Client(plugin).call("greet", { name: "Ada" }).text, "Hello, Ada!");
});

test("count_words", () => {
  const client = new Client(plugin);
  const { structured } = client.call("count_words", { text: "To be or not to be" });
  assert.equal(structured.total, 6);
  assert.deepEqual(structured.frequent[0], { word: "to", times: 2 });
  assert.deepEqual(client.logged, ["debug: 6 words"]);
});

test("nothing to count", () => {
  assert.throws(() => new Client(plugin).call("count_words", { text: "…" }), InvalidArguments);
});
