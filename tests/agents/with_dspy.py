"""dspy: tools as every model is shown them, and functions for models with OpenAI's interface."""

import os

import dspy
from harness import ARGUMENTS, COMMAND, Check, run
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

NULL = {"math_evaluate": "it checks arguments with the schema itself, which has no null"}


async def use(check: Check) -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGUMENTS, env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = [dspy.Tool.from_mcp_tool(session, tool) for tool in (await session.list_tools()).tools]
        by_name = {tool.name: tool for tool in tools}
        check.converted("any model", {tool.name: {"properties": tool.args} for tool in tools})
        functions = [tool.format_as_litellm_function_call()["function"] for tool in tools]
        check.converted("OpenAI", {function["name"]: function["parameters"] for function in functions})
        await check.call(lambda name, arguments: by_name[name].acall(**arguments), without=NULL)


run("dspy", use)
