// @openai/agents: functions for OpenAI's models, as they are and in strict mode.

import { getAllMcpTools, MCPServerStdio, RunContext } from "@openai/agents";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

function hasOpenObject(schema) {
  if (typeof schema !== "object" || schema === null) return false;
  const isOpen = schema.type === "object" && Object.keys(schema.properties ?? {}).length === 0;
  return isOpen || Object.values(schema).some(hasOpenObject);
}

await run("@openai/agents", async (check) => {
  const server = new MCPServerStdio({ name: "wharf", command: COMMAND, args: ARGUMENTS, env: process.env });
  await server.connect();
  let tools;
  for (const [convertSchemasToStrict, form] of [[false, "OpenAI"], [true, "OpenAI in strict mode"]]) {
    tools = await getAllMcpTools({ mcpServers: [server], convertSchemasToStrict });
    check.converted(form, tools.map(({ name, parameters }) => [name, parameters]));
  }
  // Strict mode has no object of any members: a tool without parameters, or with one of any value.
  const loose = tools.filter(({ name, strict }) => !strict && !hasOpenObject(check.listed.get(name)));
  check.report("tools with parameters in strict mode", loose.length ? `not in it: ${loose.map(({ name }) => name)}` : "");
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  await check.call((name, values) => byName.get(name).invoke(new RunContext(), JSON.stringify(values)));
  await server.close();
});
