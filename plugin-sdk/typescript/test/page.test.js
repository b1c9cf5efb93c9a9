// Pages of MCP Apps.

import assert from "node:assert/strict";
import { test } from "node:test";

import { plugin } from "../src/index.js";
import { SCRIPT } from "../src/page_script.js";
import { Client } from "../src/testing.js";

const FACE = {
  uri: "ui://dice/face.html",
  html: "<!doctype html><p id=face><script>show()</script>",
  title: "A die",
  connectsTo: ["https://api.example.org"],
  permissions: ["clipboardWrite"],
};

const dice = (page = FACE) =>
  plugin()
    .tool("roll", { page, meta: { "example.org/sides": 6, ui: { visibility: ["model"] } } }, () => "4")
    .tool("roll_again", { page: { ...page } }, () => "5")
    .tool("fresh", { appOnly: true }, () => "6");

test("tools say which page they have", () => {
  const { tools } = dice();
  const resourceUri = "ui://dice/face.html";
  assert.deepEqual(tools[0].meta, { "example.org/sides": 6, ui: { visibility: ["model"], resourceUri } });
  assert.deepEqual(tools[1].meta, { ui: { resourceUri } });
  assert.deepEqual(tools[2].meta, { ui: { visibility: ["app"] } });
});

test("a page is a resource with the script before its own", () => {
  assert.deepEqual(dice().offers(), ["tools", "resources"]);
  const [listed] = dice().listed();
  const [read] = new Client(dice()).read("ui://dice/face.html");
  const ui = {
    prefersBorder: true,
    csp: { connectDomains: ["https://api.example.org"] },
    permissions: { clipboardWrite: {} },
  };
  assert.deepEqual([listed.title, listed.mimeType, listed.meta], ["A die", "text/html;profile=mcp-app", { ui }]);
  assert.deepEqual([read.mimeType, read.meta], [listed.mimeType, { ui }]);
  assert.equal(read.text, `<!doctype html><p id=face><script>${SCRIPT}</script>\n<script>show()</script>`);
});

test("a page may bring its own script", () => {
  const own = { uri: "ui://dice/own.html", html: "<p>", ownScript: true };
  const [read] = new Client(dice(own)).read("ui://dice/own.html");
  assert.deepEqual([read.text, read.meta], ["<p>", { ui: { prefersBorder: true } }]);
});

test("what is no page is refused", () => {
  const add = (page) => () => dice().tool("other", { page }, () => "");
  assert.throws(add({ ...FACE, html: "<p>" }), /another page has the URI ui:\/\/dice\/face.html/);
  assert.throws(add({ uri: "ui://dice/x" }), /the page of tool other needs a text: html/);
  assert.throws(add({ ...FACE, connects: [] }), /has no option 'connects'/);
});
