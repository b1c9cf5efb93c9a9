// Uses the live page in Debian's Chromium, as an operator does. Run it from the repository's root, after install.sh:
//
//     node target/clients/node/page.mjs BINARY
//
// Prints a line per check and a count at the end; the exit code is 0 if all passed. Screenshots are in target/page.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { chromium } from "playwright-core";

import { until } from "./home.mjs";
import { PageServer } from "./page_server.mjs";

const PICTURES = "target/page";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PLUGINS = 200;
const CALLS_PER_SECOND = 1000;
const SECONDS = 5;
/** Milliseconds for which the page may not draw, while so many calls come. */
const LONGEST_PAUSE = 2000;

/** Texts that do harm where they are taken for more than text. */
const HOSTILE = [
  "<img src=x onerror=window.harm=1>",
  "<script>window.harm=1</script>",
  '"><svg onload=window.harm=1>',
  "' onmouseover='window.harm=1",
  "javascript:window.harm=1",
  "{{constructor.constructor('window.harm=1')()}}",
  "${window.harm=1}",
  "</pre><iframe srcdoc='<script>parent.harm=1</script>'>",
  "<a href=javascript:window.harm=1 id=main>x</a>",
  "\u202Egnp.exe",
];

const CONFIGURATION = `
[plugins.notes.grants]
keyvalue = true
[plugins.survey.grants]
elicit = true
[plugins.slow.limits]
cpu = "20ms"
[rights]
default = "everything"
approver = "operator"
[[rights.rules]]
tools = ["asked/*"]
ask = "always"
[[rights.rules]]
name = "no differences"
deny = true
tools = ["text/diff"]
`;

/** What each view must have before it is looked at. */
const VIEWS = {
  plugins: ["#/plugins", "tbody tr"],
  plugin: ["#/plugin/notes", "h2"],
  review: ["#/review/notes", "pre.whole"],
  calls: ["#/calls", "tbody tr"],
  approvals: ["#/approvals", "section"],
  hour: ["#/hour", "svg[aria-label]"],
  try: ["#/tool/text_hash", "form"],
};

async function checks(check, server, page, problems) {
  const base = server.address.split("#")[0];
  const row = (name) => page.locator("tbody tr", { has: page.getByRole("link", { name, exact: true }) });
  const go = async (hash) => {
    await page.evaluate((hash) => (location.hash = hash), hash);
  };
  const text = (selector) => page.locator(selector).first().innerText();
  const picture = (name) => page.screenshot({ path: join(PICTURES, `${name}.png`) });

  await check("the printed address opens the page, and the token leaves the address", async () => {
    await page.goto(server.address);
    await page.getByText("Connected", { exact: true }).waitFor();
    assert.equal(page.url(), `${base}#/plugins`);
    await row("text").getByText("runs").waitFor();
  });

  await check("without the token, a browser is asked for it", async () => {
    const other = await page.context().browser().newPage();
    await other.goto(base);
    await other.getByLabel("Token").fill("0".repeat(64));
    await other.keyboard.press("Enter");
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.getByLabel("Token").fill(server.address.split("#")[1]);
    await other.keyboard.press("Enter");
    await other.getByText("Connected", { exact: true }).waitFor();
    await other.close();
  });

  await check("a file that is dropped appears, and goes when it is deleted", async () => {
    server.put("math", "dropped");
    await row("dropped").getByText("runs").waitFor();
    server.remove("dropped");
    await row("dropped").waitFor({ state: "detached" });
  });

  await check("calls come with what they cost, and faults stand out", async () => {
    await go("#/calls");
    await page.getByRole("heading", { name: "Calls" }).waitFor();
    await server.call("text_hash", { text: "hello", algorithm: "blake3" });
    const called = page.locator("tbody tr", { hasText: "text_hash" }).first();
    await called.getByText("ok", { exact: true }).waitFor();
    assert.match(await called.innerText(), /(µs|ms)/);
    await server.call("slow_evaluate", { expression: "2^100000" });
    await page.locator("tbody tr .bad", { hasText: "fault" }).first().waitFor();
    await page.getByLabel("Show").selectOption("errors");
    assert.equal(await page.locator("tbody tr").count(), 1);
    await page.getByLabel("Show").selectOption("all");
  });

  await check("a held version is shown with its changes, and approved by the keyboard alone", async () => {
    server.put("text", "notes");
    await go("#/plugins");
    await row("notes").getByText("a newer version is held").waitFor();
    await row("notes").getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Look at the version, and decide" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "What has changed since the pinned version" }).waitFor();
    assert.match(await text("main pre.whole"), /text_|hash/);
    await picture("docs-review");
    const approve = page.getByRole("button", { name: "Approve", exact: true });
    await approve.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Approve this version of notes?" }).waitFor();
    // Cancel has the focus: Enter by mistake approves nothing.
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.match(await text("h1"), /Decide on notes/);
    await approve.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "notes", exact: true }).waitFor();
    await page.getByText("approved by a person").waitFor();
    // It is in service a moment after it was pinned.
    const served = async () => (await server.call("notes_hash", { text: "hello", algorithm: "blake3" })).result !== undefined;
    await until("the version in service", served);
  });

  await check("the page is as wide as a phone", async () => {
    server.put("survey", "notes");
    await go("#/plugins");
    await row("notes").getByText("a newer version is held").waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 360, height: 640 });
    await picture("docs-phone");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await check("a version is revoked after a confirmation, and stays so", async () => {
    server.put("math", "gone");
    await go("#/plugins");
    await row("gone").getByText("runs").waitFor();
    await row("gone").getByRole("link").click();
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Held: it was revoked").waitFor();
    const { error } = await server.call("gone_evaluate", { expression: "1" });
    assert.ok(error);
  });

  await check("a tool is tried with a form made of its schema", async () => {
    await go("#/plugin/text");
    await page.getByRole("link", { name: "Try text_hash" }).click();
    await page.getByLabel("text", { exact: false }).first().fill("hello");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("heading", { name: "Result" }).waitFor();
    assert.match(await page.locator("section").innerText(), /[0-9a-f]{32}/);
    await picture("try-light");
  });

  await check("any schema has a form, and any result has an end", async () => {
    const schemas = [
      [{ type: "object", properties: { a: { oneOf: [true, { const: 1 }] }, b: { enum: ["x"] } } }, { b: "x" }],
      [{ $ref: "#/$defs/a", $defs: { a: { type: "object" } } }, { c: 1 }],
      [{ type: "object", properties: {}, required: ["absent"] }, { absent: 2 }],
    ];
    const sent = [];
    const content = Array.from({ length: 100_000 }, (_, at) => ({ type: "text", text: `${at}` }));
    await page.route("**/api/mcp", (route) => {
      sent.push(route.request().postDataJSON().params.arguments);
      return route.fulfill({ json: { jsonrpc: "2.0", id: 1, result: { content } } });
    });
    for (const [at, [schema, values]] of schemas.entries()) {
      await page.route("**/api/tool", (route) => route.fulfill({ json: { name: "odd", plugin: "text", schema } }));
      await go(`#/tool/odd-${at}`);
      await page.getByRole("button", { name: "Call" }).waitFor();
      const whole = page.getByLabel("Arguments", { exact: false });
      if (await whole.count()) await whole.fill(JSON.stringify(values));
      else await page.getByLabel("b", { exact: true }).selectOption({ label: "x" });
      await page.getByRole("button", { name: "Call" }).click();
      await page.getByText("and 99,800 more parts").waitFor();
      assert.deepEqual(sent.at(-1), values);
      await page.unroute("**/api/tool");
    }
    await page.unroute("**/api/mcp");
  });

  await check("whole numbers keep their digits in forms and results", async () => {
    const big = ["9007199254740993", "-12345678901234567890123", "18446744073709551615"];
    const schema = `{"type":"object","properties":{"a":{"type":"integer","default":${big[0]}},"b":{"type":"number"},"c":{"enum":[1,${big[2]}]},"d":{"type":"object"}}}`;
    await page.route("**/api/tool", (route) => route.fulfill({ contentType: "application/json", body: `{"name":"odd","plugin":"text","schema":${schema}}` }));
    let sent;
    await page.route("**/api/mcp", (route) => {
      sent = route.request().postData();
      return route.fulfill({ contentType: "application/json", body: `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"id":${big[1]}}}}` });
    });
    await go("#/tool/odd-numbers");
    assert.equal(await page.getByLabel("a", { exact: true }).inputValue(), big[0]);
    await page.getByLabel("b", { exact: true }).fill(big[1]);
    await page.getByLabel("c", { exact: true }).selectOption({ label: big[2] });
    await page.getByLabel("d", { exact: true }).fill(`{"e":[${big[0]},1.50]}`);
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText(`"id": ${big[1]}`).waitFor();
    assert.match(sent, new RegExp(`"arguments":\\{"a":${big[0]},"b":${big[1]},"c":${big[2]},"d":\\{"e":\\[${big[0]},1.5\\]\\}\\}`));
    await page.getByLabel("a", { exact: true }).fill("1.5");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText("a whole number is needed").waitFor();
    await page.unroute("**/api/tool");
    await page.unroute("**/api/mcp");
  });

  await check("what local clients may not use is listed as denied", async () => {
    await go("#/plugin/text");
    await page.getByText("Denied to local clients, and so here: by the rule no differences").waitFor();
    assert.equal(await page.getByRole("link", { name: "Try text_diff" }).count(), 0);
    await go("#/tool/text_diff");
    await page.getByText("It is denied to local clients").waitFor();
    assert.equal(await page.locator("main form").count(), 0);
  });

  await check("a call that waits for the operator is decided on", async () => {
    server.put("time", "asked");
    await go("#/plugins");
    await row("asked").getByText("runs").waitFor();
    const call = async () => (await server.call("asked_now", { zone: "UTC" })).result;
    assert.ok((await call()).isError);
    await page.getByRole("link", { name: "Decisions (1 waits)" }).click();
    const waiting = page.getByRole("region", { name: "asked/now for local" });
    assert.match(await waiting.innerText(), /\{"zone":"UTC"\}/);
    await waiting.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Allow" }).click();
    await waiting.getByText("allowed by the operator").waitFor();
    assert.ok(!(await call()).isError);
    await page.getByText("No call waits for a decision").waitFor();
    assert.ok((await call()).isError);
    await waiting.getByRole("button", { name: "Deny" }).click();
    await waiting.getByText("denied by the operator").waitFor();
    await page.getByRole("link", { name: "Decisions", exact: true }).waitFor();
  });

  await check("a plugin's question is answered", async () => {
    await go("#/tool/survey_ask");
    await page.getByRole("button", { name: "Call" }).click();
    // Its author does not say that it destroys nothing.
    await page.getByRole("dialog", { name: "Call survey_ask?" }).getByRole("button", { name: "Call" }).click();
    await page.getByRole("heading", { name: "The plugin asks" }).waitFor();
    await page.getByRole("button", { name: "Decline" }).waitFor();
    await page.locator("section textarea").first().fill("Ada");
    for (let round = 0; round < 5 && (await page.getByRole("button", { name: "Accept" }).count()); round += 1) {
      for (const box of await page.locator("section input[type=checkbox]").all()) await box.check();
      for (const list of await page.locator("section select").all()) await list.selectOption({ index: 1 });
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("Running").waitFor({ state: "detached" });
    }
    await page.getByRole("heading", { name: "Result" }).waitFor();
    assert.match(await page.locator("section").innerText(), /Ada/);
  });

  await check("what plugins, files and callers say is text, whatever it is", async () => {
    for (const [at, hostile] of HOSTILE.entries()) {
      if (!hostile.includes("/")) server.write(`${hostile}-${at}.wasm`, "no component");
      await server.call(hostile, {});
    }
    await go("#/calls");
    await page.locator("tbody tr", { hasText: "<script>" }).first().waitFor();
    await page.locator("tbody tr", { hasText: "\\u{202e}" }).first().waitFor();
    await go("#/plugins");
    await page.locator("tbody tr", { hasText: "onerror" }).first().waitFor();
    await page.locator("tbody tr", { hasText: "onerror" }).first().getByRole("link").click();
    await page.getByText("Refused: failed to").waitFor();
    for (const hostile of HOSTILE) {
      await go("#/tool/text_hash");
      await page.getByLabel("text", { exact: false }).first().fill(hostile);
      await go(`#/resource/${encodeURIComponent(hostile)}`);
      await page.getByRole("button", { name: "Read" }).click();
      await page.getByText("Failed: ").waitFor();
    }
    assert.equal(await page.evaluate(() => window.harm), undefined);
    assert.equal(await page.locator("main img, main iframe, main script, main svg, a[href^='javascript']").count(), 0);
    assert.equal(await page.locator("#main").count(), 1);
  });

  await check("no view has violations of accessibility, in light and dark, and on a phone", async () => {
    await go("#/plugins");
    await row("notes").getByText("a newer version is held").waitFor();
    for (const [colorScheme, size] of [["light", [1280, 800]], ["dark", [1280, 800]], ["dark", [360, 740]]]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: size[0], height: size[1] });
      for (const [name, [hash, mark]] of Object.entries(VIEWS)) {
        await go(hash);
        await page.locator(`main ${mark}`).first().waitFor();
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => window.axe.run());
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ").slice(0, 300)}`);
        assert.deepEqual(found, [], `${name}, ${colorScheme}, ${size}`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${name} is ${overflow} pixels wider than a window of ${size[0]}`);
        await picture(`${name}-${size[0] < 500 ? "phone" : colorScheme}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await check(`the page answers with ${PLUGINS} plugins and ${CALLS_PER_SECOND} calls a second`, async () => {
    for (let at = 0; at < PLUGINS; at += 1) server.put("survey", `many-${String(at).padStart(3, "0")}`);
    await go("#/plugins");
    await row("many-199").getByText("runs").waitFor({ timeout: 120_000 });
    await go("#/calls");
    await page.evaluate(() => {
      window.gaps = [];
      let last = performance.now();
      const tick = (now) => {
        window.gaps.push(now - last);
        last = now;
        window.watching = requestAnimationFrame(tick);
      };
      window.watching = requestAnimationFrame(tick);
    });
    const before = server.answered;
    const began = Date.now();
    for (let sent = 0; Date.now() - began < SECONDS * 1000; ) {
      const due = Math.floor(((Date.now() - began) / 1000) * CALLS_PER_SECOND);
      // Most of them cost the server little, so that as many come also from a build for tests.
      for (; sent < due; sent += 1) {
        if (sent % 4) server.request("resources/read", { uri: `absent:${sent}` });
        else server.call("text_hash", { text: "x", algorithm: "blake3" });
      }
      await pause(5);
      // The page is used meanwhile.
      if (sent > 2000 && sent < 2100) await go("#/plugins");
      if (sent > 3000 && sent < 3100) await go("#/calls");
    }
    const rate = (server.answered - before) / ((Date.now() - began) / 1000);
    const longest = await page.evaluate(() => {
      cancelAnimationFrame(window.watching);
      return Math.max(...window.gaps);
    });
    console.log(`  ${Math.round(rate)} calls a second were answered; the longest time without a picture was ${Math.round(longest)} ms`);
    assert.ok(longest < LONGEST_PAUSE, `${longest} ms without a picture`);
    await page.getByText("more came faster than they can be shown").waitFor();
    assert.ok((await page.locator("tbody tr").count()) <= 200);
    await go("#/hour");
    await page.locator("svg[aria-label]").first().waitFor();
    await picture("hour-light");
  });

  await check("a plugin folder that is deleted is said to be missing", async () => {
    await go("#/plugins");
    rmSync(server.plugins, { recursive: true });
    await page.getByText("The plugin folder is missing: ").waitFor();
  });

  await check("nothing was thrown, and no policy was violated", async () => assert.deepEqual(problems, []));

  await check("the page says that the server is gone", async () => {
    server.process.kill("SIGKILL");
    await page.getByText("Connection lost; trying again").waitFor();
  });
}

async function main(binary) {
  mkdirSync(PICTURES, { recursive: true });
  let [passed, failed] = [0, 0];
  const check = async (name, run) => {
    const began = Date.now();
    try {
      await run();
      console.log(`${name}: ok, ${((Date.now() - began) / 1000).toFixed(1)} s`);
      passed++;
    } catch (error) {
      console.log(`${name}: FAILED:`, error);
      failed++;
    }
  };
  const files = [["text", "text"], ["notes", "notes"], ["survey", "survey"], ["math", "slow"]];
  const server = await PageServer.start(binary, CONFIGURATION, files);
  await until("the first plugins", () => server.log.includes("loaded"));
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(30_000);
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("dialog", (dialog) => problems.push(`dialog: ${dialog.message()}`));
    await checks(check, server, page, problems);
  } catch (error) {
    console.log("FAILED:", error);
    failed++;
  }
  await browser.close();
  if (failed) console.log(`the server's log:\n${server.log.slice(-4000)}`);
  await server.stop();
  console.log(`tests: ${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

await main(resolve(process.argv[2]));
