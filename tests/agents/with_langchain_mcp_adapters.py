"""langchain-mcp-adapters: functions for OpenAI's models, and for Gemini. A call has a connection of its own."""

import os

from harness import ARGUMENTS, COMMAND, Check, run
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_google_genai._function_utils import convert_to_genai_function_declarations
from langchain_mcp_adapters.client import MultiServerMCPClient


async def use(check: Check) -> None:
    connection = {"transport": "stdio", "command": COMMAND, "args": ARGUMENTS, "env": dict(os.environ)}
    tools = await MultiServerMCPClient({"wharf": connection}).get_tools()
    by_name = {tool.name: tool for tool in tools}
    for strict, form in [(None, "OpenAI"), (True, "OpenAI in strict mode")]:
        functions = [convert_to_openai_tool(tool, strict=strict)["function"] for tool in tools]
        check.converted(form, {function["name"]: function["parameters"] for function in functions})
    converted = convert_to_genai_function_declarations(tools)
    declarations = [declaration for tool in converted for declaration in tool.function_declarations]
    schemas = {each.name: each.parameters.model_dump(mode="json", exclude_none=True) for each in declarations}
    check.converted("Gemini", schemas)
    await check.call(lambda name, arguments: by_name[name].ainvoke(arguments))


run("langchain-mcp-adapters", use)
