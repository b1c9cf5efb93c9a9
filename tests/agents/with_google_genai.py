"""google-genai: function declarations for Gemini."""

import os

from google.genai._adapters import McpToGenAiToolAdapter
from google.genai.types import FunctionCall
from harness import ARGUMENTS, COMMAND, Check, run
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def use(check: Check) -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGUMENTS, env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        adapter = McpToGenAiToolAdapter(session, await session.list_tools())
        declarations = [declaration for tool in adapter.tools for declaration in tool.function_declarations]
        schemas = {each.name: each.parameters.model_dump(mode="json", exclude_none=True) for each in declarations}
        check.converted("Gemini", schemas)
        await check.call(lambda name, arguments: adapter.call_tool(FunctionCall(name=name, args=arguments)))


run("google-genai", use)
