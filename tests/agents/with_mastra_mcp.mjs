// @mastra/mcp: the tools of an agent, with JSON Schemas as Mastra shows them to its models.

import { MCPClient } from "@mastra/mcp";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

await run("@mastra/mcp", async (check) => {
  const client = new MCPClient({ servers: { wharf: { command: COMMAND, args: ARGUMENTS, env: process.env } } });
  // It puts the server's name before that of each tool.
  const tools = new Map(Object.entries(await client.listTools()).map(([name, tool]) => [name.slice("wharf_".length), tool]));
  const shown = ({ inputSchema }) => inputSchema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  check.converted("its models", [...tools].map(([name, tool]) => [name, shown(tool)]));
  await check.call((name, values) => tools.get(name).execute(values));
  await client.disconnect();
});
