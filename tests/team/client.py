"""A client of MCP over HTTP and HTTPS, of the standard library only."""

import http.client
import json
import socket
import ssl
import threading
import time

NAME = "tools.example"
HELLO = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
PATIENCE = 30
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Https(http.client.HTTPSConnection):
    """Connects to this machine, whatever the name."""

    def __init__(self, port: int, certificate: str):
        super().__init__(NAME, port, timeout=PATIENCE, context=ssl.create_default_context(cafile=certificate))

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self.sock = self._context.wrap_socket(plain, server_hostname=NAME)


class Way:
    """One way to the server: through a proxy, or directly."""

    def __init__(self, name: str, port: int, certificate: str | None = None, host: str | None = None):
        self.name, self.port, self.certificate = name, port, certificate
        self.host = host or (NAME if certificate else f"127.0.0.1:{port}")

    def open(self, method: str, path: str, token: str | None, body=None, **headers: str):
        connection = Https(self.port, self.certificate) if self.certificate else None
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        fields = {"Host": self.host, "Accept": "application/json, text/event-stream"}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if body is not None:
            fields["Content-Type"] = "application/json"
            body = json.dumps(body)
        connection.request(method, path, body, fields)
        return connection.getresponse()

    def post(self, token: str | None, body, **headers: str):
        """The status, the id of the session, and the answer, which may be the last event of a stream."""
        answer = self.open("POST", "/mcp", token, body, **headers)
        text = answer.read().decode()
        if answer.getheader("Content-Type", "").startswith("text/event-stream"):
            text = [line[6:] for line in text.splitlines() if line.startswith("data: {")][-1]
        is_json = text.startswith("{")
        return answer.status, answer.getheader("Mcp-Session-Id"), json.loads(text) if is_json else text

    def status(self, token: str | None) -> int:
        """The status of a stateless request, `tools/list` of 2026-07-28."""
        return self.stateless(token, "tools/list", {})[0]

    def stateless(self, token: str | None, method: str, params: dict):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": META}}
        headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
        if "name" in params:
            headers["Mcp_Name"] = params["name"]
        return self.post(token, body, **headers)


class Session:
    """A session of revision 2025-11-25."""

    def __init__(self, way: Way, token: str):
        self.way, self.token = way, token
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "team", "version": "1"}}
        status, self.id, answer = way.post(token, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
        assert status == 200 and answer["result"]["serverInfo"]["name"] == "wharf", (status, answer)
        message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert way.post(token, message, Mcp_Session_Id=self.id)[0] == 202

    def result(self, method: str, params: dict):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, _, answer = self.way.post(self.token, body, Mcp_Session_Id=self.id)
        assert status == 200 and "result" in answer, (status, answer)
        return answer["result"]

    def tools(self) -> set[str]:
        return {tool["name"] for tool in self.result("tools/list", {})["tools"]}

    def stream(self) -> "Stream":
        return Stream(self.way.open("GET", "/mcp", self.token, Mcp_Session_Id=self.id))


class Stream:
    """A stream that is read in the background, since an event that a proxy holds back never comes."""

    def __init__(self, answer):
        assert answer.status == 200, answer.status
        self.text, self.has_ended = b"", False
        threading.Thread(target=self.read, args=[answer], daemon=True).start()

    def read(self, answer):
        try:
            while part := answer.read1(4096):
                self.text += part
        except OSError:
            pass
        except http.client.HTTPException:
            pass
        self.has_ended = True

    def wait_for(self, text: bytes):
        wait(lambda: text in self.text, f"{text} on the stream")
        assert not self.has_ended, "the stream has ended, so it may have been buffered until then"


def wait(condition, what: str, seconds: float = PATIENCE):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.1)
