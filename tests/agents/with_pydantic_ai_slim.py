"""pydantic-ai-slim: an agent whose model is a function, and functions for the models of OpenAI and Google."""

import os

from fastmcp.client.transports import StdioTransport
from harness import ARGUMENTS, COMMAND, Check, run
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer


async def use(check: Check) -> None:
    shown = {}
    wanted = []

    def model(messages: list, info: AgentInfo) -> ModelResponse:
        """Asks for the wanted call, then ends."""
        shown.update({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        return ModelResponse(parts=[wanted.pop() if wanted else TextPart("done")])

    async def call(name: str, arguments: dict):
        wanted.append(ToolCallPart(name, arguments))
        messages = (await agent.run("Call it.")).new_messages()
        parts = [part for message in messages for part in message.parts]
        return [part.content for part in parts if isinstance(part, ToolReturnPart)]

    transport = StdioTransport(COMMAND, ARGUMENTS, env=dict(os.environ))
    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(transport)])
    async with agent:
        await agent.run("Call nothing.")
        check.converted("any model", shown)
        for form, transformer, options in [
            ("OpenAI", OpenAIJsonSchemaTransformer, {"strict": None}),
            ("OpenAI in strict mode", OpenAIJsonSchemaTransformer, {"strict": True}),
            ("Gemini", GoogleJsonSchemaTransformer, {}),
        ]:
            check.converted(form, {name: transformer(schema, **options).walk() for name, schema in shown.items()})
        await check.call(call)


run("pydantic-ai-slim", use)
