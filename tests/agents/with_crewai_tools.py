"""crewai-tools: tools with models of their arguments, and functions for models with OpenAI's interface."""

import os

from crewai.utilities.agent_utils import convert_tools_to_openai_schema
from crewai_tools import MCPServerAdapter
from harness import ARGUMENTS, COMMAND, Check, run
from mcp import StdioServerParameters


async def use(check: Check) -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGUMENTS, env=dict(os.environ))
    with MCPServerAdapter(server) as tools:
        by_name = {tool.name: tool for tool in tools}
        functions = [tool["function"] for tool in convert_tools_to_openai_schema(tools)[0]]
        check.converted("OpenAI", {function["name"]: function["parameters"] for function in functions})
        await check.call(lambda name, arguments: by_name[name].run(**arguments))


run("crewai-tools", use)
