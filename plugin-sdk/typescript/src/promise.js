// Promises whose jobs the loop of this package runs: those of QuickJS would wait until after the
// call. `async` functions use them too, since the bundler rewrites them to generators.

import { enqueue } from "./loop.js";

/** Rejected promises that nothing handles, with their reasons. */
export const unhandled = new Map();

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

class PromiseOfLoop {
  #state = PENDING;
  #value;
  #reactions = [];
  #handled = false;

  constructor(executor) {
    if (typeof executor !== "function") throw new TypeError("a promise needs a function");
    const { resolve, reject } = this.#functions();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  /** The two functions, of which only the first call counts. */
  #functions() {
    let called = false;
    const once = (settle) => (value) => {
      if (called) return;
      called = true;
      settle(value);
    };
    return { resolve: once((value) => this.#resolve(value)), reject: once((reason) => this.#settle(REJECTED, reason)) };
  }

  #resolve(value) {
    if (value === this) return this.#settle(REJECTED, new TypeError("a promise cannot wait for itself"));
    if (!isObject(value)) return this.#settle(FULFILLED, value);
    let then;
    try {
      then = value.then;
    } catch (error) {
      return this.#settle(REJECTED, error);
    }
    if (typeof then !== "function") return this.#settle(FULFILLED, value);
    enqueue(() => {
      const { resolve, reject } = this.#functions();
      try {
        then.call(value, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    if (state === REJECTED && !this.#handled) unhandled.set(this, value);
    for (const reaction of this.#reactions) enqueue(reaction);
    this.#reactions = [];
  }

  then(onFulfilled, onRejected) {
    const { promise, resolve, reject } = capability(speciesOf(this));
    this.#handled = true;
    unhandled.delete(this);
    const reaction = () => {
      const handler = this.#state === FULFILLED ? onFulfilled : onRejected;
      if (typeof handler !== "function") return this.#state === FULFILLED ? resolve(this.#value) : reject(this.#value);
      let made;
      try {
        made = handler(this.#value);
      } catch (error) {
        return reject(error);
      }
      resolve(made);
    };
    if (this.#state === PENDING) this.#reactions.push(reaction);
    else enqueue(reaction);
    return promise;
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(callback) {
    if (typeof callback !== "function") return this.then(callback, callback);
    const Made = speciesOf(this);
    return this.then(
      (value) => Made.resolve(callback()).then(() => value),
      (reason) =>
        Made.resolve(callback()).then(() => {
          throw reason;
        }),
    );
  }

  get [Symbol.toStringTag]() {
    return "Promise";
  }

  static get [Symbol.species]() {
    return this;
  }

  static resolve(value) {
    if (isObject(value) && #state in value && value.constructor === this) return value;
    const { promise, resolve } = capability(this);
    resolve(value);
    return promise;
  }

  static reject(reason) {
    const { promise, reject } = capability(this);
    reject(reason);
    return promise;
  }

  static withResolvers() {
    return capability(this);
  }

  static try(work, ...args) {
    return new this((resolve) => resolve(work(...args)));
  }

  static all(values) {
    return gathered(this, values, (promise, keep, resolve, reject) => promise.then(keep, reject));
  }

  static allSettled(values) {
    return gathered(this, values, (promise, keep) =>
      promise.then(
        (value) => keep({ status: "fulfilled", value }),
        (reason) => keep({ status: "rejected", reason }),
      ),
    );
  }

  static any(values) {
    return gathered(
      this,
      values,
      (promise, keep, resolve) => promise.then(resolve, keep),
      (reasons, resolve, reject) => reject(new AggregateError(reasons, "All promises were rejected")),
    );
  }

  static race(values) {
    return new this((resolve, reject) => {
      for (const value of values) this.resolve(value).then(resolve, reject);
    });
  }
}

Object.defineProperty(PromiseOfLoop, "name", { value: "Promise" });
export { PromiseOfLoop as Promise };

const speciesOf = (promise) => promise.constructor?.[Symbol.species] ?? PromiseOfLoop;

function capability(Made) {
  const made = {};
  made.promise = new Made((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** A promise of what `follow` keeps of each of the values, in their order. */
function gathered(Made, values, follow, finish = (kept, resolve) => resolve(kept)) {
  return new Made((resolve, reject) => {
    const kept = [];
    let left = 1;
    const done = () => {
      left -= 1;
      if (left === 0) finish(kept, resolve, reject);
    };
    let at = 0;
    for (const value of values) {
      const place = at++;
      let isKept = false;
      left += 1;
      const keep = (one) => {
        if (isKept) return;
        isKept = true;
        kept[place] = one;
        done();
      };
      follow(Made.resolve(value), keep, resolve, reject);
    }
    done();
  });
}

/** As in newer versions of the language; the engine's own would wait for promises of its own. */
export async function fromAsync(items, map = (value) => value) {
  const made = [];
  if (items[Symbol.asyncIterator] || items[Symbol.iterator]) {
    for await (const item of items) made.push(await map(item, made.length));
  } else {
    for (let at = 0; at < items.length; at++) made.push(await map(await items[at], at));
  }
  return made;
}
