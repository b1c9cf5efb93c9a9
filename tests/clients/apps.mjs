// Shows the page of the sample `chart` in Debian's Chromium, with a chat client of the official library, and `wharf serve`
// behind it. Run it from the repository's root, after install.sh:
//
//     node target/clients/node/apps.mjs BINARY
//
// The page is in a frame of another origin, under the policy of a client for pages that ask for nothing. Prints a line
// per check and a count at the end; the exit code is 0 if all passed. Screenshots are in target/apps.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { Chromium } from "./chromium.mjs";
import { Home, until } from "./home.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PICTURES = "target/apps";
/** Of a page that asks for nothing: MCP Apps 2026-01-26, "Content Security Policy". */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "media-src 'self' data:; connect-src 'none'";
/** The frame between client and page: it passes on all messages but those for itself. */
const FRAME = `<!doctype html><style>* { margin: 0 } iframe { border: 0; width: 100%; height: 100vh; display: block }</style><script>
  const READY = "ui/notifications/sandbox-proxy-ready", RESOURCE = "ui/notifications/sandbox-resource-ready";
  const inner = document.createElement("iframe");
  inner.sandbox = "allow-scripts";
  addEventListener("message", ({ source, data }) => {
    if (source === inner.contentWindow) return parent.postMessage(data, "*");
    if (source !== parent) return;
    if (data.method !== RESOURCE) return inner.contentWindow.postMessage(data, "*");
    inner.srcdoc = data.params.html;
    document.body.append(inner);
  });
  document.addEventListener("DOMContentLoaded", () => parent.postMessage({ jsonrpc: "2.0", method: READY, params: {} }, "*"));
</script>`;

/** A server of pages by path, and of `/mcp` if it is given the address of one. */
async function serve(pages, headers, mcp) {
  const server = createServer(async (request, response) => {
    if (mcp && request.url === "/mcp") {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const { host, origin, connection, ...rest } = request.headers;
      const body = request.method === "POST" ? Buffer.concat(chunks) : undefined;
      const answer = await fetch(mcp, { method: request.method, headers: rest, body });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      return response.end(Buffer.from(await answer.arrayBuffer()));
    }
    const [type, page] = pages[request.url] ?? ["text/plain", ""];
    response.writeHead(page ? 200 : 404, { "content-type": type, ...headers });
    response.end(page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() ?? server.close() };
}

/** The frames in which expressions are evaluated. */
const CLIENT = "window.host";
const VIEW = "typeof wharf === 'object'";
const LABELS = "[...document.querySelectorAll('li > span')].map((label) => label.textContent).join()";

const BARS = [["tea", 12], ["coffee", 30], ["water", 7]];

async function checks(check, chromium, home, frames, url) {
  const client = (expression) => chromium.evaluate(CLIENT, expression);
  const view = (expression) => chromium.evaluate(VIEW, expression);
  const show = (tool, args, theme) =>
    client(`host.show(${JSON.stringify({ frames, tool, arguments: args, theme })})`);
  /** Where clicks go is known of what was drawn. */
  const drawn = async () => {
    const twice = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))";
    for (const frame of [view, client, view]) await frame(twice);
  };
  /** Clicks at what a selector finds in the page, whose frame is at the left edge of the window. */
  const click = async (selector) => {
    await drawn();
    const [x, y] = await view(
      `(({ x, y, width, height }) => [x + Math.min(width, 40) / 2, y + height / 2])(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`,
    );
    const [left, top] = await client("(({ x, y }) => [x, y])(document.querySelector('iframe').getBoundingClientRect())");
    await chromium.click(left + x, top + y);
  };
  const picture = async (name) => writeFileSync(join(PICTURES, name), await chromium.screenshot());

  await chromium.open(url, 640, 360);
  await chromium.until(CLIENT, "true");
  const args = { title: "Cups per day", bars: BARS.map(([label, value]) => ({ label, value })) };

  await check("the page greets the client, which gives it the tool's result", async () => {
    const { tools, declares } = await show("chart", args, "light");
    assert.deepEqual(tools, ["chart", "chart_dice", "chart_throw"]);
    assert.ok(declares, "the server does not declare the extension");
    assert.equal((await client("host.seen.view")).name, "Bar chart");
    await chromium.until(VIEW, "document.querySelectorAll('li').length === 3");
    assert.equal(await view("document.querySelector('h1').textContent"), "Cups per day");
    assert.equal(await view(LABELS), "tea,coffee,water");
  });

  await check("the page is as high as its content", async () => {
    await until("the frame's height", async () => {
      const [inside, outside] = [await view("document.documentElement.scrollHeight"), (await client("host.seen.sizes")).at(-1)];
      return inside === outside;
    });
  });

  await check("the page sorts what it has, and tells the model what is selected", async () => {
    await view("(({ select }) => { select.value = 'value'; select.dispatchEvent(new Event('change')); })({ select: document.querySelector('select') })");
    assert.equal(await view(LABELS), "coffee,tea,water");
    await click("li:nth-child(2) > span");
    await until("the selection", async () => (await client("host.seen.contexts.length")) === 1);
    const [{ content }] = await client("host.seen.contexts");
    assert.equal(content[0].text, 'In the chart "Cups per day" the user has selected tea: 12.');
  });

  const colours = () => view("(({ backgroundColor, color }) => [backgroundColor, color])(getComputedStyle(document.body))");
  await check("the page has the colours of the client, also when they change", async () => {
    assert.deepEqual(await colours(), ["rgb(250, 250, 240)", "rgb(20, 20, 20)"]);
    await picture("chart-light.png");
    await client("host.change('dark')");
    await chromium.until(VIEW, "document.documentElement.dataset.theme === 'dark'");
    assert.deepEqual(await colours(), ["rgb(10, 10, 30)", "rgb(230, 230, 230)"]);
    await picture("chart-dark.png");
  });

  await check("the page answers before it is removed", async () => assert.deepEqual(await client("host.end()"), {}));

  await check("a click calls a tool of the server that only pages may call", async () => {
    await show("chart_dice", { count: 600 }, "light");
    await chromium.until(VIEW, "document.querySelectorAll('li').length === 6");
    await picture("dice-light.png");
    const before = await view("JSON.stringify(chart.bars)");
    await click("#again");
    await chromium.until(VIEW, `JSON.stringify(chart.bars) !== ${JSON.stringify(before)}`);
    assert.equal(await view("chart.bars.reduce((sum, { value }) => sum + value, 0)"), 600);
    const records = readFileSync(join(home.root, ".local/state/wharf/audit.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const calls = records.filter(({ event, method }) => event === "call" && method === "tools/call");
    assert.deepEqual(calls.map(({ tool, code }) => [tool, code]), [["chart", "ok"], ["chart_dice", "ok"], ["chart_throw", "ok"]]);
  });

  await check("no policy was violated, and nothing was thrown", async () => assert.deepEqual(chromium.problems, []));

  await check("a violated policy would have been noticed", async () => {
    await view(`fetch(${JSON.stringify(url)}).catch(() => {})`);
    await until("the violation", () => chromium.problems.some((problem) => problem.includes("connect-src")));
  });
}

async function main(binary) {
  mkdirSync(PICTURES, { recursive: true });
  const { outputFiles: [bundle] } = await build({ entryPoints: [join(HERE, "apps_host.mjs")], bundle: true, format: "esm", write: false });
  let [passed, failed] = [0, 0];
  const check = async (name, run) => {
    try {
      await run();
      console.log(`${name}: ok`);
      passed++;
    } catch (error) {
      console.log(`${name}: FAILED:`, error);
      failed++;
    }
  };
  const home = new Home(binary, "http");
  home.put("chart");
  const chromium = await Chromium.start();
  try {
    await home.serving(async (address) => {
      const pages = {
        "/": ["text/html", '<!doctype html><style>body { margin: 0 }</style><script type="module" src="/host.js"></script>'],
        "/host.js": ["text/javascript", bundle.text],
      };
      const host = await serve(pages, {}, address);
      const frames = await serve({ "/frame": ["text/html", FRAME] }, { "content-security-policy": POLICY });
      await checks(check, chromium, home, frames.origin, host.origin);
      host.close();
      frames.close();
    });
  } catch (error) {
    console.log("FAILED:", error, `\nthe server's log:\n${home.log()}`);
    failed++;
  }
  await chromium.stop();
  await home.remove();
  console.log(`tests: ${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

await main(resolve(process.argv[2]));
