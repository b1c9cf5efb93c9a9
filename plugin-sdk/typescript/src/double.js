// The host's interfaces outside of a component: those that `testing` sets for the duration of a
// call.

let host = null;

/** Sets the simulated host, and returns the previous one. */
export function connect(double) {
  const before = host;
  host = double;
  return before;
}

function connected() {
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
