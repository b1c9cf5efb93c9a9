// Tests `wharf serve` with the official TypeScript clients, version 1 and 2, with the official library
// for tasks, and with the command line of the official inspector. Run it from the repository's root,
// after install.sh:
//
//     node target/clients/node/check.mjs BINARY
//
// Each check runs over stdio, over HTTP, and where the era has it over HTTP+SSE. It checks the
// results of the client, not the bytes. Prints one line per check and a count at the end; the
// exit code is 0 if all passed.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { Home, TIMEOUT, until } from "./home.mjs";
import { NAME as INSPECTOR, inspected } from "./inspector.mjs";
import { primitives } from "./primitives.mjs";
import { HANDSHAKE, MODERN, ONE, TWO } from "./sdk.mjs";
import { tasks } from "./tasks.mjs";

/** Bypasses the client's cache of the list. */
const FRESH = { cacheMode: "refresh" };

const toolNames = async (client) => (await client.listTools(undefined, FRESH)).tools.map(({ name }) => name);

/** A list, calls, and their failures. */
async function tools(home, client) {
  const names = await toolNames(client);
  for (const name of ["echo", "echo_add", "versioned_version"]) assert.ok(names.includes(name), names.join());
  assert.equal(new Set(names).size, names.length, names.join());
  const echoed = await client.callTool({ name: "echo", arguments: { message: "héllo\n" } });
  assert.deepEqual([echoed.content[0].text, echoed.isError ?? false], ["héllo\n", false]);
  const sum = await client.callTool({ name: "echo_add", arguments: { a: 2, b: 3 } });
  assert.deepEqual(sum.structuredContent, { sum: 5 });
  const wrong = await client.callTool({ name: "echo_add", arguments: { a: "two", b: 3 } });
  assert.ok(wrong.isError && wrong.content[0].text.includes("/a"), JSON.stringify(wrong));
  await assert.rejects(client.callTool({ name: "ech", arguments: {} }), (error) => error.code === -32602);
}

/** Replaces a plugin while the client is connected, and adds another. */
async function changes(home, client, revision) {
  const version = async () => (await client.callTool({ name: "versioned_version", arguments: {} })).content[0].text;
  // Plugins found by the first scan are not notified as changes, so the scan must be over.
  await toolNames(client);
  assert.equal(await version(), "1");
  home.put("echo-v2", "versioned");
  await until("the new version", async () => (await version()) === "2");

  let notified = false;
  client.onNotification("notifications/tools/list_changed", () => void (notified = true));
  const subscription = revision === MODERN ? await client.listen({ toolsListChanged: true }) : undefined;
  home.put("echo-v1", "late");
  // Lists only after a notification. The first one may be for the replacement.
  await until("the notification of the new tool", async () => {
    if (!notified) return false;
    notified = false;
    return (await toolNames(client)).includes("late_version");
  });
  await subscription?.close();
}

/** Transports with a handshake; HTTP+SSE has no other era. */
const HANDSHAKES = ["stdio", "http", "sse"];
/** SDK, negotiation mode, expected revision, and transports. */
const ERAS = [
  { sdk: ONE, revision: HANDSHAKE, ways: HANDSHAKES },
  { sdk: TWO, mode: "legacy", revision: HANDSHAKE, ways: HANDSHAKES },
  { sdk: TWO, mode: "auto", revision: MODERN, ways: ["stdio", "http"] },
  { sdk: TWO, mode: { pin: MODERN }, revision: MODERN, ways: ["stdio", "http"] },
];

/** A check with a connected client. */
function driven(check, { sdk, mode, revision }) {
  return async (home) => {
    home.put("echo");
    home.put("echo-v1", "versioned");
    home.put("everything");
    const client = sdk.client(mode);
    await home.connect(sdk, client, async () => {
      // Version 1 has no such method, and supports one revision only.
      if (sdk === TWO) assert.equal(client.getNegotiatedProtocolVersion(), revision);
      await check(home, client, revision);
    });
  };
}

function* checks() {
  for (const era of ERAS) {
    for (const way of era.ways) {
      for (const check of [tools, changes, primitives, ...(era.sdk === TWO ? [tasks] : [])]) {
        const mode = era.mode ? `${era.mode.pin ?? era.mode}: ` : "";
        yield { name: `${era.sdk.name}: ${mode}${way}: ${check.name}`, way, run: driven(check, era) };
      }
    }
  }
  for (const { era, ways } of [{ era: "legacy", ways: HANDSHAKES }, { era: "modern", ways: ["stdio", "http"] }]) {
    for (const way of ways) yield { name: `${INSPECTOR}: ${era}: ${way}`, way, run: (home) => inspected(home, era) };
  }
}

async function main(binary) {
  let passed = 0;
  let failed = 0;
  for (const { name, way, run } of checks()) {
    const home = new Home(binary, way);
    try {
      const late = pause(2 * TIMEOUT, undefined, { ref: false }).then(() => assert.fail("timed out"));
      await Promise.race([run(home), late]);
      console.log(`${name}: ok`);
      passed++;
    } catch (error) {
      console.log(`${name}: FAILED:`, error);
      console.log(`the server's log:\n${home.log()}`);
      failed++;
    }
    await home.remove();
  }
  console.log(`tests: ${passed} passed, ${failed} failed`);
  // Also ends anything that a client has left running.
  process.exit(failed ? 1 : 0);
}

await main(resolve(process.argv[2]));
