"""smolagents: tools as Python classes, and functions for models with OpenAI's interface."""

import os

from harness import ARGUMENTS, COMMAND, Check, run
from mcp import StdioServerParameters
from smolagents import MCPClient
from smolagents.models import get_tool_json_schema


async def use(check: Check) -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGUMENTS, env=dict(os.environ))
    with MCPClient(server, structured_output=True) as tools:
        by_name = {tool.name: tool for tool in tools}
        functions = [get_tool_json_schema(tool)["function"] for tool in tools]
        check.converted("OpenAI", {function["name"]: function["parameters"] for function in functions})
        await check.call(lambda name, arguments: by_name[name](**arguments))


run("smolagents", use)
