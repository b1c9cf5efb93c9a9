"""What the adapters share: requests to the host, and its responses as `http.client` has them."""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterable
from typing import Any

from ..host import current
from ..http import Request, Response

# The host writes these itself, for the request that it sends.
_OF_THE_HOST = {"host", "connection", "content-length", "transfer-encoding"}


def fetch(
    method: str, url: str, headers: Iterable[tuple[str, str | bytes]], body: bytes | None, timeout: float | None
) -> Response:
    """Sends a request. Raises `HttpError`."""
    sent = [(name, value) for name, value in headers if name.lower() not in _OF_THE_HOST]
    response: Response = current().fetch(Request(method, url, sent, body, timeout))
    return response


def read_all(body: Any) -> bytes | None:
    """A request's body in one piece: text, bytes, a file or an iterable of pieces."""
    if body is None:
        return None
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    if hasattr(body, "read"):
        return read_all(body.read())
    return b"".join(piece.encode() if isinstance(piece, str) else bytes(piece) for piece in body)


def as_http_client(response: Response, method: str, url: str) -> http.client.HTTPResponse:
    """The response as one of `http.client`, read to its head."""
    made: Any = http.client.HTTPResponse(_Connection(response.body), method=method, url=url)  # type: ignore[arg-type]
    fields = http.client.HTTPMessage()
    for name, value in response.headers:
        # The body has arrived whole.
        if name.lower() != "transfer-encoding":
            fields[name] = value
    made.headers = made.msg = fields
    made.code = made.status = response.status
    made.reason = http.client.responses.get(response.status, "")
    made.version = 11
    made.chunked = False
    made.will_close = True
    made.length = len(response.body)
    found: http.client.HTTPResponse = made
    return found


class _Connection:
    """What `http.client` needs of a socket to read from."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._body)
