// Tasks, through the official library for them, whose one call drives the extension of 2026-07-28 as well as the tasks of
// 2025-11-25. With the plugin `everything`; the connections are made by check.mjs.

import assert from "node:assert/strict";

import { createTaskSessionFromClient, TaskFailedError } from "@modelcontextprotocol/ext-tasks/client";

import { MODERN, SELF } from "./sdk.mjs";

/** What it can be asked for; not for roots. */
const CAPABILITIES = { elicitation: { form: {} } };
const CONTENT = { name: "Ada", confirm: true };
/** Any JSON. */
const ANY = { "~standard": { version: 1, vendor: "tests", validate: (value) => ({ value }) } };

/** Sends requests that the client itself does not know over its connection. */
function dispatcher({ transport }) {
  const waiting = new Map();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const settle = message.method === undefined && waiting.get(message.id);
    if (!settle) return onmessage(message, extra);
    waiting.delete(message.id);
    settle(message);
  };
  return async ({ method, params }) => {
    const id = crypto.randomUUID();
    const answer = new Promise((resolve) => void waiting.set(id, resolve));
    await transport.send({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answer;
    return error ? { kind: "error", error } : { kind: "result", result };
  };
}

/** One client's session with tasks. Records what it is asked and how. */
class Session {
  asked = [];
  errors = [];

  constructor(way, client, revision) {
    /** Over HTTP without tokens clients cannot be told apart. */
    this.lists = way === "stdio" && revision !== MODERN;
    this.client = client;
    this.isModern = revision === MODERN;
    const raw = {
      rawDispatch: dispatcher(client),
      v2RequestFraming: { protocolVersion: revision, clientInfo: SELF, clientCapabilities: CAPABILITIES },
    };
    this.session = createTaskSessionFromClient(client, {
      endpointId: "everything",
      onInputRequest: (request, context) => {
        this.asked.push([request.params?.message ?? request.kind, context.delivery, context.scope]);
        if (request.kind === "roots") return { roots: [{ uri: "file:///a" }] };
        const names = Object.keys(request.params.requestedSchema.properties);
        return { action: "accept", content: Object.fromEntries(names.map((name) => [name, CONTENT[name]])) };
      },
      onError: (error) => void this.errors.push(error),
      ...(this.isModern ? raw : {}),
    });
  }

  call(tool, args = {}) {
    return this.session.callTool(`everything_${tool}`, args, { task: { preference: "prefer" } });
  }

  /** The outcome of a call that becomes a task, and the states in which it was seen. */
  async awaited(tool, args) {
    const execution = await this.call(tool, args);
    assert.equal(execution.kind, "task", tool);
    const seen = [];
    const onEvent = ({ task }) => {
      if (!task) return;
      seen.push(task);
      if (task.status !== "input_required" || this.isModern) return;
      // In 2025-11-25 questions come while a client waits for the result, and the library waits only for the end.
      this.client.request({ method: "tasks/result", params: { taskId: task.taskId } }, ANY).catch((error) => this.errors.push(error));
    };
    const { outcome } = await execution.settle({ onEvent });
    return { outcome, seen };
  }

  async text(tool, args) {
    const { outcome } = await this.awaited(tool, args);
    assert.equal(outcome.status, "completed", JSON.stringify(outcome));
    return outcome.result.content[0].text;
  }
}

async function ends(own) {
  const greeting = await own.call("greet", { name: "Ada" });
  assert.equal(greeting.kind, "immediate");
  assert.equal((await greeting.settle()).outcome.result.content[0].text, "Hello, Ada!");

  const { outcome, seen } = await own.awaited("slow_compute", { seconds: 3, label: "it" });
  assert.equal(outcome.result?.content[0].text, "it is done", JSON.stringify(outcome));
  // Its progress.
  assert.ok(seen.some(({ status, statusMessage }) => status === "working" && statusMessage), JSON.stringify(seen));
  assert.ok(seen[0].retentionMs > 0 && seen[0].suggestedPollIntervalMs > 0 && Date.parse(seen[0].createdAt) > 0);

  // A result that says that the tool failed completes a task of the extension, and fails one of 2025-11-25.
  const failing = (await own.awaited("failing_job")).outcome;
  assert.equal(failing.status, own.isModern ? "completed" : "failed", JSON.stringify(failing));
  if (own.isModern) assert.deepEqual([failing.result.isError, failing.result.content[0].text], [true, "the job failed"]);
  else assert.equal(failing.error.message, "the job failed");
}

/** The error of a call that cannot go on. */
async function errors(own) {
  // The handshake said that the client has roots.
  if (!own.isModern) return assert.equal(await own.text("protocol_error_job"), "1 folders");
  const { outcome } = await own.awaited("protocol_error_job");
  assert.ok(outcome.error instanceof TaskFailedError, JSON.stringify(outcome));
  assert.match(outcome.error.message, /roots/);
  assert.equal(outcome.error.code, -32021);
}

async function questions(own) {
  assert.equal(await own.text("confirm_delete", { filename: "a" }), "a: deleted");
  assert.equal(await own.text("multi_input"), "true true");
  assert.equal(await own.text("test_tool_with_task"), "Hello, Ada!");
  const inTask = own.isModern ? "task-update" : "peer-request";
  // Of the call that is answered by a task only then.
  const before = own.isModern ? ["request-retry", "request"] : ["peer-request", "task"];
  const asked = own.asked.filter(([what]) => what !== "roots").toSorted();
  assert.deepEqual(asked, [
    ["Are you sure?", inTask, "task"],
    ["Delete a?", inTask, "task"],
    ["What is your name?", ...before],
    ["Who are you?", inTask, "task"],
  ]);
}

async function cancelling(own) {
  const execution = await own.call("slow_compute", { seconds: 600 });
  const { taskId } = execution.handle;
  const control = own.session.task(taskId);
  assert.equal((await control.snapshot()).status, "working");
  assert.equal(own.session.capabilities.inventory === "server-list", own.lists);
  if (own.lists) assert.ok((await own.session.listTasks()).tasks.some((task) => task.taskId === taskId));
  await execution.cancel();
  assert.equal((await execution.settle()).outcome.status, "cancelled");
  assert.equal((await control.snapshot()).status, "cancelled");
  await assert.rejects(own.session.task("unknown").snapshot(), (error) => error.code === -32602);

}

/** A task that one session leaves, and another takes up. */
async function handover(own, another) {
  const left = await own.call("slow_compute", { seconds: 1, label: "left" });
  let kept;
  await left.handoff((reference) => void (kept = JSON.stringify(reference)));
  // The session forgets it then; before, its end would cancel it.
  await left.result();
  await own.session.close();
  const { session } = another();
  const taken = await session.resumeTask(JSON.parse(kept));
  assert.equal((await taken.settle()).outcome.result.content[0].text, "left is done");
  await session.close();
}

/** For version 2 of the client, which the library needs. */
export async function tasks(home, client, revision) {
  const own = new Session(home.way, client, revision);
  for (const check of [ends, errors, questions, cancelling]) await check(own);
  await handover(own, () => new Session(home.way, client, revision));
  assert.deepEqual(own.errors, []);
}
