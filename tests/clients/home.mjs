// A temporary plugin folder for each check, a server for it, and connections to that. It checks
// only that a server exits with success.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const COMPONENTS = process.env.WHARF_TEST_COMPONENTS ?? resolve("target/guests/components");

/** Time limit of each wait, in milliseconds. */
export const TIMEOUT = 60_000;

/** Polls until the condition holds. Most conditions are about a file, which cannot notify. */
export async function until(what, condition, limit = TIMEOUT) {
  const deadline = Date.now() + limit;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`still waiting for ${what}`);
    await pause(20);
  }
}

export class Home {
  #client;
  #server;

  /** `way` is the transport: `stdio`, `http` or `sse`. */
  constructor(binary, way) {
    this.binary = binary;
    this.way = way;
    this.root = mkdtempSync(join(tmpdir(), "wharf-client-"));
    this.plugins = join(this.root, "plugins");
    mkdirSync(this.plugins);
    mkdirSync(join(this.root, ".config/wharf"), { recursive: true });
    const patient = '[server]\nfirst-list = "30s"\n[tasks]\nafter = "100ms"\n';
    writeFileSync(join(this.root, ".config/wharf/wharf.toml"), patient + readFileSync("tests/grants.toml", "utf8"));
    /** The log of all servers of this home. */
    this.stderr = openSync(join(this.root, "log"), "a");
    // All folders of the host are in the home, except the shared cache of compiled guests.
    this.environment = { HOME: this.root, PATH: process.env.PATH, XDG_CACHE_HOME: resolve("target/tmp/xdg-cache") };
  }

  /** Atomically puts a guest into the folder as the plugin `name`. */
  put(guest, name = guest) {
    const part = join(this.root, `${name}.part`);
    copyFileSync(join(COMPONENTS, `${guest}.wasm`), part);
    renameSync(part, join(this.plugins, `${name}.wasm`));
  }

  /** The log so far. */
  log() {
    return readFileSync(join(this.root, "log"), "utf8");
  }

  /** Runs `use` with the address of a server (none over stdio), then stops the server. */
  async serving(use) {
    if (this.way === "stdio") return use();
    const options = { env: this.environment, stdio: ["ignore", "ignore", this.stderr] };
    this.#server = spawn(this.binary, ["serve", this.plugins, "--http", "127.0.0.1:0", "--sse"], options);
    const address = () => this.log().match(/^listening on (\S+)$/m)?.[1];
    await until("the server's address", () => {
      if (this.#server.exitCode !== null) throw new Error("the server has ended");
      return address();
    });
    const result = await use(this.way === "sse" ? address().replace("/mcp", "/sse") : address());
    this.#server.kill("SIGTERM");
    const [code] = await once(this.#server, "exit", { signal: AbortSignal.timeout(TIMEOUT) });
    if (code !== 0) throw new Error(`the server ended with ${code}`);
    return result;
  }

  /** Connects a client, runs `use`, and closes the connection. */
  async connect(sdk, client, use) {
    await this.serving(async (address) => {
      this.#client = client;
      const transport = this.#transport(sdk, address);
      await client.connect(transport);
      await use(client);
      // Without a session there is nothing to end.
      await transport.terminateSession?.();
      await client.close();
    });
  }

  #transport(sdk, address) {
    if (this.way === "http") return new sdk.Http(new URL(address));
    if (this.way === "sse") return new sdk.Sse(new URL(address));
    const args = ["serve", this.plugins];
    return new sdk.Stdio({ command: this.binary, args, env: this.environment, stderr: this.stderr });
  }

  /** Cleans up, whether the check passed or not. */
  async remove() {
    await this.#client?.close();
    this.#server?.kill("SIGKILL");
    closeSync(this.stderr);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10 });
  }
}
