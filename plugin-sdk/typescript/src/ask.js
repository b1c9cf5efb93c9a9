// Questions to the user, the model and the client, as straight-line code. A question without
// an answer ends the call, which is repeated from its start once the answer is there. The key of
// a question is its position, so the same code finds its answer.

import { ToolError, Unavailable } from "./errors.js";
import { isLater } from "./later.js";
import { refuseMisspelt } from "./names.js";
import * as options from "./options.js";
import { formSchema } from "./schema.js";
import { decode, encode } from "./utf8.js";

/** Ends the call with questions. */
export class Asked extends Error {
  name = "Asked";
  constructor(required) {
    super("waiting for an answer");
    this.required = required;
  }
}

/** Asks the caller. */
export class Ask {
  /** The open questions with which the call ends. */
  asked = null;
  #features;
  #answers;
  #settled;
  #open = [];
  #count = 0;
  #key;

  constructor({ features, answers, state }) {
    this.#features = features;
    this.#answers = answers;
    this.#settled = state ? new Map(JSON.parse(decode(state), revived)) : new Map();
  }

  can(feature) {
    return this.#features.has(feature);
  }

  confirm(message) {
    return this.#elicit({ form: { message, schema: '{"type":"object","properties":{}}' } }).accepted !== undefined;
  }

  form(message, schema) {
    const { json, read } = formSchema(schema);
    const { accepted } = this.#elicit({ form: { message, schema: JSON.stringify(json) } });
    return accepted === undefined ? null : read(accepted);
  }

  visit(message, url) {
    return this.#elicit({ visit: { message, url } }).accepted !== undefined;
  }

  sample(question) {
    const sample = typeof question === "string" ? { messages: [question] } : question;
    options.check("sampling", "ask.sample", sample);
    for (const tool of sample.tools ?? []) options.check("sampledTool", "a tool of ask.sample", tool);
    return fitting(this.#ask({ sample }).sampled);
  }

  roots() {
    return fitting(this.#ask({ roots: true }).roots);
  }

  once(make) {
    const key = this.#next();
    const keep = (value, later) => {
      this.#settled.set(key, { made: JSON.parse(JSON.stringify(value) ?? "null"), later });
      return this.#settled.get(key).made;
    };
    const kept = this.#settled.get(key);
    if (kept) return kept.later ? Promise.resolve(fitting(kept.made)) : fitting(kept.made);
    const made = make();
    return isLater(made) ? made.then((value) => keep(value, true)) : keep(made);
  }

  together(...questions) {
    const answers = [];
    let refused;
    for (const question of questions) {
      try {
        answers.push(question());
      } catch (error) {
        if (error instanceof Unavailable) refused ??= error;
        else if (!(error instanceof Asked)) throw error;
      }
    }
    this.#wait();
    if (refused) throw refused;
    return answers;
  }

  key(key) {
    this.#key = key;
    return this;
  }

  /** Repeats a refused question, so that a later answer still counts. */
  insist(question) {
    return { questions: [question], state: state([...this.#settled].filter(([key]) => key !== question.key)) };
  }

  #elicit(asks) {
    const reply = this.#ask(asks);
    if (reply.accepted === undefined && !reply.declined) fitting(undefined);
    return reply;
  }

  #ask(asks) {
    const key = this.#next();
    const reply = this.#settled.get(key);
    const question = { key, ...asks };
    if (reply?.unavailable !== undefined) throw new Unavailable(reply.unavailable, question);
    if (reply) return reply;
    this.#open.push(question);
    return this.#wait();
  }

  #wait() {
    if (!this.#open.length) return;
    this.asked = { questions: this.#open, state: state([...this.#settled]) };
    throw new Asked(this.asked);
  }

  #next() {
    this.#count += 1;
    const key = this.#key ?? `q${this.#count}`;
    this.#key = undefined;
    if (!this.#settled.has(key) && this.#answers.has(key)) this.#settled.set(key, this.#answers.get(key));
    return key;
  }
}

// Without the members that only a call uses.
refuseMisspelt(Ask, "ask", ["can", "confirm", "form", "visit", "sample", "roots", "once", "together", "key"]);

function fitting(reply) {
  if (reply === undefined) throw new ToolError("the answer does not fit the question");
  return reply;
}

/** The answers so far, for the next round. */
function state(settled) {
  return settled.length ? encode(JSON.stringify(settled, kept)) : undefined;
}

const kept = (_, value) =>
  value instanceof Uint8Array ? { base64: btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join("")) } : value;

const revived = (key, value) =>
  key === "data" && typeof value?.base64 === "string"
    ? Uint8Array.from(atob(value.base64), (character) => character.charCodeAt(0))
    : value;
