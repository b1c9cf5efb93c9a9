// @openai/agents: functions for OpenAI's models, as they are and in strict mode.

import { getAllMcpTools, MCPServerStdio, RunContext } from "@openai/agents";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

await run("@openai/agents", async (check) => {
  const server = new MCPServerStdio({ name: "wharf", command: COMMAND, args: ARGUMENTS, env: process.env });
  await server.connect();
  let tools;
  for (const [convertSchemasToStrict, form] of [[false, "OpenAI"], [true, "OpenAI in strict mode"]]) {
    tools = await getAllMcpTools({ mcpServers: [server], convertSchemasToStrict });
    check.converted(form, tools.map(({ name, parameters }) => [name, parameters]));
  }
  // It takes an object without properties for one that may have any.
  const some = (name) => Object.keys(check.listed.get(name).properties).length > 0;
  const loose = tools.filter(({ name, strict }) => !strict && some(name)).map(({ name }) => name);
  check.report("tools with parameters in strict mode", loose.length ? `not in it: ${loose}` : "");
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  await check.call((name, values) => byName.get(name).invoke(new RunContext(), JSON.stringify(values)));
  await server.close();
});
