"""A small MCP client, for servers that an official one cannot reach: in containers and booted systems."""

import itertools
import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

from checking import HASH, LIMIT, Failed, version, want

REVISION = "2025-11-25"
INITIALIZE = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
CALL = {"name": "text_hash", "arguments": {"text": "hi"}}


def talks(request) -> None:
    """Lists and calls a prebuilt tool; `request` sends a method and returns its result."""
    server = request("initialize", INITIALIZE)["serverInfo"]
    want((server["name"], server["version"]), ("wharf", version()), "the server")
    request("notifications/initialized", None)
    names = [tool["name"] for tool in request("tools/list", {})["tools"]]
    want("text_hash" in names, True, f"the tools {names} have text_hash")
    # On a machine that does other things too, compiling can take longer than a call waits.
    for _ in range(5):
        answer = request("tools/call", CALL)
        if "still being compiled" not in json.dumps(answer):
            break
    want(HASH in json.dumps(answer), True, f"the answer of text_hash, {answer}, has {HASH}")


class Stdio:
    """A server on the pipes of its process, which is killed after `LIMIT` and at the end."""

    def __init__(self, command: list, **options) -> None:
        self._name = str(command[0])
        words = [str(word) for word in command]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self._ids = itertools.count(1)
        self._timer = threading.Timer(LIMIT, self.process.kill)

    def __enter__(self) -> "Stdio":
        self._timer.start()
        return self

    def __exit__(self, *_) -> None:
        self._timer.cancel()
        self.process.kill()
        self.process.wait()

    def request(self, method: str, params: dict | None) -> dict:
        """The result of a method, or nothing of a notification, which has no parameters."""
        if params is None:
            self.send({"method": method})
            return {}
        id = next(self._ids)
        self.send({"id": id, "method": method, "params": params})
        for answer in self.messages():
            if answer.get("id") == id:
                return _result(answer, method)
        raise Failed(f"{self._name} ended before it answered {method}")

    def send(self, message: dict) -> None:
        """Sends a message without waiting for an answer."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        self.process.stdin.flush()

    def messages(self) -> Iterator[dict]:
        for line in self.process.stdout:
            yield json.loads(line)

    def end(self) -> None:
        """Closes its input, after which it must end with success."""
        self.process.stdin.close()
        want(self.process.wait(timeout=30), 0, f"the exit code of {self._name}")


def over_stdio(command: list, **options) -> None:
    """Starts a server, talks to it, and ends it by closing its input."""
    with Stdio(command, **options) as server:
        talks(server.request)
        server.end()


def over_http(address: str, token: str | None = None) -> None:
    """Talks to a server at `address`, which ends with /mcp."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    ids = iter(range(1, 100))

    def request(method: str, params: dict | None) -> dict:
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message |= {"id": next(ids), "params": params}
        sent = urllib.request.Request(address, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(sent, timeout=60) as answer:
            if session := answer.headers.get("Mcp-Session-Id"):
                headers["Mcp-Session-Id"] = session
                headers["MCP-Protocol-Version"] = REVISION
            text = answer.read().decode()
        if params is None:
            return {}
        for line in text.splitlines():
            found = line.removeprefix("data:").strip()
            if found.startswith("{") and json.loads(found).get("id") == message["id"]:
                return _result(json.loads(found), method)
        raise Failed(f"no answer to {method} in {text!r}")

    talks(request)


def status(address: str, token: str | None = None) -> int:
    """The HTTP status of a GET; 0 if nobody listens."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def _result(answer: dict, method: str) -> dict:
    if "result" not in answer:
        raise Failed(f"{method}: {answer.get('error')}")
    return answer["result"]
