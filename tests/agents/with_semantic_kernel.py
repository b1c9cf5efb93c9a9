"""semantic-kernel: functions of a plugin, for OpenAI's models."""

import os

from harness import ARGUMENTS, COMMAND, Check, run
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
from semantic_kernel.connectors.mcp import MCPStdioPlugin
from semantic_kernel.functions import KernelArguments


async def use(check: Check) -> None:
    server = {"command": COMMAND, "args": ARGUMENTS, "env": dict(os.environ)}
    async with MCPStdioPlugin("wharf", load_prompts=False, **server) as plugin:
        kernel = Kernel()
        functions = kernel.add_plugin(plugin)
        listed = kernel.get_full_list_of_function_metadata()
        formats = {each.name: kernel_function_metadata_to_function_call_format(each) for each in listed}
        check.converted("OpenAI", {name: each["function"]["parameters"] for name, each in formats.items()})

        async def call(name: str, arguments: dict):
            return await kernel.invoke(functions[name], KernelArguments(**arguments))

        await check.call(call)


run("semantic-kernel", use)
