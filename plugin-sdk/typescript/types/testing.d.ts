// Tests a plugin without a host, in plain Node: no component is built. It checks no output schema
// and no grant: those checks are the host's.

import type { Completion, Feature, Meta, Plugin, PromptResult, ReadResult, Resource, ResourceContents, ToolResult } from "./index.js";
import type { Response } from "./http.js";

/** An answer to a question. */
export interface Reply {
  readonly reply: unique symbol;
}

/** The user accepts, with this content. */
export declare function accept(content?: object): Reply;
/** The user declines. */
export declare function decline(): Reply;
/** The model returns this text. */
export declare function model(text: string): Reply;
/** The client works in these folders. */
export declare function roots(...uris: string[]): Reply;
/** The client refuses the question. */
export declare function unavailable(why?: string): Reply;

/** A request. */
export interface Request {
  method: string;
  url: string;
  headers: [string, string][];
  body?: Uint8Array;
  timeout?: number;
}

export interface ClientOptions {
  /** The answers to questions, in the order of asking. */
  answers?: Reply[];
  /** Answers HTTP requests. */
  http?: (request: Request) => Response;
  config?: Record<string, string>;
  environment?: Record<string, string>;
  /** `false` revokes the grant. */
  store?: boolean;
  /** Milliseconds of a call (`call.timeLeft`), after which its promise is rejected; 10,000 by default. */
  timeout?: number;
  features?: Feature[];
  meta?: Meta;
}

/** What a function returns: at once, or as a promise if it is `async`. `await` fits both; without it,
    the result of an `async` function throws an error that says so. */
export type Now<T> = T & PromiseLike<T>;

/** A client of the plugin, with a simulated host between them. */
export declare class Client {
  constructor(plugin: Plugin, options?: ClientOptions);
  /** The log messages: `info: text`. */
  readonly logged: string[];
  /** Other notifications: progress, changed lists, updated resources. */
  readonly messages: string[];
  /** The keys of the questions that were asked. */
  readonly asked: string[];
  /** The stored values, by bucket and key. */
  readonly buckets: Map<string, Map<string, Uint8Array>>;
  /** Cancels: `call.cancelled` is true from now on. */
  cancel(): void;
  /** Calls a tool and answers its questions. Structured content is converted by JSON. Arguments that the host would
      refuse are `InvalidArguments`. */
  call(tool: string, args?: object): Now<ToolResult & { structured: any }>;
  prompt(name: string, args?: Record<string, string>): Now<PromptResult>;
  read(uri: string): Now<ResourceContents[]>;
  readResult(uri: string): Now<ReadResult & { contents: ResourceContents[] }>;
  complete(subject: string, argument: string, typed?: string, given?: Record<string, string>): Now<Completion>;
  method(name: string, params?: object): any;
  /** The list of tools, with their schemas. */
  tools(): { name: string; title?: string; description?: string; inputSchema: any; outputSchema?: any; readOnly?: boolean }[];
  resources(): Now<Resource[]>;
}
