"""llama-index-tools-mcp: functions for OpenAI's models. A call has a connection of its own."""

import os

from harness import ARGUMENTS, COMMAND, Check, run
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def use(check: Check) -> None:
    client = BasicMCPClient(COMMAND, ARGUMENTS, env=dict(os.environ))
    tools = await McpToolSpec(client).to_tool_list_async()
    by_name = {tool.metadata.name: tool for tool in tools}
    functions = [tool.metadata.to_openai_tool()["function"] for tool in tools]
    check.converted("OpenAI", {function["name"]: function["parameters"] for function in functions})
    await check.call(lambda name, arguments: by_name[name].acall(**arguments))


run("llama-index-tools-mcp", use)
