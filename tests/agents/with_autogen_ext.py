"""autogen-ext: functions for OpenAI's models, of single tools and of a workbench. Each call of a single tool has a
connection of its own."""

import os

from autogen_core import CancellationToken
from autogen_ext.models.openai._openai_client import convert_tools
from autogen_ext.tools.mcp import McpWorkbench, StdioMcpToolAdapter, StdioServerParams, create_mcp_server_session
from harness import ARGUMENTS, COMMAND, Check, run

# A single tool checks arguments itself.
NULL = {"math_evaluate": "it makes a model of the schema, in which a parameter with a default has no null"}


def parameters(tools: list) -> dict[str, dict]:
    functions = [tool["function"] for tool in convert_tools(tools)]
    return {function["name"]: function["parameters"] for function in functions}


async def use(check: Check) -> None:
    server = StdioServerParams(command=COMMAND, args=ARGUMENTS, env=dict(os.environ))
    async with create_mcp_server_session(server) as session:
        await session.initialize()
        listed = (await session.list_tools()).tools
    tools = [StdioMcpToolAdapter(server, tool) for tool in listed]
    check.converted("OpenAI, of single tools", parameters(tools))
    by_name = {tool.name: tool for tool in tools}
    await check.call(
        lambda name, arguments: by_name[name].run_json(arguments, CancellationToken()), "single tools", without=NULL
    )

    async with McpWorkbench(server) as workbench:
        check.converted("OpenAI, of a workbench", parameters(await workbench.list_tools()))
        await check.call(workbench.call_tool, "workbench")


run("autogen-ext", use)
