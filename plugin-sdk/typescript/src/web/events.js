// `Event`, `EventTarget`, and what can be aborted.

import { setTimeout } from "../loop.js";

export class Event {
  #prevented = false;
  #stopped = false;
  constructor(type, { cancelable = false, bubbles = false } = {}) {
    this.type = String(type);
    this.cancelable = Boolean(cancelable);
    this.bubbles = Boolean(bubbles);
    this.target = null;
    this.currentTarget = null;
  }
  get defaultPrevented() {
    return this.#prevented;
  }
  preventDefault() {
    this.#prevented ||= this.cancelable;
  }
  stopPropagation() {}
  stopImmediatePropagation() {
    this.#stopped = true;
  }
  static isStopped(event) {
    return #stopped in event && event.#stopped;
  }
}
const { isStopped } = Event;
delete Event.isStopped;

export class EventTarget {
  #listeners = [];

  addEventListener(type, listener, options) {
    if (!listener || options?.signal?.aborted) return;
    if (this.#listeners.some((one) => one.type === String(type) && one.listener === listener)) return;
    this.#listeners.push({ type: String(type), listener, once: Boolean(options?.once) });
    options?.signal?.addEventListener("abort", () => this.removeEventListener(type, listener), { once: true });
  }

  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((one) => one.type !== String(type) || one.listener !== listener);
  }

  dispatchEvent(event) {
    event.target = event.currentTarget = this;
    for (const { type, listener, once } of [...this.#listeners]) {
      if (type !== event.type || !this.#listeners.some((one) => one.type === type && one.listener === listener)) continue;
      if (once) this.removeEventListener(type, listener);
      if (typeof listener === "function") listener.call(this, event);
      else listener.handleEvent(event);
      if (isStopped(event)) break;
    }
    return !event.defaultPrevented;
  }
}

const key = Symbol("made by a controller");

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason;
  /** When it aborts by itself, as `Date.now()`. An HTTP exchange ends then too. */
  #deadline = Infinity;
  onabort = null;

  constructor(made) {
    if (made !== key) throw new TypeError("a signal is made by an AbortController");
    super();
  }

  get aborted() {
    return this.#aborted;
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }

  static abort(reason) {
    const signal = new AbortSignal(key);
    abort(signal, reason);
    return signal;
  }

  static timeout(milliseconds) {
    const signal = new AbortSignal(key);
    signal.#deadline = Date.now() + Number(milliseconds);
    setTimeout(() => abort(signal, timedOut()), milliseconds);
    return signal;
  }

  static any(signals) {
    const made = new AbortSignal(key);
    for (const signal of signals) {
      if (signal.aborted) {
        abort(made, signal.reason);
        break;
      }
      made.#deadline = Math.min(made.#deadline, deadline(signal));
      signal.addEventListener("abort", () => abort(made, signal.reason), { once: true });
    }
    return made;
  }

  static [key] = {
    abort(signal, reason = new DOMException("This operation was aborted", "AbortError")) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason;
      const event = new Event("abort");
      signal.onabort?.(event);
      signal.dispatchEvent(event);
    },
    deadline: (signal) => (signal && #deadline in signal ? signal.#deadline : Infinity),
  };
}
const { abort, deadline } = AbortSignal[key];
delete AbortSignal[key];
export { deadline };

export const timedOut = () => new DOMException("The operation was aborted due to timeout", "TimeoutError");

export class AbortController {
  signal = new AbortSignal(key);
  abort(reason) {
    abort(this.signal, reason);
  }
}
