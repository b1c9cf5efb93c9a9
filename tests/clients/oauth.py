"""Tests that the official Python client, version 1 or 2, finds the authorization server of `wharf serve`, signs in
there, and goes on when a token has expired.

    oauth.py BINARY NODE

NODE runs the authorization server. Prints one line per check and a count at the end; the exit code is 0 if all passed.
"""

import asyncio
import contextlib
import importlib.metadata
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import mcp.client.auth
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.sse import sse_client
from mcp.shared.auth import OAuthClientMetadata

try:
    import httpx2 as httpx
except ImportError:
    import httpx
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).resolve().parents[2]
COMPONENTS = Path(os.environ.get("WHARF_TEST_COMPONENTS", ROOT / "target/guests/components"))
VERSION = importlib.metadata.version("mcp")
REDIRECT = "http://localhost:3030/callback"
TIMEOUT = 60
# How long the tokens of the second flow hold, in seconds.
SHORT = 3


class Storage:
    """What a client keeps."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    """Of a user who agrees to everything."""

    answer: dict

    async def open(self, url: str) -> None:
        self.answer = await asyncio.to_thread(self.follow, url)

    def follow(self, url: str) -> dict:
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        try:
            urllib.request.build_opener(Stay).open(url)
        except urllib.error.HTTPError as redirect:
            return dict(urllib.parse.parse_qsl(urllib.parse.urlparse(redirect.headers["Location"]).query))
        raise AssertionError("no redirect")

    async def callback(self):
        result = getattr(mcp.client.auth, "AuthorizationCodeResult", None)
        answer = self.answer
        return result(**answer) if result else (answer["code"], answer["state"])


def status(url: str, token: str | None = None) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


async def until(what: str, condition) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"still waiting for {what}"
        await asyncio.sleep(0.05)


@contextlib.contextmanager
def running(*command: str, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def connected(way: str, url: str, provider: OAuthClientProvider):
    if way == "sse":
        async with sse_client(url, auth=provider) as streams, ClientSession(*streams[:2]) as session:
            await session.initialize()
            yield session
        return
    async with (
        httpx.AsyncClient(auth=provider, timeout=TIMEOUT, follow_redirects=True) as client,
        streamable_http_client(url, http_client=client) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        yield session


async def check(binary: str, node: str, way: str, seconds: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # HTTP+SSE has another path: the origin stands for both.
    origin = f"http://127.0.0.1:{port}"
    resource, url = (origin, f"{origin}/sse") if way == "sse" else (f"{origin}/mcp", f"{origin}/mcp")
    with tempfile.TemporaryDirectory() as root, (Path(root) / "log").open("w") as log:
        script = str(ROOT / "tests/clients/authorization_server.mjs")
        plugins = Path(root) / "plugins"
        plugins.mkdir()
        (plugins / "echo.wasm").write_bytes((COMPONENTS / "echo.wasm").read_bytes())
        with running(node, script, str(seconds), stdout=subprocess.PIPE, text=True) as authorization:
            issuer = authorization.stdout.readline().strip()
            settings = Path(root) / "wharf.toml"
            settings.write_text(
                f'[server.http.oauth]\nresource = "{resource}"\nscopes = ["mcp"]\nissuers = [{{ issuer = "{issuer}" }}]\n'
            )
            environment = {"HOME": root, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(ROOT / "target/tmp/xdg-cache")}
            address = ("--http", f"127.0.0.1:{port}", "--sse", "--config", str(settings))
            with running(binary, "serve", str(plugins), *address, env=environment, stderr=log):
                await until("the server", lambda: status(f"{origin}/readyz") == 200)
                storage, browser = Storage(), Browser()
                metadata = OAuthClientMetadata(client_name="tests", redirect_uris=[REDIRECT])
                provider = OAuthClientProvider(url, metadata, storage, browser.open, browser.callback)
                async with connected(way, url, provider) as session:

                    async def call() -> str:
                        return (await session.call_tool("echo", {"message": "x"})).content[0].text

                    assert await call() == "x"
                    first = storage.tokens.access_token
                    if seconds == SHORT:
                        await until("the end of the token", lambda: status(url, first) == 401)
                        assert await call() == "x"
                        assert storage.tokens.access_token != first
                assert first not in (Path(root) / "log").read_text()


async def main(binary: str, node: str) -> bool:
    passed = failed = 0
    for way, seconds in (("http", 300), ("http", SHORT), ("sse", 300)):
        name = f"mcp {VERSION}: OAuth over {way}{', with an expiring token' if seconds == SHORT else ''}"
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                await check(binary, node, way, seconds)
            print(f"ok    {name}")
            passed += 1
        except Exception:
            print(f"FAIL  {name}")
            traceback.print_exc(file=sys.stdout)
            failed += 1
    print(f"tests: {passed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    sys.exit(not asyncio.run(main(str(Path(sys.argv[1]).resolve()), sys.argv[2])))
