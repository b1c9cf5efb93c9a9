// What types reject, refused without types too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { audio, embedded, http, image, link, plugin, result, s, Store, text } from "wharf-plugin";
import { Client } from "wharf-plugin/testing";
import { MEMBERS } from "../src/options.js";

const none = () => "";
const bytes = new Uint8Array();

/** Calls a function within a tool. */
const inCall = (run) => () => new Client(plugin().tool("run", {}, (_, call) => run(call))).call("run");

const refused = (run, text) => assert.throws(run, { name: "TypeError", message: text });

test("an option that does not exist is refused", () => {
  refused(
    () => plugin().tool("count", { descripton: "Counts." }, none),
    "tool count has no option 'descripton'; did you mean 'description'? there are: title, description, icons, meta, " +
      "input, output, readOnly, destructive, idempotent, openWorld, tasks, page, appOnly",
  );
  for (const [wrong, meant] of [["readonly", "readOnly"], ["readOnlyHint", "readOnly"], ["inputSchema", "input"]]) {
    refused(() => plugin().tool("count", { [wrong]: true }, none), new RegExp(`'${wrong}'; did you mean '${meant}'\\?`));
  }
  refused(() => plugin().tool("count", { tasks: true }, none), "tasks of tool count must be one of forbidden, optional, required");
  const icon = { src: "data:,", mimetype: "image/png" };
  for (const [run, what, wrong, meant] of [
    [() => plugin().prompt("go", { argument: {} }, none), "prompt go", "argument", "arguments"],
    [() => plugin().resource("a://1", { mimetype: "text/plain" }, none), "resource a://1", "mimetype", "mimeType"],
    [() => plugin().tool("count", { icons: [icon] }, none), "an icon of tool count", "mimetype", "mimeType"],
    [() => plugin().prompt("go", { icons: [icon] }, none), "an icon of prompt go", "mimetype", "mimeType"],
    [() => text("", { audiance: "user" }), "text", "audiance", "audience"],
    [() => image(bytes, "image/png", { prority: 1 }), "image", "prority", "priority"],
    [() => audio(bytes, "audio/wav", { lastmodified: "" }), "audio", "lastmodified", "lastModified"],
    [() => embedded({ uri: "a://1", text: "", mimetype: "" }), "embedded", "mimetype", "mimeType"],
    [() => embedded({ uri: "a://1", text: "" }, { mta: {} }), "embedded", "mta", "meta"],
    [() => link({ uri: "a://1", nme: "one" }), "link", "nme", "name"],
    [() => result({ contents: "a" }), "result", "contents", "content"],
    [inCall(() => http.fetch("https://a.example", { timout: 1 })), "http.fetch", "timout", "timeout"],
    [inCall(() => http.get("https://a.example", { header: {} })), "http.fetch", "header", "headers"],
    [inCall(() => http.post("https://a.example", { bdy: "" })), "http.fetch", "bdy", "body"],
    [inCall(({ ask }) => ask.sample({ messages: [], maxtokens: 1 })), "ask.sample", "maxtokens", "maxTokens"],
    [inCall(({ ask }) => ask.sample({ messages: [], tools: [{ nme: "a" }] })), "a tool of ask.sample", "nme", "name"],
    [() => new Client(plugin(), { answer: [] }), "Client", "answer", "answers"],
  ]) {
    assert.throws(run, (error) => error.message.startsWith(`${what} has no option '${wrong}'; did you mean '${meant}'?`), what);
  }
  refused(() => result({ isError: true }), "result has no option 'isError'; there are: content, structured, failed, meta");
});

test("options and functions are where they belong", () => {
  refused(() => plugin().tool("count", none), "the options of tool count must be an object, such as {}");
  refused(() => plugin().tool("count", "Counts.", none), "the options of tool count must be an object, such as {}");
  for (const [run, what] of [
    [() => plugin().tool("count", {}), "tool count"],
    [() => plugin().prompt("go", {}), "prompt go"],
    [() => plugin().resource("a://1", {}), "resource a://1"],
    [() => plugin().resources([]), "resources"],
    [() => plugin().completion("go", "town", ["Bern"]), "completion of go"],
    [() => plugin().method("changes"), "method changes"],
  ]) {
    refused(run, `${what} needs a function as its last argument`);
  }
});

test("a method that does not exist is refused with one that does", () => {
  refused(() => s.int(), /^there is no s\.int; did you mean 'integer'\? there are: string, number, integer, /);
  refused(() => s.bool(), /did you mean 'boolean'\?/);
  refused(() => s.date(), /^there is no s\.date; there are: string, /);
  refused(() => plugin().tols("count", {}, none), "a plugin has no 'tols'; did you mean 'tool'?");
  refused(() => s.string().optionl(), "a schema has no 'optionl'; did you mean 'optional'?");
  refused(() => s.string().minLength(1), "a schema has no 'minLength'; did you mean 'min'?");
  const response = new http.Response(200);
  refused(() => response.statusCode, "a response has no 'statusCode'; did you mean 'status'?");
  refused(() => new Store().incremnt("a"), "a store has no 'incremnt'; did you mean 'increment'?");
  assert.throws(inCall((call) => `${call.canceled}`), { message: "call has no 'canceled'; did you mean 'cancelled'?" });
  assert.throws(inCall(({ ask }) => ask.comfirm("?")), { message: "ask has no 'comfirm'; did you mean 'confirm'?" });
  let call;
  inCall((given) => void (call = given))();
  // What engines and test libraries look for in every object.
  for (const value of [plugin(), s.string(), response, new Store(), call, call.ask]) {
    for (const name of ["then", "toJSON", "asymmetricMatch", "nodeType", "kind", "type", Symbol.iterator]) {
      assert.equal(value[name], undefined, String(name));
    }
    assert.ok(`${value}` && value.hasOwnProperty && !("tols" in value));
  }
});

test("builders take schemas and nothing more", () => {
  for (const [run, message] of [
    [() => s.string({ min: 1 }), 's.string takes no argument; the rest are methods, such as .describe("…") and .min(1)'],
    [() => s.object({}, {}), 's.object takes one argument; the rest are methods, such as .describe("…") and .min(1)'],
    [() => s.enum("a", "b"), "s.enum needs a list, such as [1, 2]"],
    [() => s.union(s.string(), s.null()), "s.union needs a list, such as [1, 2]"],
    [() => s.union([s.string]), "s.union needs a schema, such as s.string()"],
    [() => s.array({ type: "string" }), "s.array needs a schema, such as s.string()"],
    [() => s.record(), "s.record needs a schema, such as s.string()"],
    [() => s.object({ a: s.string().optional }), "s.object: a needs a schema, such as s.string()"],
    [() => s.object(s.string()), "s.object needs an object of schemas, such as { name: s.string() }"],
    [() => plugin().prompt("go", { arguments: { a: s.string } }, none), "prompt go: a needs a schema, such as s.string()"],
    [
      () => plugin().prompt("go", { arguments: s.object({}) }, none),
      "prompt go needs an object of schemas, such as { name: s.string() }",
    ],
    [
      () => plugin().resource("a://{b}", { variables: { b: "string" } }, none),
      "resource a://{b}: b needs a schema, such as s.string()",
    ],
    [
      () => plugin().tool("count", { output: { n: s.integer() } }, none),
      "a schema is s.object({ … }), another one of `s`, or a JSON Schema",
    ],
  ]) {
    refused(run, message);
  }
});

test("the options are those of the types", () => {
  const files = ["index", "call", "http", "testing"].map((name) => new URL(`../types/${name}.d.ts`, import.meta.url));
  const types = files.map((file) => readFileSync(file, "utf8")).join("\n");
  /** The members of an interface and of those that it extends, sorted. */
  const members = (name) => {
    const [, parent, body] = new RegExp(`interface ${name}(?:<[^>]*>)?(?: extends (\\w+))? \\{\\n([^]*?\\n)\\}`).exec(types) ?? [];
    assert.ok(body, name);
    return [...(parent ? members(parent) : []), ...Array.from(body.matchAll(/^ {2}(\w+)\??: /gm), ([, member]) => member)].sort();
  };
  for (const [kind, name, more = []] of [
    ["hints", "Hints"],
    ["icon", "Icon"],
    ["link", "Resource"],
    ["resource", "Resource", ["variables"]],
    ["tool", "ToolOptions"],
    ["prompt", "About", ["arguments"]],
    ["request", "RequestOptions"],
    ["sampling", "Sampling"],
    ["client", "ClientOptions"],
  ]) {
    const expected = [...members(name), ...more].filter((member) => kind !== "resource" || member !== "uri").sort();
    assert.deepEqual([...MEMBERS[kind]].sort(), expected, kind);
  }
});
