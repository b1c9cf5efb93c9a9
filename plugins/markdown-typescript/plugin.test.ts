// What a client sees of the plugin.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "wharf-plugin/testing";

import { harmless } from "./page.ts";
import plugin from "./plugin.ts";

const client = new Client(plugin);
const html = (markdown: string, options = {}) => client.call("html", { markdown, ...options }).text;
const text = (markdown: string) => client.call("text", { markdown }).text;

test("pages become HTML", () => {
  assert.equal(html("# A *b*\n\n1 < 2"), '<h1 id="a-b">A <em>b</em></h1>\n<p>1 &lt; 2</p>\n');
  assert.equal(html("# A\n# A", { anchors: false }), "<h1>A</h1>\n<h1>A</h1>\n");
  assert.match(html("| a | b |\n|---|--:|\n| 1 | 2 |"), /<td align="right">2<\/td>/);
});

test("HTML in a page is shown unless it is trusted", () => {
  const page = 'a <b onclick="x">c</b>\n\n<script>alert(1)</script>\n\n[d](javascript:alert(1)) ![e](data:x)';
  const shown = html(page);
  assert.doesNotMatch(shown, /<b|<script|href|<img/);
  assert.match(shown, /&lt;script&gt;/);
  assert.match(html(page, { trusted: true }), /<script>.*href="javascript:/s);
});

test("only harmless links are followed", () => {
  for (const href of ["https://a", "HTTP://a", "#a", "/a", "a/b:c", "mailto:a@b", "?a=b:c"]) assert.ok(harmless(href), href);
  for (const href of ["javascript:x", " JavaScript:x", "java\nscript:x", "vbscript:x", "data:x", "\u0001javascript:x"]) {
    assert.ok(!harmless(href), href);
  }
});

test("pages become text", () => {
  const page = [
    "# Title\n\nSome **bold** [link](https://a.example) and <b>tags</b> &amp; `code`.",
    "- one\n- two\n  - [x] done\n\n3. three",
    "> quoted\n> twice\n\n```js\nlet x;\n```",
    "| a | bee |\n|---|---|\n| long | 2 |",
    "![picture](x.png)",
  ];
  assert.equal(
    text(page.join("\n\n")),
    [
      "Title\n\nSome bold link (https://a.example) and tags & code.",
      "- one\n- two\n  - [x] done\n\n3. three",
      "> quoted\n> twice\n\n    let x;",
      "a     bee\n----  ---\nlong  2",
      "picture",
    ].join("\n\n"),
  );
});

test("headings become contents", () => {
  const { structured, text } = client.call("contents", { markdown: "## Ä b!\n\n### C\n\n> # no\n\n## Ä b\n\n## Ä b-1" });
  assert.deepEqual(structured.headings, [
    { level: 2, title: "Ä b!", slug: "ä-b" },
    { level: 3, title: "C", slug: "c" },
    { level: 2, title: "Ä b", slug: "ä-b-1" },
    { level: 2, title: "Ä b-1", slug: "ä-b-1-1" },
  ]);
  assert.equal(text, "- [Ä b!](#ä-b)\n  - [C](#c)\n- [Ä b](#ä-b-1)\n- [Ä b-1](#ä-b-1-1)");
  assert.deepEqual(client.call("contents", { markdown: "# a\n## b", depth: 1 }).structured.headings.length, 1);
  assert.equal(client.call("contents", { markdown: "nothing" }).text, "");
});
