// Globals of a component besides ECMAScript: `"types": ["wharf-plugin/globals"]`.

declare const console: Record<"debug" | "trace" | "log" | "info" | "warn" | "error", (...values: unknown[]) => void> & {
  assert(condition: unknown, ...values: unknown[]): void;
};

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
}

declare class TextDecoder {
  constructor(label?: string);
  readonly encoding: string;
  decode(bytes?: ArrayBufferView | ArrayBuffer): string;
}

declare const crypto: {
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): string;
};

declare function atob(text: string): string;
declare function btoa(text: string): string;
declare const performance: { now(): number };
declare function queueMicrotask(task: () => void): void;
