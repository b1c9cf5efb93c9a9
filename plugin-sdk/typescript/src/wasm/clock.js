import { subscribeDuration } from "wasi:clocks/monotonic-clock@0.2.0";

/** Waits for that many milliseconds. */
export function sleep(milliseconds) {
  const pollable = subscribeDuration(Math.ceil(milliseconds * 1e6));
  pollable.block();
  pollable[Symbol.dispose]?.();
}
