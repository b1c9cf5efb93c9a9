"""Starts a server with the official client, lists its tools, and calls one of a prebuilt plugin.

python3 call.py COMMAND ARGUMENT…

Prints one line of JSON: the server's name and version, how many tools there are, and the answer.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command: str, *args: str) -> None:
    server = StdioServerParameters(command=command, args=list(args), env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        about = await session.initialize()
        tools = (await session.list_tools()).tools
        # A debug build compiles it long on a machine that does other things too; the server says so after a minute.
        for _ in range(5):
            answer = await session.call_tool("text_hash", {"text": "hi"})
            if "still being compiled" not in answer.content[0].text:
                break
        # The names of the second version of this library, and of the first.
        info = getattr(about, "server_info", None) or about.serverInfo
        found = {"name": info.name, "version": info.version, "tools": len(tools), "text": answer.content[0].text}
        print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
