// Validates the messages that the host sent in the tests with the official JSON schemas.
//
//     node schema.mjs FOLDER
//
// FOLDER has JSON lines, each with a message, the method that it answers and its revision. The
// schemas are those in the bundle of the official conformance suite. It has none for 2024-11-05:
// that revision is validated with the next one's, without its additions. Counts files, one per
// test; the exit code is 0 if all messages were valid.

import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runInNewContext } from "node:vm";

const require = createRequire(import.meta.url);
const Ajv = require("ajv").default;
const Ajv2020 = require("ajv/dist/2020").default;
const formats = require("ajv-formats").default;

const NEXT = "2025-03-26";
const OLDEST = "2024-11-05";
const NEWEST = "2026-07-28";

/** The object literals of the bundle that are schemas of the protocol, by revision. */
function bundled() {
  const bundle = readFileSync(new URL("node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url), "utf8");
  const found = {};
  for (let at = bundle.indexOf("={$schema:"); at >= 0; at = bundle.indexOf("={$schema:", at + 1)) {
    const text = literal(bundle, at + 1);
    if (!text.includes("JSONRPCMessage")) continue;
    // The revision is determined by definitions that are new in it.
    const schema = JSON.parse(JSON.stringify(runInNewContext(`(${text})`)));
    const names = schema.$defs ?? schema.definitions;
    const revision = names.DiscoverResult ? NEWEST : names.Task ? "2025-11-25" : names.ResourceLink ? "2025-06-18" : NEXT;
    found[revision] = schema;
  }
  found[OLDEST] = structuredClone(found[NEXT]);
  const { definitions } = found[OLDEST];
  definitions.AudioContent = { not: {} };
  definitions.Tool.properties.annotations = { not: {} };
  definitions.ServerCapabilities.properties.completions = { not: {} };
  definitions.ProgressNotification.properties.params.properties.message = { not: {} };
  return found;
}

/** The object literal that starts at an offset, to its closing brace. */
function literal(source, start) {
  let depth = 0;
  for (let at = start; at < source.length; at++) {
    const symbol = source[at];
    if (symbol === "{" || symbol === "[") depth++;
    else if (symbol === "}" || symbol === "]") {
      if (--depth === 0) return source.slice(start, at + 1);
    } else if (symbol === '"' || symbol === "'" || symbol === "`") {
      for (at++; source[at] !== symbol; at++) if (source[at] === "\\") at++;
    }
  }
  throw new Error("a schema in the bundle is not closed");
}

/** A task of the extension `io.modelcontextprotocol/tasks` (2026-07-28), which has no schema of its own there. */
const TASK = {
  type: "object",
  required: ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
  properties: {
    taskId: { type: "string" },
    status: { enum: ["working", "input_required", "completed", "failed", "cancelled"] },
    statusMessage: { type: "string" },
    createdAt: { type: "string", format: "date-time" },
    lastUpdatedAt: { type: "string", format: "date-time" },
    ttlMs: { type: ["integer", "null"], exclusiveMinimum: 0 },
    pollIntervalMs: { type: "integer", exclusiveMinimum: 0 },
    inputRequests: { type: "object" },
    result: { type: "object" },
    error: { type: "object", required: ["code", "message"] },
  },
  not: { anyOf: [{ required: ["requestState"] }, { required: ["task"] }] },
};

/** Validates messages with the definitions of one revision. */
class Revision {
  constructor(name, schema) {
    this.name = name;
    this.key = schema.$defs ? "$defs" : "definitions";
    this.definitions = schema[this.key];
    this.ajv = new (schema.$defs ? Ajv2020 : Ajv)({ strict: false, allErrors: true });
    formats(this.ajv);
    this.ajv.addFormat("byte", true);
    this.ajv.addSchema({ ...schema, $id: "mcp" });
    this.byMethod = {};
    for (const [definition, { properties }] of Object.entries(this.definitions)) {
      const method = properties?.method?.const;
      if (method) this.byMethod[method] = definition;
    }
  }

  complaints(definition, value) {
    const validate = this.ajv.getSchema(`mcp#/${this.key}/${definition}`);
    if (validate(value)) return [];
    return validate.errors.slice(0, 6).map((error) => `${definition}${error.instancePath}: ${error.message}`);
  }

  check({ method, message }) {
    if (this.name === NEWEST && message.method === "notifications/tasks") return this.task(message.params);
    if (message.method !== undefined) {
      const definition = this.byMethod[message.method];
      return definition ? this.complaints(definition, message) : [`${message.method} is not of this revision`];
    }
    if (message.error !== undefined) return this.checkError(message);
    const envelope = this.complaints(this.definitions.JSONRPCResultResponse ? "JSONRPCResultResponse" : "JSONRPCResponse", message);
    const { result: got } = message;
    if (this.name === NEWEST && (got.resultType === "task" || method === "tasks/get")) return [...envelope, ...this.task(got)];
    if (got.task !== undefined && this.definitions.CreateTaskResult) return [...envelope, ...this.complaints("CreateTaskResult", got)];
    const request = this.byMethod[method];
    if (!request) return envelope;
    const result = request.replace(/Request$/, "Result");
    const definition = this.definitions[result] ? result : this.definitions.EmptyResult ? "EmptyResult" : "Result";
    if (message.result.resultType === "input_required") return [...envelope, ...this.complaints("InputRequiredResult", message.result)];
    return [...envelope, ...this.complaints(definition, message.result)];
  }

  task(value) {
    this.isTask ??= this.ajv.compile(TASK);
    return this.isTask(value) ? [] : this.isTask.errors.map((error) => `task${error.instancePath}: ${error.message}`);
  }

  checkError(message) {
    const definition = this.definitions.JSONRPCErrorResponse ? "JSONRPCErrorResponse" : "JSONRPCError";
    // Up to 2025-06-18 the schema requires an id even where none could be read; JSON-RPC 2.0, which
    // those revisions incorporate, requires null.
    if (message.id === null && definition === "JSONRPCError") message = { ...message, id: 0 };
    return this.complaints(definition, message);
  }
}

const revisions = new Map();
for (const [name, schema] of Object.entries(bundled())) revisions.set(name, new Revision(name, schema));
if (revisions.size !== 5) throw new Error(`the bundle has schemas of ${[...revisions.keys()]}`);

let passed = 0;
let failed = 0;
let messages = 0;
const folder = process.argv[2];
for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort()) {
  const lines = readFileSync(join(folder, file), "utf8").split("\n").filter(Boolean);
  let valid = true;
  for (const [index, line] of lines.entries()) {
    const entry = JSON.parse(line);
    // Before the era is known a message has the format of the newest handshake revision.
    const complaints = revisions.get(entry.revision ?? "2025-11-25")?.check(entry) ?? [`no revision ${entry.revision}`];
    if (complaints.length === 0) messages++;
    else {
      valid = false;
      console.log(`${file}:${index + 1}: ${entry.revision} ${entry.method}: ${complaints.join("; ")}\n  ${line.slice(0, 500)}`);
    }
  }
  if (valid) passed++;
  else failed++;
}
if (passed + failed === 0) {
  console.log("nothing was recorded: run the Rust tests first");
  failed = 1;
}
console.log(`${messages} messages are valid`);
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
