"""A small MCP client, for servers that an official one cannot reach: in containers and booted systems."""

import json
import subprocess
import urllib.error
import urllib.request

from checking import HASH, Failed, version, want

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
    answer = request("tools/call", CALL)
    want(HASH in json.dumps(answer), True, f"the answer of text_hash, {answer}, has {HASH}")


def over_stdio(command: list, **options) -> None:
    """Starts a server, talks to it, and ends it by closing its input."""
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    ids = iter(range(1, 100))

    def request(method: str, params: dict | None) -> dict:
        message = {"jsonrpc": "2.0", "method": method}
        if params is None:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            return {}
        id = next(ids)
        process.stdin.write(json.dumps(message | {"id": id, "params": params}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == id:
                return _result(answer, method)
        raise Failed(f"{words[0]} ended before it answered {method}")

    try:
        talks(request)
        process.stdin.close()
        want(process.wait(timeout=30), 0, f"the exit code of {words[0]}")
    finally:
        process.kill()
        process.wait()


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
