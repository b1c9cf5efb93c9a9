// Values that may be promises.

export const isLater = (value) => typeof value?.then === "function";

/** Passes a value on, at once or when its promise is fulfilled. */
export const after = (value, next) => (isLater(value) ? Promise.resolve(value).then(next) : next(value));
