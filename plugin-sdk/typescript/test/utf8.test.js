// UTF-8 as Node does it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode } from "wharf-plugin";

test("text round-trips through bytes", () => {
  const text = "aé€😀\u0000\uffff".repeat(3000);
  assert.deepEqual(encode(text), new TextEncoder().encode(text));
  assert.equal(decode(encode(text)), text);
  assert.deepEqual(encode("a\ud800b"), new TextEncoder().encode("a\ufffdb"));
});

test("invalid bytes are replaced as by TextDecoder", () => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // Every pair of bytes that could matter, alone and before a character.
  for (let first = 0x70; first < 0x100; first += 1) {
    for (let second = 0x70; second < 0x100; second += 1) {
      for (const rest of [[], [0x80], [0x80, 0x80], [0xbf, 0x41]]) {
        const bytes = new Uint8Array([first, second, ...rest]);
        assert.equal(decode(bytes), decoder.decode(bytes), String(bytes));
      }
    }
  }
});
