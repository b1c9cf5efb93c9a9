// Type tests of what tests use of Node: compiled, never run.

/// <reference path="../types/node-tests.d.ts" />
import assert, { equal } from "node:assert/strict";
import { strict } from "node:assert";
import test, { describe, it, mock } from "node:test";

import { InvalidArguments, plugin } from "wharf-plugin";
import { Client } from "wharf-plugin/testing";

const client = new Client(plugin());

describe("calls", () => {
  it("has a result", async (context) => {
    const found: string | undefined = client.logged[0];
    assert.ok(found);
    equal(found.length, 1);
    strict.equal((await client.call("one")).text, "one");
    assert.throws(() => client.call("one"), InvalidArguments);
    assert.throws(() => client.call("one"), { name: "InvalidArguments" });
    await assert.rejects(async () => client.call("one"), /full/);
    context.mock.fn();
  });
});

test.skip("typed", { timeout: 5 }, () => {
  // @ts-expect-error: not a number
  const count: number = client.logged;
  // @ts-expect-error: no such function
  assert.equl(count, 1);
  mock.fn();
});
