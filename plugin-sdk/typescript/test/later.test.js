// Functions that return promises, as a test of a plugin calls them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { HttpError, http, log, plugin, s, ToolError, Unavailable } from "wharf-plugin";
import { accept, Client, decline, unavailable } from "wharf-plugin/testing";

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const mine = plugin()
  .tool("add", { input: s.object({ a: s.integer() }), output: s.object({ sum: s.integer() }) }, async ({ a }) => {
    await wait(1);
    log.info("added");
    return { sum: a + 1 };
  })
  .tool("fail", {}, async () => {
    await null;
    throw new ToolError("full");
  })
  .tool("ask", {}, async (_, { ask }) => {
    const made = await ask.once(async () => ({ n: 1 }));
    try {
      const answers = await Promise.all([1, 2].map(async (n) => ask.confirm(`${n}?`)));
      return `${made.n} ${answers}`;
    } catch {
      return "caught";
    }
  })
  .tool("insist", {}, async (_, { ask }) => String(ask.confirm("Sure?")))
  .tool("now", {}, () => "now")
  .tool("fetch", { input: s.object({ url: s.string() }) }, async ({ url }) => {
    const response = await fetch(url, { method: "POST", body: new URLSearchParams({ a: "b c" }), headers: { "X-A": "1" } });
    return { status: response.status, url: response.url, redirected: response.redirected, text: await response.text() };
  })
  .resource("notes://{id}", {}, async ({ id }) => [{ uri: `notes://${id}`, text: id }])
  .resources(async () => [{ uri: "notes://1", name: "one" }])
  .prompt("go", { arguments: { town: s.string() } }, async ({ town }) => town)
  .completion("go", "town", async (typed) => [`${typed}n`])
  .method("changes", async () => ({ n: 1, gone: undefined }));

test("async functions of every kind", async () => {
  const client = new Client(mine);
  assert.deepEqual((await client.call("add", { a: 1 })).structured, { sum: 2 });
  assert.deepEqual(client.logged, ["info: added"]);
  assert.deepEqual(await client.read("notes://7"), [{ uri: "notes://7", mimeType: undefined, text: "7" }]);
  assert.deepEqual((await client.readResult("notes://7")).contents.length, 1);
  assert.deepEqual((await client.resources()).map(({ uri }) => uri), ["notes://1"]);
  assert.deepEqual((await client.prompt("go", { town: "Bern" })).messages, ["Bern"]);
  assert.deepEqual(await client.complete("go", "town", "Ber"), { values: ["Bern"] });
  assert.deepEqual(await client.method("changes"), { n: 1 });
});

test("errors of async functions", async () => {
  const client = new Client(mine);
  await assert.rejects(async () => client.call("fail"), { name: "ToolError", message: "full" });
  assert.throws(() => client.call("add", { a: 1 }).text, /asynchronous: write `await client.call\(…\)` before text/);
  const [first] = await Promise.all([client.call("add", { a: 1 })]);
  assert.equal(first.structured.sum, 2);
  assert.equal((await client.call("now")).text, "now");
});

test("a promise that nothing settles fails its call, and leaves later calls alone", async () => {
  const stuck = plugin()
    .tool("stuck", {}, () => new Promise(() => {}))
    .resource("stuck://1", {}, () => new Promise(() => {}))
    .resources(() => new Promise(() => {}))
    .tool("left", {}, (_, call) => `${call.timeLeft}`)
    .tool("late", {}, async () => (await wait(5), "late"));
  const client = new Client(stuck, { timeout: 20 });
  await assert.rejects(async () => client.call("stuck"), /^Error: the tool 'stuck' is not done after 20 ms: does it wait for a promise/);
  await assert.rejects(async () => client.read("stuck://1"), /the resource 'stuck:\/\/1' is not done/);
  await assert.rejects(async () => client.resources(), /the list of resources is not done/);
  assert.equal((await new Client(stuck).call("late")).text, "late");
  assert.deepEqual([client, new Client(stuck)].map((client) => client.call("left").text), ["20", "10000"]);
});

test("calls at the same time have hosts of their own", async () => {
  const clients = [new Client(mine), new Client(mine)];
  await Promise.all(clients.map((client) => client.call("add", { a: 1 })));
  assert.deepEqual(clients.map(({ logged }) => logged), [["info: added"], ["info: added"]]);
});

test("questions in async functions", async () => {
  const client = new Client(mine, { answers: [accept(), decline()] });
  assert.equal((await client.call("ask")).text, "1 true,false");
  assert.deepEqual(client.asked, ["q2", "q3"]);
  const insisting = new Client(mine, { answers: [unavailable(), accept()] });
  assert.equal((await insisting.call("insist")).text, "true");
  assert.deepEqual(insisting.asked, ["q1", "q1"]);
  assert.equal(Unavailable.name, "Unavailable");
});

test("fetch goes to the simulated host", async () => {
  const seen = [];
  const server = ({ method, url, headers, body }) => {
    seen.push([method, url, headers, body && new TextDecoder().decode(body)]);
    if (url.endsWith("/moved")) return new http.Response(302, "", [["Location", "../page#x"]]);
    return new http.Response(200, "fine", [["content-type", "text/plain"]]);
  };
  const client = new Client(mine, { http: server });
  const { structured } = await client.call("fetch", { url: "https://example.org/a/moved#top" });
  assert.deepEqual(structured, { status: 200, url: "https://example.org/page", redirected: true, text: "fine" });
  const type = ["content-type", "application/x-www-form-urlencoded;charset=UTF-8"];
  assert.deepEqual(seen, [
    ["POST", "https://example.org/a/moved", [type, ["x-a", "1"]], "a=b+c"],
    ["GET", "https://example.org/page", [["x-a", "1"]], undefined],
  ]);
  await assert.rejects(async () => new Client(mine).call("fetch", { url: "https://example.org/" }), (error) => {
    assert.match(error.message, /^fetch failed: a test without `http` has no network$/);
    return error instanceof TypeError && error.cause instanceof HttpError && error.cause.kind === "denied";
  });
});
