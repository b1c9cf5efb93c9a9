// @langchain/mcp-adapters: functions for OpenAI's models, as they are and in strict mode.

import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

const NULL = { math_evaluate: "it checks arguments with the schema itself, which has no null" };

await run("@langchain/mcp-adapters", async (check) => {
  const server = { transport: "stdio", command: COMMAND, args: ARGUMENTS, env: process.env };
  const client = new MultiServerMCPClient({ wharf: server });
  const tools = await client.getTools();
  for (const [strict, form] of [[undefined, "OpenAI"], [true, "OpenAI in strict mode"]]) {
    const functions = tools.map((tool) => convertToOpenAITool(tool, { strict }).function);
    check.converted(form, functions.map(({ name, parameters }) => [name, parameters]));
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  await check.call((name, values) => byName.get(name).invoke(values), NULL);
  await client.close();
});
