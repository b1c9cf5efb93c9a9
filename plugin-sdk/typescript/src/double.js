// The host's interfaces outside of a component: those that `testing` sets for a call.

import { AsyncLocalStorage } from "node:async_hooks";

const hosts = new AsyncLocalStorage();

/** Runs a function with a simulated host, which it keeps after it has waited for something. */
export const connect = (host, work) => hosts.run(host, work);

export const isConnected = () => hosts.getStore() !== undefined;

/** The host of the call. */
export const host = () => connected();

function connected() {
  const host = hosts.getStore();
  if (!host) throw new Error("no host is connected: call this from a tool, and tools through the Client of wharf-plugin/testing");
  return host;
}

export const log = (level, message) => connected().log(level, message);
export const logData = (level, logger, data) => connected().logData(level, logger, data);
export const progress = (done, total, message) => connected().progress(done, total, message);
export const listChanged = (listing) => connected().listChanged(listing);
export const resourceUpdated = (uri) => connected().resourceUpdated(uri);
export const cancelled = () => connected().cancelled();
export const fetch = (request) => connected().fetch(request);
export const open = (name) => connected().open(name);
export const increment = (bucket, key, delta) => connected().increment(bucket, key, delta);
export const get = (key) => connected().get(key);
export const getAll = () => connected().getAll();
export const getEnvironment = () => connected().getEnvironment();
export const getRandomBytes = (length) => globalThis.crypto.getRandomValues(new Uint8Array(length));
export const sleep = (milliseconds) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
