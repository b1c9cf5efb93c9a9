"""`httpx` over the host's HTTP: the clients of both kinds."""

from __future__ import annotations

from typing import Any

import httpx

from ..http import HttpError
from .exchange import fetch

_ERRORS: dict[str, type[httpx.RequestError]] = {
    "denied": httpx.ConnectError,
    "unreachable": httpx.ConnectError,
    "timeout": httpx.ReadTimeout,
    "invalid": httpx.UnsupportedProtocol,
    "too-large": httpx.ReadError,
}


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends requests through the host. Options about connections have no meaning here."""

    def __init__(self, *_: Any, proxy: Any = None, **__: Any) -> None:
        if proxy is not None:
            raise ValueError("plugins have no proxies: the host makes the requests")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return _exchange(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return _exchange(request, await request.aread())


def install() -> None:
    """Makes every client send its requests through the host."""
    for module in (httpx, httpx._client):
        found: Any = module
        found.HTTPTransport = found.AsyncHTTPTransport = Transport


def _exchange(request: httpx.Request, body: bytes) -> httpx.Response:
    # The whole exchange has one timeout.
    timeout = request.extensions.get("timeout", {}).get("read")
    try:
        response = fetch(request.method, str(request.url), request.headers.multi_items(), body or None, timeout)
    except HttpError as error:
        raise _ERRORS.get(error.kind, httpx.RemoteProtocolError)(str(error), request=request) from None
    headers = [(name, value) for name, value in response.headers if name.lower() != "transfer-encoding"]
    return httpx.Response(response.status, headers=headers, stream=httpx.ByteStream(response.body))
