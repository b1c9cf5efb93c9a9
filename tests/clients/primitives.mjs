// All server features, through an official TypeScript client of either version and in either
// era, with the plugin `everything`. The connections are made by check.mjs.

import assert from "node:assert/strict";

import { until } from "./home.mjs";
import { MODERN } from "./sdk.mjs";

const WATCHED = "test://watched-resource";
const PROMPT = { type: "ref/prompt", name: "everything_test_prompt_with_arguments" };

/** Records the notifications of a client, and answers its requests. */
class Recorder {
  messages = [];
  updated = [];
  asked = [];
  steps = [];

  constructor(client) {
    client.onNotification("notifications/message", ({ params }) => void this.messages.push(params));
    client.onNotification("notifications/resources/updated", ({ params }) => void this.updated.push(params.uri));
    client.answer("roots/list", () => ({ roots: [{ uri: "file:///a" }] }));
    client.answer("sampling/createMessage", ({ params }) => {
      this.asked.push(params);
      return { role: "assistant", content: { type: "text", text: "from the model" }, model: "m" };
    });
    client.answer("elicitation/create", ({ params }) => {
      this.asked.push(params);
      if (params.mode === "url" || !Object.keys(params.requestedSchema.properties).length) return { action: "accept" };
      const filled = params.requestedSchema.required.map((name) => [name, "Ada"]);
      return { action: "accept", content: Object.fromEntries(filled) };
    });
  }
}

/** Calls a tool of `everything`, which must succeed. */
async function call(client, tool, args = {}, options = {}, meta = undefined) {
  const params = { name: `everything_${tool}`, arguments: args, ...(meta && { _meta: meta }) };
  const result = await client.callTool(params, options);
  assert.ok(!result.isError, JSON.stringify(result));
  return result;
}

const text = async (client, tool, args) => (await call(client, tool, args)).content[0].text;

async function resources(client) {
  const listed = (await client.listResources()).resources.find(({ uri }) => uri === "test://static-text");
  assert.equal(listed.mimeType, "text/plain");
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), ["test://template/{id}/data"]);
  const read = async (uri) => (await client.readResource({ uri })).contents[0];
  assert.equal((await read("test://static-text")).text, "This is the content of the static text resource.");
  assert.ok((await read("test://static-binary")).blob);
  assert.match((await read("test://template/7/data")).text, /Data for ID: 7/);
  assert.equal((await read("test://template/asked/data")).text, '{"agreed":true}');
  await assert.rejects(read("test://nothing-here"), /nothing-here/);
}

async function prompts(client) {
  const names = (await client.listPrompts()).prompts.map(({ name }) => name);
  assert.ok(names.includes("everything_test_simple_prompt"), names.join());
  const get = async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text;
  assert.equal(await get(PROMPT.name, { arg1: "a", arg2: "b" }), "Prompt with arguments: arg1='a', arg2='b'");
  assert.equal(await get("everything_test_input_required_result_prompt", {}), "Talk about Ada");
  await assert.rejects(get(PROMPT.name, { arg1: "a" }), /arg2/);
}

async function completions(client) {
  const complete = async (ref, name, value, given) =>
    (await client.complete({ ref, argument: { name, value }, ...(given && { context: { arguments: given } }) })).completion;
  assert.deepEqual((await complete(PROMPT, "arg1", "par")).values, ["paris", "park", "party"]);
  assert.deepEqual((await complete(PROMPT, "arg2", "", { arg1: "paris" })).values, ["arg1-paris"]);
  const numbers = await complete({ type: "ref/resource", uri: "test://template/{id}/data" }, "id", "");
  assert.ok(numbers.values.length === 100 && numbers.hasMore, JSON.stringify(numbers));
}

/** The log level is warning; in the newest revision it is sent with the call. */
async function notifications(client, recorder, meta) {
  await call(client, "test_logging_tool", {}, {}, meta);
  await until("the log messages", () => recorder.messages.length >= 6);
  const levels = recorder.messages.map(({ level }) => level);
  assert.deepEqual(levels, ["warning", "error", "critical", "alert", "emergency", "error"]);
  assert.ok(recorder.messages.slice(0, 5).every(({ logger }) => logger === "everything"));
  assert.deepEqual(recorder.messages[5].data, { structured: true });
  // Again if some is missing: the client drops progress that it reads in one piece with the response.
  await until("the progress", async () => {
    recorder.steps.length = 0;
    await call(client, "test_tool_with_progress", {}, { onprogress: (step) => recorder.steps.push(step) });
    return recorder.steps.length >= 3;
  });
  const steps = recorder.steps.map(({ progress, total, message }) => [progress, total, message]);
  assert.deepEqual(steps, [[0, 100, "begun"], [50, 100, undefined], [100, 100, "done"]]);
}

async function questions(client, recorder) {
  assert.equal(await text(client, "test_sampling", { prompt: "x" }), "LLM response: from the model");
  assert.equal(await text(client, "test_roots"), "file:///a\n");
  assert.equal(await text(client, "test_elicitation", { message: "Who?" }), "User response: Ada <Ada>");
  assert.equal(await text(client, "test_url_visit"), "on the way");
  assert.ok(recorder.asked.some(({ url }) => url === "https://example.org/login"));
  assert.equal(await text(client, "test_input_required_result_multi_round"), "Ada: true");
  const several = await text(client, "test_input_required_result_multiple_inputs");
  assert.equal(several, "from the model, Ada! 1 folders");
  const { structuredContent } = await call(client, "test_context");
  assert.ok(["form", "visit", "sample", "roots"].every((feature) => structuredContent[feature]));
}

/** Revisions with a handshake have subscriptions per resource. */
async function subscribed(client, recorder) {
  await client.subscribeResource({ uri: WATCHED });
  await call(client, "test_update_resource", { uri: "test://static-text" });
  await call(client, "test_update_resource");
  await until("an update", () => recorder.updated.length);
  await client.unsubscribeResource({ uri: WATCHED });
  assert.deepEqual(recorder.updated, [WATCHED]);
}

/** 2026-07-28 has subscription streams. */
async function listened(client, recorder) {
  const subscription = await client.listen({ resourceSubscriptions: [WATCHED] });
  await call(client, "test_update_resource", { uri: "test://static-text" });
  await call(client, "test_update_resource");
  await until("an update", () => recorder.updated.length);
  assert.deepEqual(recorder.updated, [WATCHED]);
  await subscription.close();
  assert.equal(await subscription.closed, "local");
}

/** Cancels a running call, and waits until the plugin has seen it. */
async function cancelled(home, client) {
  const stop = new AbortController();
  let begun = false;
  const options = { signal: stop.signal, onprogress: () => (begun = true) };
  const refused = assert.rejects(call(client, "slow_compute", { seconds: 50 }, options), /tired/);
  await until("progress", () => begun);
  stop.abort("tired");
  await refused;
  await until("the plugin's log of the cancellation", () => home.log().includes("cancelled"));
}

/** All checks, in the negotiated revision. */
export async function primitives(home, client, revision) {
  const recorder = new Recorder(client);
  const modern = revision === MODERN;
  if (!modern) await client.setLoggingLevel("warning");
  await resources(client);
  await prompts(client);
  await completions(client);
  await notifications(client, recorder, modern ? { "io.modelcontextprotocol/logLevel": "warning" } : undefined);
  await questions(client, recorder);
  await (modern ? listened : subscribed)(client, recorder);
  await cancelled(home, client);
}
