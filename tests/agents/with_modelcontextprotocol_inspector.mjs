// @modelcontextprotocol/inspector: its command line, which starts the server for each request.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

const PROGRAM = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url));

async function inspect(...options) {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, "--cli", COMMAND, ...ARGUMENTS, ...options]);
  return stdout;
}

await run("@modelcontextprotocol/inspector", async (check) => {
  // It fails if a schema is not portable between models.
  const { tools } = JSON.parse(await inspect("--method", "tools/list", "--strict"));
  check.converted("portability", tools.map(({ name, inputSchema }) => [name, inputSchema]));
  await check.call((name, values) => {
    const pairs = Object.entries(values).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`);
    const given = pairs.length > 0 ? ["--tool-arg", ...pairs] : [];
    return inspect("--method", "tools/call", "--tool-name", name, ...given);
  });
});
