import type { Content, Meta, Role } from "./index.js";
import type * as log from "./log.js";
import type { Infer, JsonSchema, Schema } from "./schema.js";

/** The running call. */
export interface Call {
  /** The host's id of this call, as in its log. */
  readonly id: string;
  /** Milliseconds that were left when the call began, until the host stops it. */
  readonly timeLeft: number;
  /** The request's `_meta`, without the keys that MCP reserves. */
  readonly meta: Meta;
  /** Whether the caller has cancelled. Results are discarded after that. */
  readonly cancelled: boolean;
  /** Messages to the host's log and to the client. */
  readonly log: typeof log;
  /** Questions to the user, the client's model and the client. */
  readonly ask: Ask;
  /** Reports progress; `done` must increase. */
  progress(done: number, total?: number, message?: string): void;
}

export type Feature = "form" | "url" | "sample" | "sample-tools" | "sample-context" | "roots";

/** Asks the caller. A question ends the call; when the answer is there the tool is
    run again from its start. So ask before you act, and put what must not be done twice into
    `once`. */
export interface Ask {
  /** Whether the client supports this. */
  can(feature: Feature): boolean;
  /** Asks the user for a yes or no. */
  confirm(message: string): boolean;
  /** Asks the user to fill in a flat form; `null` if the user declines. Do not ask for secrets. */
  form<S extends Schema<any, any> | JsonSchema>(message: string, schema: S): (S extends Schema<any, any> ? Infer<S> : any) | null;
  /** Asks the user to visit an `https:` page. `true` does not mean that the visit is finished. */
  visit(message: string, url: string): boolean;
  /** Asks the client's model. */
  sample(question: string | Sampling): Sampled;
  /** The folders that the client works in. */
  roots(): Root[];
  /** Computes a value once and keeps it over the rounds of a call. It must be one
      that JSON can say. */
  once<T>(make: () => T): T;
  /** Asks several questions in one round: `together(() => ask.confirm("A?"), () => ask.confirm("B?"))`. */
  together<T extends readonly unknown[]>(...questions: { [K in keyof T]: () => T[K] }): T;
  /** Sets the key of the next question; the default is `q1`, `q2` and so on. */
  key(key: string): Ask;
}

export interface Root {
  uri: string;
  name?: string;
}

export type SamplingPiece =
  | string
  | Content
  | SampledPiece
  | { kind: "tool-result"; id: string; content: string | Content | (string | Content)[]; failed?: boolean };

export type SamplingMessage = string | Content | { role?: Role; content: SamplingPiece | SamplingPiece[] };

/** A request to the model, where a text is not enough. */
export interface Sampling {
  messages: SamplingMessage[];
  /** Default 1000. */
  maxTokens?: number;
  system?: string;
  temperature?: number;
  stopAt?: string[];
  /** Names or parts of names of models, best first. */
  models?: string[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
  context?: "none" | "this-server" | "all-servers";
  tools?: { name: string; description?: string; schema?: Schema<any, any> | JsonSchema }[];
  toolChoice?: "auto" | "required" | "none";
  metadata?: Meta;
}

export type SampledPiece =
  | { kind: "text"; text: string }
  | { kind: "image" | "audio"; data: Uint8Array; mimeType: string }
  | { kind: "tool-use"; id: string; name: string; input: any };

/** The model's answer. */
export interface Sampled {
  model: string;
  content: SampledPiece[];
  /** All its texts, concatenated. */
  text: string;
  stopReason?: string;
}
