"""The official Python client: version 1 with sessions of 2025-11-25, version 2 with 2026-07-28 and tasks.

    official.py URL HOST TOKEN

Prints a line of JSON for each call, until it is ended. After a failure it connects again, as applications do.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import random
import sys
import time
from pathlib import Path

from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

try:
    import httpx2 as httpx
except ImportError:
    import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients"))
NEWER = importlib.metadata.version("mcp").startswith("2.")
# For a call that becomes a task, and meets several faults.
PATIENCE = 90
CONTENT = {"name": "Ada", "confirm": True}


async def elicit(context, params) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=CONTENT)


@contextlib.asynccontextmanager
async def connected(url: str, host: str, token: str):
    headers = {"Host": host, "Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(30, read=60)) as http:
        if NEWER:
            from mcp import Client
            from tasks_2 import Tasks

            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, elicitation_callback=elicit, extensions=[Tasks()]) as client:
                assert client.protocol_version == "2026-07-28", client.protocol_version
                yield client
            return
        async with streamable_http_client(url, http_client=http) as (read, write, *_):
            async with ClientSession(read, write, elicitation_callback=elicit) as session:
                await session.initialize()
                yield session


def chosen() -> tuple[str, dict, str]:
    unique = f"{random.getrandbits(64):x}"
    choices = [("steady_echo", {"message": unique}, unique),
               ("everything_test_streaming_elicitation", {}, "User response: true")]
    if NEWER:
        choices = [choices[0], ("everything_slow_again", {"seconds": 1.5, "label": unique}, f"{unique} took 1.5 s"),
                   ("everything_confirm_delete", {"filename": unique}, f"{unique}: deleted")]
    return random.choice(choices)


def reason(error: BaseException) -> str:
    """The first of those that a group of tasks has."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def main(url: str, host: str, token: str):
    while True:
        start = time.monotonic()
        line = {"start": start, "what": "connect"}
        try:
            async with asyncio.timeout(None) as limit, connected(url, host, token) as client:
                while True:
                    tool, arguments, expected = chosen()
                    line = {"start": time.monotonic(), "what": tool}
                    limit.reschedule(asyncio.get_running_loop().time() + PATIENCE)
                    result = await client.call_tool(tool, arguments)
                    text = result.content[0].text if result.content else ""
                    print(json.dumps(line | {"ok": text == expected, "text": text}), flush=True)
                    await asyncio.sleep(0.2)
        except Exception as error:
            print(json.dumps(line | {"error": reason(error)}), flush=True)
            await asyncio.sleep(0.5)


asyncio.run(main(*sys.argv[1:]))
