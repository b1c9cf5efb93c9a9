export { open } from "wasi:keyvalue/store@0.2.0-draft";
export { increment } from "wasi:keyvalue/atomics@0.2.0-draft";

/** What the buckets are of: one host for a component. */
export const host = () => "";
