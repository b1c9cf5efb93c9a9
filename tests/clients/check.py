"""Tests `wharf serve` with the official Python client, version 1 or 2, whichever is installed.

    check.py BINARY

Each check runs over stdio, over HTTP, and where the era has it over HTTP+SSE. It checks the
results of the client, not the bytes. Prints one line per check and a count at the end; the exit
code is 0 if all passed.
"""

import asyncio
import contextlib
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from primitives import Recorder, cancelled, listened, primitives, subscribed

ROOT = Path(__file__).resolve().parents[2]
COMPONENTS = Path(os.environ.get("WHARF_TEST_COMPONENTS", ROOT / "target/guests/components"))
VERSION = importlib.metadata.version("mcp")
TIMEOUT = 60


class Home:
    """A temporary plugin folder, with all other folders that a host writes to."""

    def __init__(self, root: str, way: str):
        self.root = Path(root)
        self.way = way
        self.log = self.root / "log"
        self.plugins = self.root / "plugins"
        self.plugins.mkdir()
        settings = self.root / "config_home/wharf/wharf.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('[server]\nfirst-list = "30s"\n[tasks]\nafter = "100ms"\n' + (ROOT / "tests/grants.toml").read_text())
        self.put("echo", "echo")
        self.put("echo-v1", "versioned")

    def put(self, guest: str, name: str) -> None:
        part = self.root / f"{name}.part"
        shutil.copyfile(COMPONENTS / f"{guest}.wasm", part)
        part.rename(self.plugins / f"{name}.wasm")

    def server(self, binary: str) -> StdioServerParameters:
        folders = ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR")
        environment = {f"XDG_{name}": str(self.root / name.lower()) for name in folders}
        # The cache of compiled guests is shared.
        environment["XDG_CACHE_HOME"] = str(ROOT / "target/tmp/xdg-cache")
        environment |= {"HOME": str(self.root), "PATH": os.environ["PATH"]}
        return StdioServerParameters(command=binary, args=["serve", str(self.plugins)], env=environment)

    @contextlib.asynccontextmanager
    async def connect(self, binary: str):
        """A connection to a server, which is stopped afterwards."""
        with self.log.open("w") as log:
            if self.way == "stdio":
                async with stdio_client(self.server(binary), errlog=log) as streams:
                    yield streams
                return
            async with self.listening(binary, log) as url:
                client = sse_client(url.replace("/mcp", "/sse")) if self.way == "sse" else streamable_http_client(url)
                async with client as streams:
                    yield streams[:2]

    @contextlib.asynccontextmanager
    async def listening(self, binary: str, log):
        """The address of a server, which must exit with success."""
        server = self.server(binary)
        arguments = [*server.args, "--http", "127.0.0.1:0", "--sse"]
        process = await asyncio.create_subprocess_exec(server.command, *arguments, env=server.env, stderr=log)
        try:
            async with asyncio.timeout(TIMEOUT):
                while not (found := re.search(r"^listening on (\S+)$", self.log.read_text(), re.MULTILINE)):
                    await asyncio.sleep(0.02)
            yield found[1]
        finally:
            process.terminate()
            code = await process.wait()
        assert code == 0, code


def structured(result):
    return getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)


def is_error(result) -> bool:
    return bool(getattr(result, "is_error", getattr(result, "isError", None)))


async def drive(client) -> None:
    """Checks for every client: a list, calls, and their failures."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert {"echo", "echo_add", "versioned_version"} <= set(names), names
    assert len(names) == len(set(names)), names
    echoed = await client.call_tool("echo", {"message": "héllo\n"})
    assert echoed.content[0].text == "héllo\n", echoed
    assert not is_error(echoed), echoed
    total = await client.call_tool("echo_add", {"a": 2, "b": 3})
    assert structured(total) == {"sum": 5}, total
    wrong = await client.call_tool("echo_add", {"a": "two", "b": 3})
    assert is_error(wrong) and "/a" in wrong.content[0].text, wrong
    try:
        await client.call_tool("ech", {})
    except Exception as error:
        assert "ech" in str(error), error
    else:
        raise AssertionError("a call of an unknown tool succeeded")


async def replaced(home: Home, client) -> None:
    """Replaces a plugin while the client is connected, and waits until the new one answers."""
    first = await client.call_tool("versioned_version", {})
    assert first.content[0].text == "1", first
    home.put("echo-v2", "versioned")
    async with asyncio.timeout(TIMEOUT):
        while (await client.call_tool("versioned_version", {})).content[0].text != "2":
            pass


@contextlib.asynccontextmanager
async def session(home: Home, binary: str):
    """An initialized session; the event is set when the server notifies a change of its tools."""
    changed = asyncio.Event()

    async def notice(message) -> None:
        inner = getattr(message, "root", message)
        if getattr(inner, "method", None) == "notifications/tools/list_changed":
            changed.set()

    async with home.connect(binary) as (read, write):
        async with ClientSession(read, write, message_handler=notice) as client:
            answer = await client.initialize()
            version = getattr(answer, "protocol_version", None) or getattr(answer, "protocolVersion", None)
            assert version == "2025-11-25", answer
            yield client, changed


async def by_handshake(home: Home, binary: str) -> None:
    async with session(home, binary) as (client, _):
        await drive(client)


async def replacement_under_a_session(home: Home, binary: str) -> None:
    async with session(home, binary) as (client, _):
        await replaced(home, client)


async def list_changed_by_notification(home: Home, binary: str) -> None:
    async with session(home, binary) as (client, changed):
        await client.list_tools()
        home.put("echo-v1", "late")
        async with asyncio.timeout(TIMEOUT):
            await changed.wait()
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "late_version" in names, names


async def by_probing(home: Home, binary: str) -> None:
    from mcp import Client

    async with Client(home.connect(binary)) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        await drive(client)
        await replaced(home, client)


async def by_handshake_of_the_newest_client(home: Home, binary: str) -> None:
    from mcp import Client

    async with Client(home.connect(binary), mode="legacy") as client:
        assert client.protocol_version == "2025-11-25", client.protocol_version
        await drive(client)


async def list_changed_by_subscription(home: Home, binary: str) -> None:
    from mcp import Client

    async with Client(home.connect(binary)) as client:
        # Plugins found by the first scan are not notified as changes, so the scan must be over.
        await client.list_tools()
        async with client.listen(tools_list_changed=True) as changes:
            home.put("echo-v1", "late")
            async with asyncio.timeout(TIMEOUT):
                await anext(aiter(changes))
        names = [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]
        assert "late_version" in names, names


async def primitives_by_handshake(home: Home, binary: str) -> None:
    recorder = Recorder()
    home.put("everything", "everything")
    async with home.connect(binary) as (read, write), ClientSession(read, write, **recorder.callbacks()) as client:
        await client.initialize()
        await client.set_logging_level("warning")
        await primitives(client, recorder)
        await subscribed(client, recorder)

        async def cancel(call) -> None:
            if VERSION.startswith("2."):
                call.cancel()
                return
            # Version 1 sends no notification when a call is cancelled.
            params = types.CancelledNotificationParams(requestId=client._request_id - 1)
            notification = types.CancelledNotification(params=params)
            await client.send_notification(types.ClientNotification(notification))

        await client.set_logging_level("emergency")
        await cancelled(client, recorder, home.log, cancel)


async def primitives_without_handshake(home: Home, binary: str) -> None:
    from mcp import Client

    recorder = Recorder()
    home.put("everything", "everything")
    async with Client(home.connect(binary), log_level="warning", **recorder.callbacks()) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        await primitives(client, recorder)
        await listened(client)

        async def cancel(call) -> None:
            call.cancel()

        await cancelled(client, recorder, home.log, cancel)


async def tasks_by_handshake(home: Home, binary: str) -> None:
    from tasks_1 import Answers, tasks

    answers = Answers()
    home.put("everything", "everything")
    async with home.connect(binary) as (read, write):
        async with ClientSession(read, write, elicitation_callback=answers.elicit) as client:
            await client.initialize()
            # Over HTTP without tokens they are all the same.
            await tasks(client, answers, lists=home.way == "stdio")


async def tasks_without_handshake(home: Home, binary: str) -> None:
    from mcp import Client
    from tasks_2 import Tasks, elicited, tasks

    extension = Tasks()
    home.put("everything", "everything")
    async with Client(home.connect(binary), elicitation_callback=elicited, extensions=[extension]) as client:
        await tasks(client, extension)


HANDSHAKE = [by_handshake, replacement_under_a_session, list_changed_by_notification, primitives_by_handshake]
MODERN = []
if VERSION.startswith("2."):
    HANDSHAKE += [by_handshake_of_the_newest_client]
    MODERN += [by_probing, list_changed_by_subscription, primitives_without_handshake, tasks_without_handshake]
else:
    HANDSHAKE += [tasks_by_handshake]
CHECKS = {"stdio": HANDSHAKE + MODERN, "http": HANDSHAKE + MODERN, "sse": HANDSHAKE}


def main(binary: str) -> int:
    passed = failed = 0
    for way, check in [(way, check) for way, checks in CHECKS.items() for check in checks]:
        with tempfile.TemporaryDirectory(prefix="wharf-client-") as root:
            home = Home(root, way)
            try:
                asyncio.run(asyncio.wait_for(check(home, binary), 2 * TIMEOUT))
                print(f"mcp {VERSION}: {way}: {check.__name__}: ok")
                passed += 1
            except Exception:
                traceback.print_exc()
                print(f"mcp {VERSION}: {way}: {check.__name__}: FAILED; the server's log:")
                print(home.log.read_text() if home.log.exists() else "none")
                failed += 1
    print(f"tests: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
