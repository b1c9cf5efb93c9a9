// Tools, resources, prompts and completions, as a client sees them.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  http, image, InvalidArguments, listChanged, log, NotFound, plugin, resourceUpdated, result, s, settings, Store,
  StoreError, text, ToolError,
} from "wharf-plugin";
import { Client } from "wharf-plugin/testing";

test("a function is a tool", () => {
  const client = new Client(
    plugin().tool(
      "greet",
      { description: "Greets.", readOnly: true, input: s.object({ name: s.string(), times: s.integer().default(1) }) },
      ({ name, times }) => `Hello, ${name}!`.repeat(times),
    ),
  );
  assert.deepEqual(client.tools(), [
    {
      name: "greet",
      title: undefined,
      description: "Greets.",
      inputSchema: {
        type: "object",
        properties: { name: { type: "string" }, times: { type: "integer", default: 1 } },
        required: ["name"],
        additionalProperties: false,
      },
      outputSchema: undefined,
      readOnly: true,
    },
  ]);
  assert.equal(client.call("greet", { name: "Ada" }).text, "Hello, Ada!");
  assert.throws(() => client.call("greet"), /name is required/);
  const missing = { name: "NotFound", message: "no tool 'gret'; did you mean 'greet'? there are: greet" };
  assert.throws(() => client.call("gret"), missing);
  assert.throws(() => client.prompt("greet"), { name: "NotFound", message: "no prompt 'greet'; there is none" });
});

test("return values", () => {
  const picture = image(new Uint8Array([1]), "image/png");
  const given = {
    text: ["a", ["a"], undefined],
    piece: [picture, [picture], undefined],
    pieces: [["a", picture], ["a", picture], undefined],
    strings: [["a"], [], ["a"]],
    nothing: [undefined, [], undefined],
    null: [null, [], null],
    value: [{ n: 1, gone: undefined }, [], { n: 1 }],
    both: [result({ content: "a", structured: [1] }), ["a"], [1]],
  };
  const mine = plugin();
  for (const [name, [value]] of Object.entries(given)) mine.tool(name, {}, () => value);
  mine.tool("output", { output: s.string() }, () => "a");
  const client = new Client(mine);
  for (const [name, [, content, structured]] of Object.entries(given)) {
    const got = client.call(name);
    assert.deepEqual([got.content, got.structured], [content, structured], name);
  }
  assert.equal(client.call("output").structured, "a");
  assert.equal(client.call("both").failed, false);
});

test("invalid registrations", () => {
  const mine = plugin().tool("a", {}, () => "").prompt("a", {}, () => "").resource("a://1", {}, () => "");
  assert.throws(() => mine.tool("a", {}, () => ""), /duplicate tool: a/);
  assert.throws(() => mine.prompt("a", {}, () => ""), /duplicate prompt: a/);
  assert.throws(() => mine.resource("a://1", {}, () => ""), /duplicate resource: a:\/\/1/);
  assert.throws(() => mine.resource("a://{b}", { variables: { c: s.integer() } }, () => ""), /has no {c}/);
  assert.throws(() => mine.resource("a://{?b}", {}, () => ""), /write {name} or {\+name}/);
  assert.throws(() => mine.tool("b", { input: s.string() }, () => ""), /must be an object/);
});

test("errors reach the client", () => {
  const mine = plugin()
    .tool("told", {}, () => { throw new ToolError("full"); })
    .tool("invalid", {}, () => { throw new InvalidArguments("/a", "is wrong"); })
    .tool("forgot", { output: s.integer() }, () => {});
  const client = new Client(mine);
  assert.throws(() => client.call("forgot"), /forgot returned nothing, but has an output schema/);
  assert.throws(() => client.call("told"), /^ToolError: full$/);
  assert.throws(() => client.call("invalid"), /\/a: is wrong/);
});

test("resources", () => {
  const mine = plugin()
    .resource("notes://index", { name: "index", mimeType: "text/plain" }, () => "none")
    .resource("notes://{id}", { name: "note", variables: { id: s.integer() } }, ({ id }, call, uri) => ({
      contents: [{ uri, text: `${id} ${call.id}` }],
      cacheFor: 60,
    }))
    .resource("files://{+path}", { name: "file" }, ({ path }) => {
      if (path === "no") throw new NotFound();
      return new TextEncoder().encode(path);
    })
    .resource("bad://1", {}, () => 1)
    .resources(() => [{ uri: "notes://7", name: "seven" }]);
  const client = new Client(mine);
  assert.deepEqual(client.resources().map(({ uri }) => uri), ["notes://index", "bad://1", "notes://7"]);
  assert.deepEqual(client.read("notes://index"), [{ uri: "notes://index", mimeType: "text/plain", text: "none" }]);
  assert.equal(client.read("notes://7")[0].text, "7 test");
  assert.equal(client.readResult("notes://7").cacheFor, 60);
  assert.equal(new TextDecoder().decode(client.read("files://a%20b/c")[0].bytes), "a b/c");
  for (const uri of ["files://no", "other://x", "notes://a/b"]) assert.throws(() => client.read(uri), NotFound);
  assert.throws(() => client.read("notes://indx/a"), /no resource 'notes:\/\/indx\/a'; did you mean 'notes:\/\/index'\?/);
  assert.throws(() => client.read("notes://x"), /\/id: must be a number/);
  assert.throws(() => client.read("bad://1"), /neither text nor bytes/);
});

test("arguments that the host refuses are refused", () => {
  const item = s.object({ size: s.integer().min(1).max(9) });
  const closed = { type: "object", properties: { a: {} }, additionalProperties: false };
  const mine = plugin()
    .tool("none", {}, () => "done")
    .tool("some", {
      input: s.object({ name: s.string().min(2).max(3).pattern(/^\p{L}+$/u).optional(), items: s.array(item).max(2).optional() }),
    }, () => "done")
    .tool("date", { input: s.object({ on: s.string().pattern(/^\d+\-\d+$/) }) }, () => "done")
    .tool("open", { input: { type: "object" } }, () => "done")
    .tool("raw", { input: { type: "object", properties: { in: closed }, additionalProperties: { maxLength: 1 } } }, () => "done");
  const client = new Client(mine);
  for (const [tool, args, why] of [
    ["none", { nme: 1 }, /^InvalidArguments: \/nme: is not an argument; there is none$/],
    ["some", { nme: "Ada" }, /^InvalidArguments: \/nme: is not an argument; there are: name, items$/],
    ["some", { name: "A" }, /\/name: must be at least 2 characters/],
    ["some", { name: "Adam" }, /\/name: must be at most 3 characters/],
    ["some", { name: "A1" }, /\/name: must be like/],
    ["some", { name: 1 }, /\/name: must be a string/],
    ["some", { items: [{ size: 0 }] }, /\/items\/0\/size: must be at least 1/],
    ["some", { items: [{ size: 10 }] }, /\/items\/0\/size: must be at most 9/],
    ["some", { items: [1, 2, 3] }, /\/items: must be at most 2 items/],
    ["date", { on: "1.2" }, /\/on: must be like/],
    ["raw", { in: { b: 1 } }, /\/in\/b: is not an argument; there are: a/],
    ["raw", { "x/y": "ab" }, /\/x~1y: must be at most 1 characters/],
  ]) {
    assert.throws(() => client.call(tool, args), why);
  }
  // A nested object allows other members, and so does a schema that does not forbid them.
  const fine = [["some", { name: "äöü", items: [{ size: 9, more: 1 }] }], ["open", { a: 1 }], ["raw", { in: { a: 1 }, x: "y" }]];
  for (const [tool, args] of fine) assert.equal(client.call(tool, args).text, "done");
  // What JSON leaves out is not given.
  assert.equal(client.call("none", { gone: undefined }).text, "done");
});

test("prompts, completions and methods", () => {
  const mine = plugin()
    .prompt("go", { arguments: { town: s.string(), times: s.integer().default(2) } }, ({ town, times }) => [
      `${town} ${times + 1}`,
      { role: "assistant", content: text("Gladly.") },
    ])
    .completion("go", "town", (typed, given, call) => ["Bern", "Basel"].filter((town) => town.startsWith(typed)))
    .method("changes", ({ version }) => ({ since: version }));
  const client = new Client(mine);
  assert.equal(client.prompt("go", { town: "Bern", times: "3" }).messages[0], "Bern 4");
  assert.throws(() => client.prompt("go"), /town is required/);
  assert.deepEqual(client.complete("go", "town", "Be"), { values: ["Bern"] });
  assert.deepEqual(client.complete("go", "times"), { values: [] });
  assert.throws(() => client.complete("go", "twon"), /no argument of go 'twon'; did you mean 'town'\?/);
  assert.throws(() => client.complete("stay", "town"), /no prompt or template 'stay'; there are: go/);
  assert.throws(() => client.method("change"), /did you mean 'changes'\?/);
  assert.deepEqual(client.method("changes", { version: 3 }), { since: 3 });
  assert.deepEqual(mine.offers(), ["prompts", "completions", "extensions"]);
});

test("messages reach the host", () => {
  const mine = plugin().tool("talk", {}, (_, call) => {
    log.notice("plain");
    call.log.data("warning", "archive", { skipped: 2 });
    call.progress(1, 3, "copying");
    listChanged("tools");
    resourceUpdated("notes://1");
    assert.throws(() => log.message("loud", ""), /must be one of/);
    return `${call.cancelled}`;
  });
  const client = new Client(mine);
  client.cancel();
  assert.equal(client.call("talk").text, "true");
  assert.deepEqual(client.logged, ["notice: plain", 'warning: archive: {"skipped":2}']);
  assert.deepEqual(client.messages, ["progress: 1 of 3 copying", "list changed: tools", "resource updated: notes://1"]);
});

test("http, the store and settings", () => {
  const mine = plugin()
    .tool("weather", { input: s.object({ place: s.string() }) }, ({ place }) => {
      const response = http.post("https://example.org/", { json: { place }, headers: { accept: ["a", "b"] } });
      return `${response.ok().text()} ${response.header("ETag")}`;
    })
    .tool("visit", {}, () => {
      const store = new Store();
      const number = store.increment("visits");
      store.set(`visit/${number}`, { n: number });
      return [store.get("visits"), store.get("none") ?? 5, store.has("visits"), store.keys().sort()];
    })
    .tool("unit", {}, () => `${settings.get("unit") ?? "m"} ${settings.environment().MODE}`);
  const server = ({ body, headers }) =>
    new TextDecoder().decode(body) === '{"place":"Bern"}' && headers.length === 3
      ? new http.Response(200, "fine", [["etag", "x"]])
      : new http.Response(404);
  const client = new Client(mine, { http: server, config: { unit: "ft" }, environment: { MODE: "x" } });
  assert.equal(client.call("weather", { place: "Bern" }).text, "fine x");
  assert.throws(() => client.call("weather", { place: "Basel" }), /status 404/);
  assert.throws(() => new Client(mine).call("weather", { place: "Bern" }), { name: "HttpError", kind: "denied" });
  client.call("visit");
  assert.deepEqual(client.call("visit").structured, [2, 5, true, ["visit/1", "visit/2", "visits"]]);
  assert.throws(() => new Client(mine, { store: false }).call("visit"), StoreError);
  assert.equal(client.call("unit").text, "ft x");
  assert.throws(() => new Store().keys(), /no host is connected/);
});

test("a store at module level is that of each host", () => {
  const store = new Store();
  const mine = plugin().tool("visit", {}, () => store.increment("visits"));
  const [one, other] = [new Client(mine), new Client(mine)];
  one.call("visit");
  assert.deepEqual([one.call("visit").structured, other.call("visit").structured], [2, 1]);
});
