"""strands-agents: tools in the form for all its models."""

import os

from harness import ARGUMENTS, COMMAND, Check, run
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands.tools.mcp import MCPClient


async def use(check: Check) -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGUMENTS, env=dict(os.environ))
    with MCPClient(lambda: stdio_client(server)) as client:
        tools = client.list_tools_sync()
        check.converted("any model", {tool.tool_name: tool.tool_spec["inputSchema"]["json"] for tool in tools})
        await check.call(lambda name, arguments: client.call_tool_async("1", name, arguments))


run("strands-agents", use)
