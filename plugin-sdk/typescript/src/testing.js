// Tests a plugin without a host, in plain Node: no component is built.

import { check } from "./arguments.js";
import { Call } from "./call.js";
import { connect, isConnected } from "./double.js";
import { NotFound, ToolError } from "./errors.js";
import { after, isLater } from "./later.js";
import { instead } from "./names.js";
import * as options from "./options.js";
import { decode } from "./utf8.js";
import { fetch } from "./web/fetch.js";

export const accept = (content = {}) => ({ accepted: content });
export const decline = () => ({ declined: true });
export const model = (text) => ({ sampled: { model: "test", content: [{ kind: "text", text }], text, stopReason: "endTurn" } });
export const roots = (...uris) => ({ roots: uris.map((uri) => ({ uri })) });
export const unavailable = (why = "the client does not support this") => ({ unavailable: why });

// Those of Node, whatever a test replaces.
const { setTimeout, clearTimeout } = globalThis;

/** Milliseconds of a call. */
const TIMEOUT = 10_000;

const FEATURES = ["form", "url", "sample", "sample-tools", "sample-context", "roots"];

export class Client {
  logged = [];
  messages = [];
  asked = [];
  buckets = new Map();
  #plugin;
  #options;
  #answers;
  #gone = false;

  constructor(plugin, given = {}) {
    options.check("client", "Client", given);
    this.#plugin = plugin;
    this.#options = given;
    this.#answers = [...(given.answers ?? [])];
  }

  cancel() {
    this.#gone = true;
  }

  call(tool, args = {}) {
    known("tool", tool, this.#plugin.tools.map(({ name }) => name));
    const { inputSchema } = this.#plugin.tools.find(({ name }) => name === tool);
    const text = JSON.stringify(args);
    check(JSON.parse(inputSchema), JSON.parse(text));
    const made = this.#run(`the tool '${tool}'`, (call) => this.#plugin.callTool(tool, text, call));
    return awaited("call", after(made, (result) => {
      if (result.structured !== undefined) result.structured = asJson(result.structured);
      return result;
    }));
  }

  prompt(name, args = {}) {
    known("prompt", name, this.#plugin.prompts.map((prompt) => prompt.name));
    return awaited("prompt", this.#run(`the prompt '${name}'`, (call) => this.#plugin.getPrompt(name, args, call)));
  }

  read(uri) {
    return awaited("read", after(this.#read(uri), ({ contents }) => contents));
  }

  readResult(uri) {
    return awaited("readResult", this.#read(uri));
  }

  complete(subject, argument, typed = "", given = {}) {
    const prompt = this.#plugin.prompts.find(({ name }) => name === subject);
    const template = this.#plugin.templates().find(({ uri }) => uri === subject);
    const subjects = [...this.#plugin.prompts.map(({ name }) => name), ...this.#plugin.templates().map(({ uri }) => uri)];
    known("prompt or template", subject, subjects);
    known(`argument of ${subject}`, argument, prompt ? Object.keys(prompt.shape) : template.template.variables);
    return awaited("complete", this.#run(`the completion of '${argument}'`, (call) => this.#plugin.complete(subject, argument, typed, given, call)));
  }

  method(name, params = {}) {
    known("method", name, [...this.#plugin.methods.keys()]);
    return awaited("method", after(this.#run(`the method '${name}'`, (call) => this.#plugin.callMethod(name, JSON.stringify(params), call)), asJson));
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
    return awaited("resources", this.#within("the list of resources", () => this.#plugin.listed()));
  }

  #read(uri) {
    if (!this.#plugin.has(uri)) known("resource", uri, this.#plugin.uris());
    return this.#run(`the resource '${uri}'`, (call) => this.#plugin.readResource(uri, call));
  }

  /** Runs a function, again with the answers for as long as it asks. */
  #run(what, work) {
    const features = new Set(this.#options.features ?? FEATURES);
    const round = (answers, state) => {
      const call = new Call({ id: "test", features, timeLeft: this.#timeout, answers, state, meta: this.#options.meta ?? {} });
      return after(call.attempt(() => work(call)), ({ required, value }) => {
        if (!required) return value;
        return round(new Map(required.questions.map((question) => [question.key, this.#answer(question)])), required.state);
      });
    };
    return this.#within(what, () => round(new Map()));
  }

  get #timeout() {
    return this.#options.timeout ?? TIMEOUT;
  }

  /** Runs a function with the simulated host. Without the timer, Node would end the tests while a promise that nothing
      settles is waited for. */
  #within(what, work) {
    const made = connect(this.#host(), work);
    if (!isLater(made)) return made;
    let timer;
    const late = new Promise((_, reject) => {
      const why = `${what} is not done after ${this.#timeout} ms: does it wait for a promise that nothing settles?`;
      timer = setTimeout(() => reject(new Error(why)), this.#timeout);
    });
    return Promise.race([made, late]).finally(() => clearTimeout(timer));
  }

  #answer(question) {
    this.asked.push(question.key);
    if (!this.#answers.length) throw new ToolError(`no answer left for ${JSON.stringify(question)}`);
    return this.#answers.shift();
  }

  #host() {
    const { http, config = {}, environment = {}, store = true } = this.#options;
    return {
      log: (level, message) => this.logged.push(`${level}: ${message}`),
      logData: (level, logger, data) => this.logged.push(`${level}: ${logger}: ${data}`),
      progress: (done, total, message) =>
        this.messages.push(`progress: ${done}${total === undefined ? "" : ` of ${total}`} ${message ?? ""}`.trimEnd()),
      listChanged: (listing) => this.messages.push(`list changed: ${listing}`),
      resourceUpdated: (uri) => this.messages.push(`resource updated: ${uri}`),
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

const asJson = (value) => JSON.parse(JSON.stringify(value));

/** Fails for a name that the plugin does not have, with those that it has. */
function known(kind, name, names) {
  if (!names.includes(name)) throw new NotFound(`no ${kind} '${name}'${instead(name, names)}`);
}

/** A promise that says so if it is taken for its result. */
function awaited(method, value) {
  if (!isLater(value)) return value;
  return new Proxy(value, {
    get(promise, key) {
      if (key in promise) return typeof promise[key] === "function" ? promise[key].bind(promise) : promise[key];
      if (typeof key === "symbol" && key !== Symbol.iterator) return undefined;
      throw new TypeError(`the function is asynchronous: write \`await client.${method}(…)\` before ${String(key)}`);
    },
  });
}

// In a call, `fetch` is the simulated host's.
const outside = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  if (!isConnected()) return outside(input, init);
  const request = new Request(input, init);
  const { method, url, headers, redirect, signal } = request;
  const body = request.body === null ? undefined : await request.arrayBuffer();
  const response = await fetch(url, { method, headers, redirect, signal, body });
  const bytes = await response.bytes();
  const made = new Response(bytes.length ? bytes : null, response);
  return Object.defineProperties(made, { url: { value: response.url }, redirected: { value: response.redirected } });
};

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
