import type { Call } from "./call.js";
import type { Infer, InferShape, JsonSchema, Schema } from "./schema.js";

export { s, Schema } from "./schema.js";
export type { Infer, InferShape, JsonSchema } from "./schema.js";
export type { Ask, Call, Feature, Root, Sampled, SampledPiece, Sampling, SamplingMessage, SamplingPiece } from "./call.js";

export type Role = "user" | "assistant";
export type Meta = Record<string, unknown>;

/** Hints for clients: the audience, the importance (0 to 1), the time of the last
    changed (ISO 8601). */
export interface Hints {
  audience?: Role | Role[];
  priority?: number;
  lastModified?: string;
  meta?: Meta;
}

/** An icon for a list entry; `src` is an `https:` or `data:` URI. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** The contents of a resource, text or bytes. */
export type ResourceContents = { uri: string; mimeType?: string; meta?: Meta } & (
  | { text: string; bytes?: undefined }
  | { bytes: Uint8Array; text?: undefined }
);

/** The description of a resource. */
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

/** An explicit result of a tool: content, structured content, or both. */
export declare class ToolResult {
  readonly content: readonly (string | Content)[];
  readonly structured: unknown;
  readonly failed: boolean;
  readonly meta?: Meta;
  /** All its texts, concatenated. */
  readonly text: string;
}
/** `failed` marks an error, which the content describes to the model. */
export declare function result(parts: { content?: Pieces; structured?: unknown; failed?: boolean; meta?: Meta }): ToolResult;

/** The call failed. The model reads the text: say what it could do about it. */
export declare class ToolError extends Error {}
/** The caller's arguments are invalid; `path` is a JSON Pointer into the arguments. */
export declare class InvalidArguments extends Error {
  constructor(path: string, reason: string);
  readonly path: string;
  readonly reason: string;
}
/** There is no tool, resource or prompt of that name. */
export declare class NotFound extends Error {}
/** A question was refused: the client does not support it or refused it. Catch it to do
    without; one that is not caught insists, and the host reports to the client what it lacks. */
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
  /** The schema of the tool's structured content. */
  output?: O;
  /** The tool changes nothing. */
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
  /** Whether a call may run as a task. What takes long should be `"optional"`: clients with tasks
      need not wait for it then. The default is `"forbidden"`. */
  tasks?: "forbidden" | "optional" | "required";
  /** The page in which chat clients show its results. Several tools may have the same. */
  page?: Page;
  /** Only for pages: chat clients do not show it to the model. */
  appOnly?: boolean;
}

/** A page that chat clients show. `uri` begins with `ui://` and the plugin's name; `html` is a whole HTML5 document with
    everything inline. A client reads it once, and gives it the result of each call: `wharf.on("tool-result", show)` in its
    own script, which comes after one that the page gets here. A page with `ownScript` gets none. */
export interface Page {
  uri: string;
  html: string;
  title?: string;
  /** Whether the client should draw a border around it; by default it should. */
  border?: boolean;
  /** The origins of requests. The operator may refuse them, as what follows. */
  connectsTo?: string[];
  /** The origins of images, fonts, styles and scripts. */
  loadsFrom?: string[];
  permissions?: ("camera" | "microphone" | "geolocation" | "clipboardWrite")[];
  ownScript?: boolean;
}

/** What a function returns, or a promise of it. */
export type Later<T> = T | PromiseLike<T>;

type Given<I> = I extends Schema<infer T, any> ? T : I extends JsonSchema ? any : {};
type Gives<O> = unknown extends O ? unknown : O extends Schema<infer T, any> ? T | ToolResult : unknown;

export type PromptMessage = string | Content | { role?: Role; content: string | Content };
export interface PromptResult {
  messages: PromptMessage[];
  description?: string;
  meta?: Meta;
}

/** The contents of a resource; `cacheFor` is in milliseconds, a day at most. */
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

/** A plugin. Its functions may be `async`: a call runs until the promise is settled. Every call gets a fresh instance of the whole component: what a call changes in
    memory is gone after it. What a module does at its top is done once, when it is built. */
export declare class Plugin {
  /** A function that a model can call. */
  tool<I extends Schema<any, any> | JsonSchema | undefined = undefined, O extends Schema<any, any> | JsonSchema | undefined = undefined>(
    name: string,
    options: ToolOptions<I, O>,
    run: (args: Given<I>, call: Call) => Later<Gives<O>>,
  ): this;
  /** A message template that a user can select. */
  prompt<A extends Shape = {}>(
    name: string,
    options: About & { arguments?: A },
    run: (args: InferShape<A>, call: Call) => Later<PromptMessage | PromptMessage[] | PromptResult>,
  ): this;
  /** A resource, or those of a template such as `notes://{id}`. */
  resource<U extends string, V extends Shape = {}>(
    uri: U,
    options: Omit<Partial<Resource>, "uri"> & { variables?: V },
    run: (
      variables: Omit<Variables<U>, keyof V> & InferShape<V>,
      call: Call,
      uri: string,
    ) => Later<string | Uint8Array | ResourceContents | ResourceContents[] | ReadResult>,
  ): this;
  /** Lists further resources. The host calls it when it loads the plugin, and after
      `listChanged("resources")`. */
  resources(list: () => Later<Resource[]>): this;
  /** Suggestions for an argument of a prompt (by its name) or a variable of a template. */
  completion(
    subject: string,
    argument: string,
    suggest: (typed: string, given: Record<string, string>, call: Call) => Later<string[] | Completion>,
  ): this;
  /** An extension method, which clients call as `<plugin>/<name>`. */
  method(name: string, run: (params: any, call: Call) => Later<object>): this;
  /** Declares an extension of the protocol, `vendor.example/name`. */
  extension(name: string, settings?: object): this;
  /** Declares an experimental capability. */
  experimental(name: string, settings?: object): this;
}

/** Creates a plugin, to be the default export. */
export declare function plugin(): Plugin;

/** Notifies the host that one of this plugin's lists has changed. */
export declare function listChanged(listing: "tools" | "prompts" | "resources"): void;
/** Notifies the host that a resource of this plugin has new contents. */
export declare function resourceUpdated(uri: string): void;

export { HttpError } from "./http.js";
export * as log from "./log.js";
export * as http from "./http.js";

/** The settings of the plugin's grants: `config` and `env`. */
export declare namespace settings {
  function get(key: string): string | undefined;
  function all(): Record<string, string>;
  /** The variables of `env`. */
  function environment(): Record<string, string>;
}

/** A bucket of the plugin: keys, and a value for each. Calls run concurrently: one `set`
    or `increment` is done whole or not at all, so give each thing a key of its own. */
export declare class Store {
  /** Names a bucket, which is opened when it is first used in a call; each name has separate keys. */
  constructor(name?: string);
  /** The value of a key, parsed as JSON. */
  get<T = any>(key: string): T | undefined;
  set(key: string, value: unknown): void;
  getBytes(key: string): Uint8Array | undefined;
  setBytes(key: string, bytes: Uint8Array): void;
  has(key: string): boolean;
  delete(key: string): void;
  /** All keys of the bucket, in unspecified order. */
  keys(): string[];
  /** Adds to a number atomically and returns the sum; two calls never get the same. */
  increment(key: string, delta?: number): number;
}
/** The store was not granted, is full, or failed. */
export declare class StoreError extends ToolError {}

/** UTF-8. */
export declare function encode(text: string): Uint8Array;
export declare function decode(bytes: Uint8Array): string;
