// Tests that the official TypeScript clients, version 1 and 2, find the authorization server of `wharf serve`, sign
// in there, and go on when a token has expired. Run it from the repository's root, after install.sh:
//
//     node target/clients/node/oauth.mjs BINARY
//
// Prints one line per check and a count at the end; the exit code is 0 if all passed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { Home, until } from "./home.mjs";
import { HANDSHAKE, MODERN, ONE, TWO } from "./sdk.mjs";

const REDIRECT = "http://localhost:3030/callback";
/** How long the tokens of the second flow hold, in seconds. */
const SHORT = 3;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/** An authorization server, and the requests that it has had. */
async function authorizationServer(seconds) {
  const process_ = spawn(process.execPath, ["tests/clients/authorization_server.mjs", String(seconds)]);
  const requests = [];
  createInterface(process_.stdout).on("line", (line) => void requests.push(line));
  await until("the authorization server", () => requests.length > 0);
  return { issuer: requests.shift(), requests, stop: () => process_.kill() };
}

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

  async redirectToAuthorization(url) {
    const { headers } = await fetch(url, { redirect: "manual" });
    this.answer = new URL(headers.get("location")).searchParams;
  }
}

async function check(binary, sdk, mode, way, seconds) {
  const home = new Home(binary, way);
  const authorization = await authorizationServer(seconds);
  const port = await freePort();
  // HTTP+SSE has another path: the origin stands for both.
  const resource = `http://127.0.0.1:${port}${way === "sse" ? "" : "/mcp"}`;
  const url = new URL(way === "sse" ? `${resource}/sse` : resource);
  const settings = [`resource = "${resource}"`, 'scopes = ["mcp"]', `issuers = [{ issuer = "${authorization.issuer}" }]`];
  writeFileSync(join(home.root, ".config/wharf/wharf.toml"), `[server.http.oauth]\n${settings.join("\n")}\n`);
  home.put("echo");
  const server = spawn(binary, ["serve", home.plugins, "--http", `127.0.0.1:${port}`, "--sse"], {
    env: home.environment,
    stdio: ["ignore", "ignore", home.stderr],
  });
  const provider = new Provider();
  const transport = () => new (way === "sse" ? sdk.Sse : sdk.Http)(url, { authProvider: provider });
  let client;
  try {
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => ({ ok: false }))).ok;
    await until("the server", ready);
    const first = transport();
    await assert.rejects(sdk.client(mode).connect(first), "without a token");
    // Version 2 compares the issuer in the answer.
    await first.finishAuth(sdk === TWO ? provider.answer : provider.answer.get("code"));
    client = sdk.client(mode);
    await client.connect(transport());
    const call = async () => (await client.callTool({ name: "echo", arguments: { message: "x" } })).content[0].text;
    assert.equal(await call(), "x");
    const granted = (kind) => authorization.requests.filter((request) => request.endsWith(kind)).length;
    assert.equal(granted("authorization_code"), 1, authorization.requests.join("\n"));
    if (seconds === SHORT) {
      const authorized = { authorization: `Bearer ${provider.saved.access_token}` };
      await until("the end of the token", async () => (await fetch(url, { headers: authorized })).status === 401);
      assert.equal(await call(), "x", "with the next token");
      assert.ok(granted("refresh_token") > 0, authorization.requests.join("\n"));
    }
    assert.ok(!home.log().includes(provider.saved.access_token), "a token in the log");
  } finally {
    await client?.close();
    authorization.stop();
    server.kill("SIGKILL");
    await home.remove();
  }
}

const binary = resolve(process.argv[2]);
let [passed, failed] = [0, 0];
for (const [sdk, mode, way] of [
  [ONE, undefined, "http"],
  [ONE, undefined, "sse"],
  [TWO, "legacy", "http"],
  [TWO, { pin: MODERN }, "http"],
]) {
  for (const seconds of way === "sse" ? [300] : [300, SHORT]) {
    const era = mode?.pin ?? HANDSHAKE;
    const name = `${sdk.name}: OAuth over ${way}, ${era}${seconds === SHORT ? ", with an expiring token" : ""}`;
    try {
      await check(binary, sdk, mode, way, seconds);
      console.log(`ok    ${name}`);
      passed += 1;
    } catch (error) {
      console.log(`FAIL  ${name}: ${error.stack}`);
      failed += 1;
    }
  }
}
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
