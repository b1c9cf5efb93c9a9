// The command line of the official inspector: a process and a connection per request.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { named } from "./sdk.mjs";

const PACKAGE = "@modelcontextprotocol/inspector";
const PROGRAM = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url));
/** Its exit code when the result of a tool is an error. */
const TOOL_FAILED = 5;

export const NAME = named(PACKAGE);

/** Makes one request, and returns its result. */
async function ask(home, target, code, method, ...options) {
  const args = [PROGRAM, "--cli", "--format", "json", "--method", method, ...options, "--", ...target];
  const child = spawn(process.execPath, args, { env: home.environment, stdio: ["ignore", "pipe", home.stderr] });
  const [said, [ended]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.equal(ended, code, `${method} ended with ${ended}: ${said}`);
  return JSON.parse(said).result;
}

/** All of its methods that this server supports, in that era. */
export async function inspected(home, era) {
  home.put("echo");
  home.put("everything");
  await home.serving(async (address) => {
    const server = address ? [address] : [home.binary, "serve", home.plugins];
    const transport = home.way === "stdio" ? [] : ["--transport", home.way];
    const request = (code, method, ...options) =>
      ask(home, server, code, method, "--protocol-era", era, ...transport, ...options);
    const get = (...rest) => request(0, ...rest);

    // Strict: it must not report a schema either.
    const { tools } = await get("tools/list", "--strict");
    assert.ok(tools.some(({ name }) => name === "echo_add"), JSON.stringify(tools));
    const add = ["tools/call", "--tool-name", "echo_add", "--tool-args-json"];
    assert.deepEqual((await get(...add, '{"a":2,"b":3}')).structuredContent, { sum: 5 });
    const wrong = await request(TOOL_FAILED, ...add, '{"a":"two","b":3}');
    assert.ok(wrong.isError, JSON.stringify(wrong));

    const { resources } = await get("resources/list");
    assert.ok(resources.some(({ uri }) => uri === "test://static-text"), JSON.stringify(resources));
    const { resourceTemplates } = await get("resources/templates/list");
    assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ["test://template/{id}/data"]);
    const { contents } = await get("resources/read", "--uri", "test://static-text");
    assert.equal(contents[0].text, "This is the content of the static text resource.");

    const { prompts } = await get("prompts/list");
    const name = "everything_test_prompt_with_arguments";
    assert.ok(prompts.some((prompt) => prompt.name === name), JSON.stringify(prompts));
    const { messages } = await get("prompts/get", "--prompt-name", name, "--prompt-args", "arg1=a", "arg2=b");
    assert.equal(messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'");
  });
}
