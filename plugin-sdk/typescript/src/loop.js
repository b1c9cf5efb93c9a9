// Microtasks and timers. The interface is synchronous, so nothing of QuickJS runs them: a call runs
// them itself, until its result is there, and sleeps until the next timer is due.

import { sleep } from "#clock";

/** What timers are called with: the host's clock in calls, and none while the component is built. */
let running = false;
/** Milliseconds of the loop's own clock, and of the host's when that was last read in this call. */
let time = 0;
let read;
let last = 0;
let order = 0;
let microtasks = [];
const timers = new Map();
/** A binary heap: the next timer is the first. Those that were cleared are in it until it is their turn. */
const queue = [];

/** Whether calls are running; while the component is built there is no host. */
export const isRunning = () => running;

/** Begins a call. Timers that were set while the component was built have their whole time left. Without any, the
    clock is read when one is set. */
export function start() {
  running = true;
  read = timers.size ? performance.now() : undefined;
}

function now() {
  if (running) {
    const current = performance.now();
    time += Math.max(current - (read ?? current), 0);
    read = current;
  }
  return time;
}

export function enqueue(task) {
  microtasks.push(task);
  if (!running && microtasks.length === 1) drainLater();
}

// While the component is built, QuickJS runs the jobs of its own promises.
const Builtin = Promise;
const drainLater = () => void Builtin.resolve().then(drain);

/** Runs all microtasks. */
export function drain() {
  while (microtasks.length) {
    const batch = microtasks;
    microtasks = [];
    for (let at = 0; at < batch.length; at++) {
      try {
        batch[at]();
      } catch (error) {
        microtasks = [...batch.slice(at + 1), ...microtasks];
        throw error;
      }
    }
  }
}

const isBefore = (one, other) => one.due < other.due || (one.due === other.due && one.order < other.order);

function push(timer) {
  let at = queue.length;
  for (; at > 0; at = (at - 1) >> 1) {
    const parent = queue[(at - 1) >> 1];
    if (!isBefore(timer, parent)) break;
    queue[at] = parent;
  }
  queue[at] = timer;
}

/** Takes the first timer, if there is one. */
function pop() {
  const [first] = queue;
  const moved = queue.pop();
  if (queue.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child + 1 < queue.length && isBefore(queue[child + 1], queue[child])) child += 1;
    if (child >= queue.length || !isBefore(queue[child], moved)) break;
    queue[at] = queue[child];
    at = child;
  }
  queue[at] = moved;
  return first;
}

/** Waits for the next timer and runs it. False if there is none. */
function advance() {
  let next = pop();
  while (next && timers.get(next.id) !== next) next = pop();
  if (!next) return false;
  const left = next.due - now();
  if (left > 0 && running) sleep(left);
  time = Math.max(now(), next.due);
  if (next.every === undefined) {
    timers.delete(next.id);
  } else {
    next.due = time + next.every;
    next.order = order += 1;
    push(next);
  }
  next.run();
  return true;
}

/** Runs microtasks and timers until `isDone`. False if nothing is left that could get there. */
export function runUntil(isDone) {
  drain();
  while (!isDone()) {
    if (!advance()) return false;
    drain();
  }
  return true;
}

function add(callback, delay, args, repeats) {
  if (typeof callback !== "function") throw new TypeError("a timer needs a function");
  const wait = Math.min(Math.max(Math.trunc(Number(delay)) || 0, 0), 0x7fffffff);
  last += 1;
  const timer = {
    id: last,
    due: now() + wait,
    // Of timers that are due at the same time, the one that was set first runs first.
    order: (order += 1),
    // A repeated timer without a delay would leave no time for others.
    every: repeats ? Math.max(wait, 1) : undefined,
    run: () => callback(...args),
  };
  timers.set(last, timer);
  push(timer);
  return last;
}

export const setTimeout = (callback, delay, ...args) => add(callback, delay, args, false);
export const setInterval = (callback, delay, ...args) => add(callback, delay, args, true);
export const setImmediate = (callback, ...args) => add(callback, 0, args, false);
export const clearTimeout = (id) => void timers.delete(Number(id));
export { clearTimeout as clearImmediate, clearTimeout as clearInterval };

export function queueMicrotask(task) {
  if (typeof task !== "function") throw new TypeError("a microtask is a function");
  enqueue(() => task());
}
