// What tests use of Node: `"types": ["wharf-plugin/globals", "wharf-plugin/node-tests"]`. Not @types/node: its globals
// differ from those of a component, so that it reports errors in the plugin that are none.

declare module "node:assert/strict" {
  type Class = abstract new (...args: any[]) => unknown;
  type Expected = RegExp | Class | ((error: any) => boolean) | object;
  type Later = PromiseLike<unknown> | (() => PromiseLike<unknown>);

  function assert(value: unknown, message?: string | Error): asserts value;
  namespace assert {
    const strict: typeof assert;
    function ok(value: unknown, message?: string | Error): asserts value;
    function equal<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    function notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    function strictEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    function notStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    function deepEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    function notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    function deepStrictEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    function notDeepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    function match(text: string, pattern: RegExp, message?: string | Error): void;
    function doesNotMatch(text: string, pattern: RegExp, message?: string | Error): void;
    function throws(work: () => unknown, expected?: Expected | string, message?: string | Error): void;
    function doesNotThrow(work: () => unknown, message?: string | Error): void;
    function rejects(work: Later, expected?: Expected | string, message?: string | Error): Promise<void>;
    function doesNotReject(work: Later, message?: string | Error): Promise<void>;
    function ifError(value: unknown): asserts value is null | undefined;
    function fail(message?: string | Error): never;
  }
  export = assert;
}

declare module "node:assert" {
  import assert = require("node:assert/strict");
  export = assert;
}

declare module "node:test" {
  type Work = (context: any) => unknown;
  interface Options {
    concurrency?: boolean | number;
    only?: boolean;
    skip?: boolean | string;
    timeout?: number;
    todo?: boolean | string;
  }
  interface Declare {
    (name: string, work?: Work): Promise<void>;
    (name: string, options: Options, work?: Work): Promise<void>;
  }
  interface Test extends Declare {
    readonly only: Declare;
    readonly skip: Declare;
    readonly todo: Declare;
  }
  export const test: Test;
  export const it: Test;
  export const suite: Test;
  export const describe: Test;
  export function before(work: Work): void;
  export function after(work: Work): void;
  export function beforeEach(work: Work): void;
  export function afterEach(work: Work): void;
  export const mock: any;
  export default test;
}
