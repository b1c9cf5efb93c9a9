// `wharf serve` with an authorization server of its own, and the plugin `echo`.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { AuthorizationServer, RESOURCE_SERVER, SCOPE, secretOf } from "./authorization_server.mjs";
import { Home, until } from "./home.mjs";
import { MODERN } from "./sdk.mjs";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/** Runs `use` with the authorization server, the resource, the address of the server, and what asks it with a token. */
export async function protectedServer(binary, way, seconds, use) {
  const home = new Home(binary, way);
  const authorization = await AuthorizationServer.start(seconds);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  // HTTP+SSE has another path: the origin stands for both.
  const resource = way === "sse" ? origin : `${origin}/mcp`;
  const url = way === "sse" ? `${origin}/sse` : resource;
  writeFileSync(join(home.root, "secret"), secretOf(RESOURCE_SERVER));
  writeFileSync(
    join(home.root, ".config/wharf/wharf.toml"),
    `[server.http.oauth]
resource = "${resource}"
scopes = ["${SCOPE}"]

[[server.http.oauth.issuers]]
issuer = "${authorization.issuer}"
introspection = { client-id = "${RESOURCE_SERVER}", client-secret = { file = "${join(home.root, "secret")}" } }
`,
  );
  home.put("echo");
  const server = spawn(binary, ["serve", home.plugins, "--http", `127.0.0.1:${port}`, "--sse", "--log", "debug"], {
    env: home.environment,
    stdio: ["ignore", "ignore", home.stderr],
  });
  /** The status of a request with that token. */
  const status = async (token) => {
    const _meta = { "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {} };
    const headers = {
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "mcp-protocol-version": MODERN,
      "mcp-method": "server/discover",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta } });
    return (await fetch(`${origin}/mcp`, { method: "POST", headers, body })).status;
  };
  try {
    await until("the server", async () => {
      if (server.exitCode !== null) throw new Error("the server has ended");
      return (await fetch(`${origin}/readyz`).catch(() => ({ ok: false }))).ok;
    });
    await use({ authorization, resource, url, status });
    const logged = authorization.tokens.filter((token) => home.log().includes(token));
    if (logged.length > 0) throw new Error("a token is in the log");
  } catch (error) {
    error.message += `\n${home.log()}`;
    throw error;
  } finally {
    authorization.stop();
    server.kill("SIGKILL");
    await home.remove();
  }
}

/** Counts checks and prints a line for each. */
export class Report {
  #passed = 0;
  #failed = 0;

  async check(name, run) {
    try {
      await run();
      console.log(`ok    ${name}`);
      this.#passed += 1;
    } catch (error) {
      console.log(`FAIL  ${name}: ${error.stack}`);
      this.#failed += 1;
    }
  }

  /** Prints the count, and ends the process. */
  end() {
    console.log(`tests: ${this.#passed} passed, ${this.#failed} failed`);
    process.exit(this.#failed ? 1 : 0);
  }
}
