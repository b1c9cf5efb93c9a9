"""Checks the program of a target: what a user of it does, over stdio and HTTP. Those for Windows are started by wine.

Needs the test plugins of plugins/build.sh.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import rpc
from checking import (
    HASH, PLUGINS, ROOT, Checks, Failed, answers, background, free_port, listens, node_tools, run, want,
)

COMPONENTS = ROOT / "target/guests/components"


def main() -> None:
    checks = Checks()
    program = checks.folder / "program"
    program.mkdir()
    for name in ("wharf", "wharf-mcp"):
        shutil.copy(checks.bin / f"{name}{checks.exe}", program)
    options = {"env": checks.home("home"), "cwd": program}
    wharf = checks.start(program / f"wharf{checks.exe}")
    # An emulated program takes longer for the first list than people would wait.
    patient = '[server]\nfirst-list = "60s"\n'
    limits = '[plugins.hostile.limits]\ntimeout = "2s"\ncpu = "1s"\n'
    (program / "wharf.toml").write_text(patient + limits)
    serve = [*wharf, "serve", "--config", "wharf.toml"]

    def put(name: str, file: Path, folder: Path) -> None:
        """As a build does it: renamed over what is there."""
        part = folder / f"{name}.part"
        shutil.copy(file, part)
        part.rename(folder / f"{name}.wasm")

    def plugins(name: str, *files: str) -> Path:
        folder = program / name
        folder.mkdir()
        for file in files:
            put(file, COMPONENTS / f"{file}.wasm", folder)
        return folder

    @contextlib.contextmanager
    def serving(folder: str) -> Iterator[rpc.Stdio]:
        with rpc.Stdio([*serve, folder], stderr=subprocess.DEVNULL, **options) as server:
            server.request("initialize", rpc.INITIALIZE)
            server.request("notifications/initialized", None)
            yield server

    def names(server: rpc.Stdio) -> set[str]:
        return {tool["name"] for tool in server.request("tools/list", {})["tools"]}

    def call(server: rpc.Stdio, name: str, **arguments) -> dict:
        return server.request("tools/call", {"name": name, "arguments": arguments})

    shutil.copytree(PLUGINS, program / "prebuilt")

    def stdio() -> None:
        rpc.over_stdio([*serve, "prebuilt"], stderr=subprocess.DEVNULL, **options)

    def other_name() -> None:
        second = checks.start(program / f"wharf-mcp{checks.exe}")
        rpc.over_stdio([*second, *serve[len(wharf):], "prebuilt"], stderr=subprocess.DEVNULL, **options)

    def official() -> None:
        answers([*serve, "prebuilt"], ["node", node_tools() / "call.mjs"], **options)

    def commands() -> None:
        listed = json.loads(run([*wharf, "list", "prebuilt", "--json"], **options).stdout)
        want("text_hash" in json.dumps(listed), True, "wharf list has text_hash")
        done = run([*wharf, "call", "prebuilt", "text_hash", "text=hi"], **options)
        want(HASH in done.stdout, True, f"the answer of wharf call, {done.stdout!r}, has {HASH}")

    def granted() -> None:
        """The configuration is replaced, and read by the next call."""
        add = [*wharf, "call", "prebuilt", "notes_add", "title=a", "text=b"]
        run(add, code=1, **options)
        for _ in range(2):
            run([*wharf, "grant", "notes", "prebuilt", "keyvalue", "--yes"], **options)
        run(add, **options)
        run([*wharf, "ungrant", "notes", "prebuilt", "keyvalue", "--yes"], **options)
        run(add, code=1, **options)

    def reloaded() -> None:
        folder = plugins("reload", "echo")
        with serving("reload") as server:
            want("echo_add" in names(server), True, "echo is served")
            put("text", PLUGINS / "text.wasm", folder)
            changed(server)
            want("text_hash" in names(server), True, "an added plugin is served")
            (folder / "text.wasm").unlink()
            changed(server)
            want("text_hash" in names(server), False, "a removed plugin is served")
            put("echo", COMPONENTS / "echo-v1.wasm", folder)
            changed(server)
            before = call(server, "echo_version")
            put("echo", COMPONENTS / "echo-v2.wasm", folder)
            deadline = time.monotonic() + 60
            # No call may be lost meanwhile.
            while call(server, "echo_version") == before:
                if time.monotonic() > deadline:
                    raise Failed("the replaced file is not served after a minute")
                time.sleep(0.1)
            server.end()

    def changed(server: rpc.Stdio) -> None:
        for message in server.messages():
            if message.get("method") == "notifications/tools/list_changed":
                return
        raise Failed("the server ended before it announced the change")

    def limited() -> None:
        """Endless calls end at their limit, a crash is an answer, and others are served meanwhile."""
        plugins("hostile", "hostile", "echo")
        with serving("hostile") as server:
            want("hostile_sane" in names(server), True, "hostile is served")
            for tool in ("poll-spin", "sleep", "panic"):
                started = time.monotonic()
                want(call(server, f"hostile_{tool}").get("isError"), True, f"the answer of {tool} is an error")
                want(time.monotonic() - started < 20, True, f"{tool} ends in time")
                want(call(server, "hostile_sane").get("isError", False), False, f"the answer after {tool}")
            server.end()

    def http() -> None:
        port = free_port()
        command = [*serve, "prebuilt", "--http", f"127.0.0.1:{port}"]
        with background(command, lambda: listens(port), **options):
            rpc.over_http(f"http://127.0.0.1:{port}/mcp")

    def killed() -> None:
        """In the middle of a call; nothing that it leaves stops the next server."""
        with serving("hostile") as server:
            want("hostile_sane" in names(server), True, "hostile is served")
            late = {"id": "late", "method": "tools/call", "params": {"name": "hostile_sleep", "arguments": {}}}
            server.send(late)
            want("echo_add" in names(server), True, "the call runs")
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
        stdio()

    checks.check("serves over stdio", stdio)
    checks.check("wharf-mcp is the same", other_name)
    checks.check("serves an official client", official)
    checks.check("lists and calls", commands)
    checks.check("grants and revokes", granted)
    checks.check("adds, replaces and removes a plugin while it serves", reloaded)
    checks.check("stops endless and crashing calls", limited)
    checks.check("serves over HTTP", http)
    checks.check("can be killed", killed)
    checks.finish()


if __name__ == "__main__":
    main()
