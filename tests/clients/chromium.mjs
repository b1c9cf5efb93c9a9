// Debian's Chromium without a screen, over the DevTools protocol.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { until } from "./home.mjs";

/** Without a sandbox of its own, which containers do not allow; the tests open only pages of their own. */
const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"];

export class Chromium {
  /** What pages reported: exceptions, and what a content security policy has refused. */
  problems = [];
  /** Of each frame the page or its frames have: where to evaluate in it. */
  #contexts = [];
  #answers = new Map();
  #count = 0;

  static async start() {
    const self = new Chromium();
    self.profile = mkdtempSync(join(tmpdir(), "wharf-chromium-"));
    self.process = spawn("chromium", [...ARGUMENTS, `--user-data-dir=${self.profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    for await (const line of createInterface({ input: self.process.stderr })) {
      said += `${line}\n`;
      const address = line.match(/DevTools listening on (\S+)/)?.[1];
      if (address) return self.#connect(address);
    }
    throw new Error(`chromium does not start:\n${said}`);
  }

  async #connect(address) {
    this.process.stderr.resume();
    this.socket = new WebSocket(address);
    await once(this.socket, "open");
    this.socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(data)));
    return this;
  }

  #send(method, params = {}, sessionId = undefined) {
    const id = ++this.#count;
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject, method }));
  }

  #receive({ id, result, error, method, params, sessionId }) {
    if (id !== undefined) {
      const { resolve, reject, method } = this.#answers.get(id);
      return error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result);
    }
    switch (method) {
      // A frame of another origin is another target.
      case "Target.attachedToTarget":
        return this.#follow(params.sessionId).catch((why) => this.problems.push(String(why)));
      case "Runtime.executionContextCreated":
        return this.#contexts.push({ sessionId, contextId: params.context.id });
      case "Runtime.executionContextsCleared":
        return (this.#contexts = this.#contexts.filter((context) => context.sessionId !== sessionId));
      case "Runtime.exceptionThrown":
        return this.problems.push(`exception: ${JSON.stringify(params.exceptionDetails)}`);
      case "Audits.issueAdded":
        return this.problems.push(`issue: ${JSON.stringify(params.issue)}`);
    }
  }

  async #follow(session) {
    await this.#send("Runtime.enable", {}, session);
    await this.#send("Audits.enable", {}, session);
    await this.#send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }, session);
    await this.#send("Runtime.runIfWaitingForDebugger", {}, session);
  }

  /** Opens a page in a window of that size. */
  async open(url, width, height) {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    this.session = sessionId;
    await this.#follow(sessionId);
    await this.#send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false }, sessionId);
    await this.#send("Page.navigate", { url }, sessionId);
  }

  /** The value of an expression in the frame in which `mark` is true. */
  async evaluate(mark, expression) {
    for (const { sessionId, contextId } of [...this.#contexts]) {
      const run = (expression) =>
        this.#send("Runtime.evaluate", { expression, contextId, awaitPromise: true, returnByValue: true }, sessionId);
      // A frame may be gone meanwhile.
      const marked = await run(`try { !!(${mark}) } catch { false }`).catch(() => undefined);
      if (!marked?.result.value) continue;
      const { result, exceptionDetails } = await run(expression);
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    }
    return undefined;
  }

  /** Waits until an expression in that frame is true. */
  until(mark, expression) {
    return until(expression, () => this.evaluate(mark, expression));
  }

  async click(x, y) {
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.#send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 }, this.session);
    }
  }

  /** The window as the bytes of a PNG. */
  async screenshot() {
    const { data } = await this.#send("Page.captureScreenshot", { format: "png" }, this.session);
    return Buffer.from(data, "base64");
  }

  async stop() {
    const ended = once(this.process, "exit");
    // Killed, it would leave processes that still write its profile.
    this.#send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 10 });
  }
}
