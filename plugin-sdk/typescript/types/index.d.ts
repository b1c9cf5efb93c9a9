import type { Call } from "./call.js";
import type { Infer, InferShape, JsonSchema, Schema } from "./schema.js";

export { s, Schema } from "./schema.js";
export type { Infer, InferShape, JsonSchema } from "./schema.js";
export type { Ask, Call, Feature, Root, Sampled, SampledPiece, Sampling, SamplingMessage, SamplingPiece } from "./call.js";

export type Role = "user" | "assistant";
export type Meta = Record<string, unknown>;

/** Hints for whoever shows it: whom it is for, how much it matters (0 to 1), when it was last
    changed (ISO 8601). */
export interface Hints {
  audience?: Role | Role[];
  priority?: number;
  lastModified?: string;
  meta?: Meta;
}

/** A picture for a list entry; `src` is an `https:` or `data:` URI. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** What is in a resource, text or bytes. */
export type ResourceContents = { uri: string; mimeType?: string; meta?: Meta } & (
  | { text: string; bytes?: undefined }
  | { bytes: Uint8Array; text?: undefined }
);

/** What there is to know of a resource without reading it. */
export interface Resource extends Hints {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  icons?: Icon[];
}

/** A piece of a result or of a prompt; a plain string is one too. */
export declare class Content {
  private constructor();
  readonly kind: "text" | "image" | "audio" | "embedded" | "link";
}
export declare function text(text: string, hints?: Hints): Content;
export declare function image(data: Uint8Array, mimeType: string, hints?: Hints): Content;
export declare function audio(data: Uint8Array, mimeType: string, hints?: Hints): Content;
/** A resource's contents inside a result. */
export declare function embedded(contents: ResourceContents, hints?: Hints): Content;
/** A link to a resource. */
export declare function link(resource: Resource): Content;

type Pieces = string | Content | readonly (string | Content)[];

/** A tool's result put together by hand: content, structured content, or both. */
export declare class ToolResult {
  readonly content: readonly (string | Content)[];
  readonly structured: unknown;
  readonly failed: boolean;
  readonly meta?: Meta;
  /** All its texts, one after the other. */
  readonly text: string;
}
/** `failed` says that the tool failed, and the content tells the model how. */
export declare function result(parts: { content?: Pieces; structured?: unknown; failed?: boolean; meta?: Meta }): ToolResult;

/** It did not work out. The model reads the text: say what it could do about it. */
export declare class ToolError extends Error {}
/** The caller gave something wrong; `path` is a JSON Pointer into the arguments. */
export declare class InvalidArguments extends Error {
  constructor(path: string, reason: string);
  readonly path: string;
  readonly reason: string;
}
/** There is no tool, resource or prompt of that name. */
export declare class NotFound extends Error {}
/** A question cannot be put: the client cannot or will not be asked it. Catch it to do
    without; one that is not caught insists, and the host tells the client what it lacks. */
export declare class Unavailable extends Error {}

interface About {
  title?: string;
  description?: string;
  icons?: Icon[];
  meta?: Meta;
}

export interface ToolOptions<I, O> extends About {
  /** The arguments: `s.object({ … })`, or a JSON Schema. */
  input?: I;
  /** What the tool gives as structured content. */
  output?: O;
  /** It changes nothing. */
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
}

type Given<I> = I extends Schema<infer T, any> ? T : I extends JsonSchema ? any : {};
type Gives<O> = unknown extends O ? unknown : O extends Schema<infer T, any> ? T | ToolResult : unknown;

export type PromptMessage = string | Content | { role?: Role; content: string | Content };
export interface PromptResult {
  messages: PromptMessage[];
  description?: string;
  meta?: Meta;
}

/** What was read; `cacheFor` is in milliseconds, a day at most. */
export interface ReadResult {
  contents: (string | Uint8Array | ResourceContents)[];
  cacheFor?: number;
  scope?: "public" | "private";
  meta?: Meta;
}

export interface Completion {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

type Shape = { readonly [name: string]: Schema<any, boolean> };
type Variables<U extends string> = U extends `${string}{${infer V}}${infer Rest}`
  ? { [K in V extends `+${infer N}` ? N : V]: string } & Variables<Rest>
  : {};

/** A plugin. Every call gets a fresh instance of the whole component: what a call changes in
    memory is gone after it. What a module does at its top is done once, when it is built. */
export declare class Plugin {
  /** A function that a model can call. */
  tool<I extends Schema<any, any> | JsonSchema | undefined = undefined, O extends Schema<any, any> | JsonSchema | undefined = undefined>(
    name: string,
    options: ToolOptions<I, O>,
    run: (args: Given<I>, call: Call) => Gives<O>,
  ): this;
  /** Messages made to order, that a user picks. */
  prompt<A extends Shape = {}>(
    name: string,
    options: About & { arguments?: A },
    run: (args: InferShape<A>, call: Call) => PromptMessage | PromptMessage[] | PromptResult,
  ): this;
  /** What is in a resource, or in all those of a template such as `notes://{id}`. */
  resource<U extends string, V extends Shape = {}>(
    uri: U,
    options: Omit<Partial<Resource>, "uri"> & { variables?: V },
    run: (
      variables: Omit<Variables<U>, keyof V> & InferShape<V>,
      call: Call,
      uri: string,
    ) => string | Uint8Array | ResourceContents | ResourceContents[] | ReadResult,
  ): this;
  /** Further resources to be listed. The host asks when it loads the plugin, and after
      `listChanged("resources")`. */
  resources(list: () => Resource[]): this;
  /** Suggestions for an argument of a prompt (by its name) or a variable of a template. */
  completion(
    subject: string,
    argument: string,
    suggest: (typed: string, given: Record<string, string>, call: Call) => string[] | Completion,
  ): this;
  /** A method of the plugin's own, which clients call as `<plugin>/<name>`. */
  method(name: string, run: (params: any, call: Call) => object): this;
  /** Declares an extension of the protocol, `vendor.example/name`. */
  extension(name: string, settings?: object): this;
  /** Declares something that is tried out. */
  experimental(name: string, settings?: object): this;
}

/** A new plugin, to be exported as the default. */
export declare function plugin(): Plugin;

/** One of this plugin's lists would now be answered differently. */
export declare function listChanged(listing: "tools" | "prompts" | "resources"): void;
/** A resource of this plugin has new contents. */
export declare function resourceUpdated(uri: string): void;

export * as log from "./log.js";
export * as http from "./http.js";

/** What whoever runs the server set for this plugin: `config` and `env` of its grants. */
export declare namespace settings {
  function get(key: string): string | undefined;
  function all(): Record<string, string>;
  /** The variables of `env`. */
  function environment(): Record<string, string>;
}

/** A bucket of the plugin's own: keys, and a value for each. Calls run side by side: one `set`
    or `increment` is done whole or not at all, so give each thing a key of its own. */
export declare class Store {
  constructor(name?: string);
  /** What is kept under a key, read as JSON. */
  get<T = any>(key: string): T | undefined;
  set(key: string, value: unknown): void;
  getBytes(key: string): Uint8Array | undefined;
  setBytes(key: string, bytes: Uint8Array): void;
  has(key: string): boolean;
  delete(key: string): void;
  /** All keys of the bucket, in no order that could be relied on. */
  keys(): string[];
  /** Adds to a number and gives the sum; two calls never get the same. */
  increment(key: string, delta?: number): number;
}
/** The store cannot do that: it was not granted, is full, or failed. */
export declare class StoreError extends ToolError {}

/** UTF-8. */
export declare function encode(text: string): Uint8Array;
export declare function decode(bytes: Uint8Array): string;
