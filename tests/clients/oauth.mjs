// Tests that official clients find the authorization server of `wharf serve`, sign in there, and go on when a token
// has expired. Run it from the repository's root, after install.sh:
//
//     node target/clients/node/oauth.mjs BINARY NAME=COMMAND…
//
// The TypeScript clients are in this process. Each COMMAND runs another client, as `COMMAND URL WAY FLOW ERA ISSUER`,
// which prints `open URL` to have its user open an address, and reads to where that has led; and prints `called TEXT` after
// each call of `echo` with "x", and reads `again` or `end`.
//
// Prints one line per check and a count at the end; the exit code is 0 if all passed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

import * as two from "@modelcontextprotocol/client";
import * as one from "@modelcontextprotocol/sdk/client/auth-extensions.js";

import { MACHINE, SCOPE, secretOf } from "./authorization_server.mjs";
import { signIn } from "./browser.mjs";
import { TIMEOUT, until } from "./home.mjs";
import { protectedServer, Report } from "./protected.mjs";
import { HANDSHAKE, MODERN, ONE, TWO } from "./sdk.mjs";

const REDIRECT = "http://localhost:3030/callback";
/** How long the tokens of the second flow hold, in seconds. */
const SHORT = 3;
/** Each with its credentials in the authorization server; the last one has no user. */
const FLOWS = {
  user: "a user signs in",
  expiring: "a user's token expires",
  machine: "a machine has credentials",
};

/** What a client keeps, and the browser of its user. */
class Provider {
  redirectUrl = REDIRECT;
  clientMetadata = {
    client_name: "tests",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.saved;
  saveTokens = (tokens) => void (this.saved = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  discoveryState = () => this.discovered;
  saveDiscoveryState = (state) => void (this.discovered = state);
  redirectToAuthorization = async (url) => void (this.answer = new URL(await signIn(url)).searchParams);
}

/** A TypeScript client signs in and calls until `called` says `end`. */
async function typescript(sdk, { url, way, flow, era, issuer, called }) {
  const { ClientCredentialsProvider } = sdk === TWO ? two : one;
  const machine = { clientId: MACHINE, clientSecret: secretOf(MACHINE), scope: SCOPE, expectedIssuer: issuer };
  const provider = flow === "machine" ? new ClientCredentialsProvider(machine) : new Provider();
  const transport = () => new (way === "sse" ? sdk.Sse : sdk.Http)(new URL(url), { authProvider: provider });
  const mode = era === MODERN ? { pin: MODERN } : "legacy";
  if (flow !== "machine") {
    const first = transport();
    await assert.rejects(sdk.client(mode).connect(first), "without a token");
    // Version 2 compares the issuer in the answer.
    await first.finishAuth(sdk === TWO ? provider.answer : provider.answer.get("code"));
  }
  const client = sdk.client(mode);
  await client.connect(transport());
  try {
    let next;
    do {
      const { content } = await client.callTool({ name: "echo", arguments: { message: "x" } });
      next = await called(content[0].text);
    } while (next === "again");
  } finally {
    await client.close();
  }
}

/** A client that is a program of its own. */
async function program(command, { url, way, flow, era, issuer, called }) {
  const [name, ...rest] = command.split(" ");
  const signal = AbortSignal.timeout(2 * TIMEOUT);
  const child = spawn(name, [...rest, url, way, flow, era, issuer], { stdio: ["pipe", "pipe", "pipe"], signal });
  const exit = once(child, "exit");
  exit.catch(() => {});
  let errors = "";
  child.stderr.on("data", (text) => (errors += text));
  for await (const line of createInterface(child.stdout)) {
    const [what, text] = line.split(" ");
    const answer = what === "open" ? await signIn(text) : await called(text);
    child.stdin.write(`${answer}\n`);
  }
  const [code] = await exit;
  assert.equal(code, 0, errors);
}

async function check(binary, client, way, flow, era) {
  const seconds = flow === "expiring" ? SHORT : 300;
  await protectedServer(binary, way, seconds, async ({ authorization, resource, url, status }) => {
    let calls = 0;
    const called = async (text) => {
      assert.equal(text, "x");
      calls += 1;
      if (flow !== "expiring" || calls > 1) return "end";
      const [token] = authorization.tokens;
      await until("the end of the token", async () => (await status(token)) === 401);
      return "again";
    };
    await client({ url, way, flow, era, issuer: authorization.issuer, called });
    assert.equal(calls, flow === "expiring" ? 2 : 1);
    if (flow === "machine") {
      assert.deepEqual(new Set(authorization.grants), new Set(["client_credentials"]));
      return;
    }
    const { registered, asked, grants } = authorization;
    assert.deepEqual([registered, grants[0]], [1, "authorization_code"]);
    for (const parameters of asked) {
      // The document says what the resource is, which the client names; of an origin one of them as `http://host/`.
      assert.equal(new URL(parameters.resource).href, new URL(resource).href);
      assert.equal(parameters.code_challenge_method, "S256");
      assert.ok(parameters.scope.split(" ").includes(SCOPE), parameters.scope);
    }
    // The Python clients have their user sign in again, unless they know by themselves that a token has expired.
    const renewed = asked.length === 2 || (asked.length === 1 && grants.includes("refresh_token"));
    assert.equal(renewed, flow === "expiring", grants.join());
  });
}

const [, , path, ...commands] = process.argv;
const binary = resolve(path);
const clients = [
  ["typescript-1", (steps) => typescript(ONE, steps)],
  ["typescript-2", (steps) => typescript(TWO, steps)],
  ...commands.map((text) => {
    const [, name, command] = text.match(/^([^=]+)=(.+)$/);
    return [name, (steps) => program(command, steps)];
  }),
];
/** Other than by HTTP in the last revision with a handshake. */
const WAYS = { "typescript-1": ["sse"], "typescript-2": [MODERN], "python-1": ["sse"], "python-2": ["sse", MODERN], rust: [MODERN] };

const report = new Report();
for (const [name, client] of clients) {
  for (const [flow, what] of Object.entries(FLOWS)) {
    for (const other of [HANDSHAKE, ...WAYS[name]]) {
      const [way, era] = other === "sse" ? ["sse", HANDSHAKE] : ["http", other];
      // A stream of HTTP+SSE outlasts its token.
      if (way === "sse" && flow === "expiring") continue;
      await report.check(`${name}: ${what}, ${other === "sse" ? "HTTP+SSE" : era}`, () => check(binary, client, way, flow, era));
    }
  }
}
report.end();
