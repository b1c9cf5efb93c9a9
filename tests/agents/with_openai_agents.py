"""openai-agents: functions for OpenAI's models, as they are and in strict mode."""

import json
import os

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool_context import ToolContext
from harness import ARGUMENTS, COMMAND, Check, run


def has_open_object(schema: object) -> bool:
    if isinstance(schema, list):
        return any(map(has_open_object, schema))
    if not isinstance(schema, dict):
        return False
    is_open = schema.get("type") == "object" and not schema.get("properties")
    return is_open or any(map(has_open_object, schema.values()))


async def use(check: Check) -> None:
    params = {"command": COMMAND, "args": ARGUMENTS, "env": dict(os.environ)}
    async with MCPServerStdio(params=params) as server:
        for strict, form in [(False, "OpenAI"), (True, "OpenAI in strict mode")]:
            agent = Agent(name="tests")
            context = RunContextWrapper(context=None)
            tools = await MCPUtil.get_function_tools(server, strict, context, agent)
            check.converted(form, {tool.name: tool.params_json_schema for tool in tools})
            if strict:
                # Strict mode has no object of any members: a tool without parameters, or with one of any value.
                some = {name for name, schema in check.listed.items() if not has_open_object(schema)}
                loose = [tool.name for tool in tools if tool.name in some and not tool.strict_json_schema]
                check.report("tools with parameters in strict mode", f"not in it: {loose}" if loose else "")
        by_name = {tool.name: tool for tool in tools}

        async def call(name: str, arguments: dict):
            text = json.dumps(arguments)
            context = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
            return await by_name[name].on_invoke_tool(context, text)

        await check.call(call)


run("openai-agents", use)
