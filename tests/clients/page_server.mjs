// A server over stdio with the live page, and a plugin folder of its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { until } from "./home.mjs";

const PREBUILT = resolve("plugins/prebuilt");

export class PageServer {
  log = "";
  #answers = new Map();
  #count = 0;
  /** Requests that were answered. */
  answered = 0;

  static async start(binary, configuration, files) {
    const self = new PageServer();
    self.root = mkdtempSync(join(tmpdir(), "wharf-page-"));
    self.plugins = join(self.root, "plugins");
    mkdirSync(self.plugins);
    mkdirSync(join(self.root, ".config/wharf"), { recursive: true });
    writeFileSync(join(self.root, ".config/wharf/wharf.toml"), configuration);
    for (const [component, name] of files) self.put(component, name);
    const env = { HOME: self.root, PATH: process.env.PATH, XDG_CACHE_HOME: resolve("target/tmp/xdg-cache") };
    // Named as people name it, so that pictures have no path of the test.
    self.process = spawn(binary, ["serve", "plugins", "--page"], { cwd: self.root, env, stdio: ["pipe", "pipe", "pipe"] });
    self.process.stderr.on("data", (data) => (self.log += data));
    createInterface({ input: self.process.stdout }).on("line", (line) => self.#receive(JSON.parse(line)));
    await until("the address of the page", () => {
      if (self.process.exitCode !== null) throw new Error(`the server has ended:\n${self.log}`);
      return self.address;
    });
    const clientInfo = { name: "test", version: "1" };
    await self.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    self.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return self;
  }

  /** With the token. */
  get address() {
    return this.log.match(/^page at (\S+)\n/m)?.[1];
  }

  /** Atomically puts a component into the folder under that name. */
  put(component, name) {
    const part = join(this.root, "part");
    copyFileSync(join(PREBUILT, `${component}.wasm`), part);
    renameSync(part, join(this.plugins, `${name}.wasm`));
  }

  write(name, text) {
    writeFileSync(join(this.plugins, name), text);
  }

  remove(name) {
    rmSync(join(this.plugins, `${name}.wasm`));
  }

  send(message) {
    this.process.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #receive({ id, result, error }) {
    if (id === undefined) return;
    this.answered += 1;
    this.#answers.get(id)?.({ result, error });
    this.#answers.delete(id);
  }

  request(method, params) {
    const id = ++this.#count;
    this.send({ jsonrpc: "2.0", id, method, params });
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }

  call(name, args) {
    return this.request("tools/call", { name, arguments: args });
  }

  async stop() {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = once(this.process, "exit");
      this.process.stdin.end();
      await ended;
    }
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10 });
  }
}
