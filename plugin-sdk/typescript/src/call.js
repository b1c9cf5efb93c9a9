// The running call.

import * as host from "#host";
import { Ask, Asked } from "./ask.js";
import { Unavailable } from "./errors.js";
import { isLater } from "./later.js";
import * as log from "./log.js";
import { refuseMisspelt } from "./names.js";

/** The running call: its id, its time limit, its progress, and a way to ask. */
export class Call {
  log = log;
  #context;
  #ask;

  constructor(context) {
    this.#context = context;
  }

  /** Made when it is first used: most calls ask nothing. */
  get ask() {
    return (this.#ask ??= new Ask(this.#context));
  }

  /** The questions with which the call ends, if there are any. */
  get required() {
    return this.#ask?.asked ?? null;
  }

  get id() {
    return this.#context.id;
  }

  get timeLeft() {
    return this.#context.timeLeft;
  }

  get meta() {
    return this.#context.meta;
  }

  get cancelled() {
    return host.cancelled();
  }

  progress(done, total, message) {
    host.progress(Number(done), total === undefined ? undefined : Number(total), message?.toWellFormed());
  }

  /** Runs a tool, prompt or resource to its end (`value`) or to its next question
      (`required`); a promise of that if it is asynchronous. A question caught by `try`/`catch`
      still counts. */
  attempt(work) {
    try {
      const value = work();
      if (!isLater(value)) return this.#ended(value);
      return Promise.resolve(value).then(
        (value) => this.#ended(value),
        (error) => this.#failed(error),
      );
    } catch (error) {
      return this.#failed(error);
    }
  }

  #ended(value) {
    return this.required ? { required: this.required } : { value };
  }

  #failed(error) {
    if (this.required) return { required: this.required };
    if (error instanceof Asked) return { required: error.required };
    // Unhandled: the question is repeated, which tells the host that the plugin needs the
    // answer.
    if (error instanceof Unavailable) return { required: this.ask.insist(error.question) };
    throw error;
  }
}

// Without the members that only the component uses.
refuseMisspelt(Call, "call", ["id", "timeLeft", "meta", "cancelled", "log", "ask", "progress"]);
