// Tests a plugin without a host, in plain Node: no component is built.

import { Call } from "./call.js";
import { connect } from "./double.js";
import { ToolError } from "./errors.js";
import { decode } from "./utf8.js";

export const accept = (content = {}) => ({ accepted: content });
export const decline = () => ({ declined: true });
export const model = (text) => ({ sampled: { model: "test", content: [{ kind: "text", text }], text, stopReason: "endTurn" } });
export const roots = (...uris) => ({ roots: uris.map((uri) => ({ uri })) });
export const unavailable = (why = "the client does not support this") => ({ unavailable: why });

const FEATURES = ["form", "url", "sample", "sample-tools", "sample-context", "roots"];

export class Client {
  logged = [];
  told = [];
  asked = [];
  buckets = new Map();
  #plugin;
  #options;
  #answers;
  #gone = false;

  constructor(plugin, options = {}) {
    this.#plugin = plugin;
    this.#options = options;
    this.#answers = [...(options.answers ?? [])];
  }

  cancel() {
    this.#gone = true;
  }

  call(tool, args = {}) {
    const result = this.#run((call) => this.#plugin.callTool(tool, JSON.stringify(args), call));
    if (result.structured !== undefined) result.structured = JSON.parse(JSON.stringify(result.structured));
    return result;
  }

  prompt(name, args = {}) {
    return this.#run((call) => this.#plugin.getPrompt(name, args, call));
  }

  read(uri) {
    return this.readResult(uri).contents;
  }

  readResult(uri) {
    return this.#run((call) => this.#plugin.readResource(uri, call));
  }

  complete(subject, argument, typed = "", given = {}) {
    return this.#run((call) => this.#plugin.complete(subject, argument, typed, given, call));
  }

  method(name, params = {}) {
    return JSON.parse(JSON.stringify(this.#run((call) => this.#plugin.callMethod(name, JSON.stringify(params), call))));
  }

  tools() {
    return this.#plugin.tools.map(({ name, title, description, inputSchema, outputSchema, hints }) => ({
      name,
      title,
      description,
      inputSchema: JSON.parse(inputSchema),
      outputSchema: outputSchema && JSON.parse(outputSchema),
      readOnly: hints.readOnly,
    }));
  }

  resources() {
    return this.#connected(() => this.#plugin.listed());
  }

  #run(work) {
    let state;
    let answers = new Map();
    const features = new Set(this.#options.features ?? FEATURES);
    return this.#connected(() => {
      for (;;) {
        const call = new Call({ id: "test", features, timeLeft: 30_000, answers, state, meta: this.#options.meta ?? {} });
        const { required, value } = call.attempt(() => work(call));
        if (!required) return value;
        state = required.state;
        answers = new Map(required.questions.map((question) => [question.key, this.#answer(question)]));
      }
    });
  }

  #answer(question) {
    this.asked.push(question.key);
    if (!this.#answers.length) throw new ToolError(`no answer left for ${JSON.stringify(question)}`);
    return this.#answers.shift();
  }

  #connected(work) {
    const before = connect(this.#host());
    try {
      return work();
    } finally {
      connect(before);
    }
  }

  #host() {
    const { http, config = {}, environment = {}, store = true } = this.#options;
    return {
      log: (level, message) => this.logged.push(`${level}: ${message}`),
      logData: (level, logger, data) => this.logged.push(`${level}: ${logger}: ${data}`),
      progress: (done, total, message) =>
        this.told.push(`progress: ${done}${total === undefined ? "" : ` of ${total}`} ${message ?? ""}`.trimEnd()),
      listChanged: (listing) => this.told.push(`list changed: ${listing}`),
      resourceUpdated: (uri) => this.told.push(`resource updated: ${uri}`),
      cancelled: () => this.#gone,
      fetch(request) {
        if (!http) throw refusal("denied", "a test without `http` has no network");
        const headers = request.headers.map(({ name, value }) => [name, decode(value)]);
        const response = http({ ...request, headers, timeout: request.timeoutMs });
        const fields = response.headers.map(([name, value]) => ({ name, value: new TextEncoder().encode(value) }));
        return { status: response.status, body: response.bytes, headers: fields };
      },
      open: (name) => {
        if (!store) throw refusal("access-denied");
        if (!this.buckets.has(name)) this.buckets.set(name, new Map());
        return new Bucket(this.buckets.get(name));
      },
      increment: (bucket, key, delta) => bucket.increment(key, delta),
      get: (key) => config[key] ?? null,
      getAll: () => Object.entries(config),
      getEnvironment: () => Object.entries(environment),
    };
  }
}

const refusal = (tag, val) => Object.assign(new Error(tag), { payload: { tag, val } });

class Bucket {
  constructor(values) {
    this.values = values;
  }
  get = (key) => this.values.get(key) ?? null;
  set = (key, value) => void this.values.set(key, value);
  delete = (key) => void this.values.delete(key);
  exists = (key) => this.values.has(key);
  listKeys = () => ({ keys: [...this.values.keys()], cursor: null });
  increment(key, delta) {
    const sum = Number(decode(this.values.get(key) ?? new TextEncoder().encode("0"))) + delta;
    if (!Number.isSafeInteger(sum)) throw refusal("other", "the value is not a whole number");
    this.values.set(key, new TextEncoder().encode(String(sum)));
    return sum;
  }
}
