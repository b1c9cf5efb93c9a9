// @modelcontextprotocol/inspector: its command line, which starts the server for each request.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

const PROGRAM = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url));

// The server gets no other variables.
const ENVIRONMENT = Object.entries(process.env).filter(([name]) => name.startsWith("XDG_"));

async function inspect(...options) {
  const environment = ENVIRONMENT.flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const command = [PROGRAM, "--cli", COMMAND, ...ARGUMENTS, ...environment, ...options];
  const { stdout } = await promisify(execFile)(process.execPath, command);
  return stdout;
}

/** An argument as it is typed: it takes what is JSON as JSON. */
function written(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  try {
    JSON.parse(value);
  } catch {
    return value;
  }
  return JSON.stringify(value);
}

await run("@modelcontextprotocol/inspector", async (check) => {
  // It fails if a schema is not portable between models.
  const { tools } = JSON.parse(await inspect("--method", "tools/list", "--strict"));
  check.converted("portability", tools.map(({ name, inputSchema }) => [name, inputSchema]));
  await check.call((name, values) => {
    const pairs = Object.entries(values).map(([key, value]) => `${key}=${written(value)}`);
    const given = pairs.length > 0 ? ["--tool-arg", ...pairs] : [];
    return inspect("--method", "tools/call", "--tool-name", name, ...given);
  });
});
