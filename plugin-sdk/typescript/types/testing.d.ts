// Tries a plugin without a host, in plain Node: no component is built. It checks no schema of
// results and no grant: what the host does is the host's affair.

import type { Completion, Feature, Meta, Plugin, PromptResult, ReadResult, Resource, ResourceContents, ToolResult } from "./index.js";
import type { Response } from "./http.js";

/** An answer to a question. */
export interface Reply {
  readonly reply: unique symbol;
}

/** The user agrees, and fills in the form with this. */
export declare function accept(content?: object): Reply;
/** The user would not. */
export declare function decline(): Reply;
/** The model says this. */
export declare function model(text: string): Reply;
/** The client works in these folders. */
export declare function roots(...uris: string[]): Reply;
/** Nobody can be asked. */
export declare function unavailable(why?: string): Reply;

/** What is sent. */
export interface Request {
  method: string;
  url: string;
  headers: [string, string][];
  body?: Uint8Array;
  timeout?: number;
}

export interface ClientOptions {
  /** Given to the questions of the calls in their order. */
  answers?: Reply[];
  /** Answers HTTP requests. */
  http?: (request: Request) => Response;
  config?: Record<string, string>;
  environment?: Record<string, string>;
  /** `false` takes the grant away. */
  store?: boolean;
  features?: Feature[];
  meta?: Meta;
}

/** A client of the plugin, and a double of the host between them. */
export declare class Client {
  constructor(plugin: Plugin, options?: ClientOptions);
  /** What was logged: `info: text`. */
  readonly logged: string[];
  /** What else the host was told: progress, changed lists, updated resources. */
  readonly told: string[];
  /** The keys of the questions that were asked. */
  readonly asked: string[];
  /** What the plugin keeps, by bucket and key. */
  readonly buckets: Map<string, Map<string, Uint8Array>>;
  /** Gives up: `call.cancelled` is true from now on. */
  cancel(): void;
  /** Calls a tool and answers its questions. Structured content is what JSON makes of it. */
  call(tool: string, args?: object): ToolResult & { structured: any };
  prompt(name: string, args?: Record<string, string>): PromptResult;
  read(uri: string): ResourceContents[];
  readResult(uri: string): ReadResult;
  complete(subject: string, argument: string, typed?: string, given?: Record<string, string>): Completion;
  method(name: string, params?: object): any;
  /** The list of tools, with their schemas. */
  tools(): { name: string; title?: string; description?: string; inputSchema: any; outputSchema?: any; readOnly?: boolean }[];
  resources(): Resource[];
}
