"""The official Python client, version 1 or 2, signs in and calls a tool.

    oauth.py URL WAY FLOW ERA ISSUER

A program of `oauth.mjs`, which says what is printed and read.
"""

import asyncio
import contextlib
import inspect
import sys
import urllib.parse

import mcp.client.auth
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

try:
    import httpx2 as httpx
except ImportError:
    import httpx

REDIRECT = "http://localhost:3030/callback"
TIMEOUT = 60


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


async def ask(question: str) -> str:
    print(question, flush=True)
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


class Browser:
    answer: dict

    async def open(self, url: str) -> None:
        led_to = await ask(f"open {url}")
        self.answer = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(led_to).query))

    async def callback(self):
        result = getattr(mcp.client.auth, "AuthorizationCodeResult", None)
        answer = self.answer
        return result(**answer) if result else (answer["code"], answer["state"])


def provider_of(url: str, flow: str, issuer: str):
    if flow == "machine":
        # Version 1 has another name for the scopes.
        scopes = "scope" if "scope" in inspect.signature(ClientCredentialsOAuthProvider).parameters else "scopes"
        secret = "machine-0123456789abcdef0123456789abcdef"
        return ClientCredentialsOAuthProvider(url, Storage(), "machine", secret, issuer=issuer, **{scopes: "mcp"})
    browser = Browser()
    metadata = OAuthClientMetadata(client_name="tests", redirect_uris=[REDIRECT])
    return OAuthClientProvider(url, metadata, Storage(), browser.open, browser.callback)


@contextlib.asynccontextmanager
async def connected(url: str, way: str, provider, era: str):
    if way == "sse":
        async with sse_client(url, auth=provider) as streams, ClientSession(*streams[:2]) as session:
            await session.initialize()
            yield session
        return
    async with httpx.AsyncClient(auth=provider, timeout=TIMEOUT, follow_redirects=True) as client:
        transport = streamable_http_client(url, http_client=client)
        if era == "2026-07-28":
            from mcp import Client

            async with Client(transport, mode=era) as session:
                yield session
            return
        async with transport as streams, ClientSession(*streams[:2]) as session:
            await session.initialize()
            yield session


async def main(url: str, way: str, flow: str, era: str, issuer: str) -> None:
    provider = provider_of(url, flow, issuer)
    async with asyncio.timeout(2 * TIMEOUT), connected(url, way, provider, era) as session:
        while True:
            result = await session.call_tool("echo", {"message": "x"})
            if await ask(f"called {result.content[0].text}") == "end":
                return


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
