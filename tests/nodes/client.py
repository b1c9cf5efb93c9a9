"""Requests of MCP over HTTP, of the standard library only: each on a connection of its own, so that what failed is
known exactly."""

import http.client
import json
import threading
from dataclasses import dataclass

USERS = ["ada", "bob", "cyd"]
TOKENS = {name: f"{name}-token-of-the-tests" for name in [*USERS, "official", "watch"]}
PATIENCE = 40
EXTENSION = "io.modelcontextprotocol/tasks"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": {EXTENSION: {}}}}
NUMBERS, LOCK = [0], threading.Lock()


class Lost(OSError):
    """There is no whole answer. `asked` is as in an answer."""

    def __init__(self, why: str, asked: list[str]):
        super().__init__(why)
        self.asked = asked


@dataclass
class Answer:
    status: int
    # Who was asked by the balancer, one after the other; the last one answered, or is said not to.
    asked: list[str]
    session: str | None
    message: dict

    @property
    def result(self) -> dict | None:
        return self.message.get("result")

    @property
    def text(self) -> str | None:
        """The text of a tool that succeeded."""
        result = self.result or {}
        content = result.get("content")
        return content[0].get("text") if content and not result.get("isError") else None

    @property
    def reason(self) -> str | None:
        error = self.message.get("error")
        return None if error is None else str((error.get("data") or {}).get("reason") or error.get("code"))


class Way:
    """To one node, or to the balancer."""

    def __init__(self, address: str, port: int, host: str | None = None):
        self.address, self.port, self.host = address, port, host or f"{address}:{port}"

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=3)
        try:
            connection.request("GET", path, headers={"Host": self.host})
            return connection.getresponse().status
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def post(self, token: str, body: dict, headers: dict[str, str], patience: float = PATIENCE) -> Answer:
        """Raises `Lost` if there is no whole answer."""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=patience)
        fields = {"Host": self.host, "Accept": "application/json, text/event-stream", "Connection": "close",
                  "Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        asked: list[str] = []
        try:
            connection.request("POST", "/mcp", json.dumps(body), fields | headers)
            answer = connection.getresponse()
            asked = [part.strip() for part in answer.getheader("X-Node", "").split(",") if part.strip()]
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Lost(f"{type(error).__name__}: {error}", asked) from error
        finally:
            connection.close()
        if answer.getheader("Content-Type", "").startswith("text/event-stream"):
            # A stream that ends without its answer was cut off.
            messages = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
            messages = [message for message in messages if "result" in message or "error" in message]
            if not messages:
                raise Lost("a stream ended without its answer", asked)
            text = json.dumps(messages[-1])
        message = json.loads(text) if text.startswith("{") else {}
        return Answer(answer.status, asked, answer.getheader("Mcp-Session-Id"), message)

    def stateless(self, token: str, method: str, params: dict, patience: float = PATIENCE) -> Answer:
        """A request of 2026-07-28."""
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        name = params.get("name") or params.get("taskId")
        if name:
            headers["Mcp-Name"] = name
        return self.post(token, request(method, params | {"_meta": META}), headers, patience)

    def call(self, token: str, tool: str, arguments: dict, patience: float = PATIENCE) -> Answer:
        return self.stateless(token, "tools/call", {"name": tool, "arguments": arguments}, patience)

    def tools(self, token: str) -> list[str]:
        answer = self.stateless(token, "tools/list", {})
        return [tool["name"] for tool in answer.result["tools"]]


def request(method: str, params: dict) -> dict:
    with LOCK:
        NUMBERS[0] += 1
        return {"jsonrpc": "2.0", "id": NUMBERS[0], "method": method, "params": params}
