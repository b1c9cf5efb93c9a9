/** HTTP in one line, where the plugin was granted it. No redirect is followed. */
import type { ToolError } from "./index.js";

export interface RequestOptions {
  method?: string;
  headers?: Record<string, string | Uint8Array | (string | Uint8Array)[]>;
  body?: string | Uint8Array;
  /** A body of JSON, with its media type. */
  json?: unknown;
  /** Milliseconds for the whole exchange; the host's own limit may be less. */
  timeout?: number;
}

/** What came back. Any status is a response. */
export declare class Response {
  constructor(status: number, body?: string | Uint8Array, headers?: [string, string][]);
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers: [string, string][];
  /** Itself if its status is a good one (200 to 299), else an error. */
  ok(): this;
  /** The first header field of that name. */
  header(name: string): string | undefined;
  /** The body as text; what is not UTF-8 is replaced. */
  text(): string;
  json(): any;
}

/** There is no response. The text of `denied` names the grant that would allow it. */
export declare class HttpError extends Error implements ToolError {
  constructor(kind: HttpError["kind"], text: string);
  readonly kind: "denied" | "invalid" | "unreachable" | "timeout" | "too-large" | "protocol";
}

/** Sends a request and waits for the whole response. */
export declare function fetch(url: string, options?: RequestOptions): Response;
export declare function get(url: string, options?: RequestOptions): Response;
export declare function post(url: string, options?: RequestOptions): Response;
