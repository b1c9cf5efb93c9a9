// Questions as the host sees them: what each round asks, and what it keeps.

import assert from "node:assert/strict";
import { test } from "node:test";

import { plugin, s, Unavailable } from "wharf-plugin";
import { accept, Client, decline, model, roots, unavailable } from "wharf-plugin/testing";
import { Call } from "../src/call.js";

const table = s.object({ seats: s.integer(), outside: s.boolean().default(false) });

const mine = plugin()
  .tool("book", {}, (_, { ask }) => JSON.stringify(ask.form("Which table?", table)))
  .tool("everything", {}, (_, { ask, id }) => {
    const made = ask.once(() => ({ id }));
    const sure = ask.confirm("Sure?");
    const went = ask.visit("Sign in", "https://example.org/");
    const said = ask.sample({ messages: ["Say"] }).text;
    return JSON.stringify([made, sure, went, said, ask.roots(), ask.form("Mail?", { type: "object" })]);
  })
  .tool("pack", {}, (_, { ask }) => {
    const [tent, stove] = ask.together(
      () => ask.key("tent").confirm("A tent?"),
      () => ask.key("stove").confirm("A stove?"),
    );
    return `${tent} ${stove} ${ask.key("map").confirm("A map?")}`;
  })
  .tool("leave", {}, (_, { ask }) => {
    let late = "unknown";
    try {
      late = ask.key("late").confirm("Later?");
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
    return `${late} ${ask.key("sure").confirm("Sure?")}`;
  })
  .tool("swallow", {}, (_, { ask }) => {
    try {
      return `${ask.confirm("Sure?")}`;
    } catch {
      return "caught";
    }
  });

/** What one round ends with: a text, or the keys that are asked for and the state. */
function round(tool, answers, state) {
  const context = { features: new Set(), answers: new Map(Object.entries(answers)), state, meta: {} };
  const call = new Call(context);
  const { required, value } = call.attempt(() => mine.callTool(tool, "{}", call));
  return required ? [required.questions.map(({ key }) => key), required.state] : value.text;
}

test("a form", () => {
  assert.equal(new Client(mine, { answers: [accept({ seats: 4 })] }).call("book").text, '{"seats":4,"outside":false}');
  assert.equal(new Client(mine, { answers: [decline()] }).call("book").text, "null");
});

test("all kinds, and once", () => {
  const answers = [accept(), decline(), model("hi"), roots("file:///a"), accept({ mail: "x" })];
  const client = new Client(mine, { answers });
  const expected = [{ id: "test" }, true, false, "hi", [{ uri: "file:///a" }], { mail: "x" }];
  assert.deepEqual(JSON.parse(client.call("everything").text), expected);
  assert.deepEqual(client.asked, ["q2", "q3", "q4", "q5", "q6"]);
});

test("only unanswered questions are repeated", () => {
  assert.deepEqual(round("pack", {}), [["tent", "stove"], undefined]);
  let [keys, state] = round("pack", { stove: accept() });
  assert.deepEqual(keys, ["tent"]);
  assert.deepEqual(round("pack", {}, state), [["tent"], state]);
  [keys, state] = round("pack", { tent: decline() }, state);
  assert.deepEqual(keys, ["map"]);
  assert.equal(round("pack", { map: accept() }, state), "false true true");
});

test("an unhandled refusal repeats the question", () => {
  const [keys, state] = round("pack", { tent: unavailable(), stove: accept() });
  assert.deepEqual(keys, ["tent"]);
  assert.deepEqual(round("pack", { tent: unavailable() }, state), [["tent"], state]);
  assert.deepEqual(round("pack", { tent: accept() }, state)[0], ["map"]);
});

test("a handled refusal stays handled", () => {
  const [keys, state] = round("leave", { late: unavailable() });
  assert.deepEqual(keys, ["sure"]);
  assert.equal(round("leave", { sure: accept() }, state), "unknown true");
});

test("a caught question still counts", () => {
  assert.deepEqual(round("swallow", {}), [["q1"], undefined]);
  assert.equal(round("swallow", { q1: accept() }), "true");
});

test("an answer of another kind", () => {
  assert.throws(() => round("book", { q1: roots("file:///") }), /does not fit the question/);
});

test("a model's answer is kept across rounds", () => {
  const data = new Uint8Array([0xff, 0]);
  const said = { model: "m", text: "a", content: [{ kind: "text", text: "a" }, { kind: "image", data, mimeType: "image/png" }] };
  const seen = [];
  const two = ({ ask }) => [seen.push(ask.sample("Say")), ask.confirm("Sure?")];
  const start = { features: new Set(), meta: {} };
  const first = new Call({ ...start, answers: new Map([["q1", { sampled: said }]]) });
  const { required } = first.attempt(() => two(first));
  const again = new Call({ ...start, answers: new Map([["q2", accept()]]), state: required.state });
  assert.deepEqual(again.attempt(() => two(again)).value, [2, true]);
  assert.deepEqual(seen, [said, said]);
});
