/** HTTP requests, if the plugin was granted them. Redirects are not followed. */
import type { ToolError } from "./index.js";

export interface RequestOptions {
  method?: string;
  headers?: Record<string, string | Uint8Array | (string | Uint8Array)[]>;
  body?: string | Uint8Array;
  /** A JSON body, with its media type. */
  json?: unknown;
  /** Milliseconds for the whole exchange; the host's own limit may be lower. */
  timeout?: number;
}

/** A response, whatever its status. */
export declare class Response {
  constructor(status: number, body?: string | Uint8Array, headers?: [string, string][]);
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers: [string, string][];
  /** Itself if its status is 200 to 299, else an error. */
  ok(): this;
  /** The first header field of that name. */
  header(name: string): string | undefined;
  /** The body as text; invalid UTF-8 is replaced. */
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
