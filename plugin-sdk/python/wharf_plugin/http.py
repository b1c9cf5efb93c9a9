"""HTTP requests, if the plugin was granted them. Redirects are not followed.
"""

from __future__ import annotations

import json as _json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ToolError
from .host import current
from .values import dumps


class HttpError(ToolError):
    """There is no response. `kind` is "denied", "invalid", "unreachable", "timeout",
    "too-large" or "protocol"; the text of "denied" names the grant that would allow it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class StatusError(ToolError):
    """The status of a response is not from 200 to 299."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server answered with status {status}")
        self.status = status


@dataclass
class Request:
    """A request. A repeated header has a list of values."""

    method: str
    url: str
    headers: list[tuple[str, str | bytes]] = field(default_factory=list)
    body: bytes | None = None
    timeout: float | None = None


@dataclass
class Response:
    """A response, whatever its status."""

    status: int
    body: bytes = b""
    headers: list[tuple[str, str]] = field(default_factory=list)

    def ok(self) -> Response:
        """Itself if its status is 200 to 299. Raises `StatusError`."""
        if 200 <= self.status < 300:
            return self
        raise StatusError(self.status)

    def header(self, name: str) -> str | None:
        """The first header field of that name."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def text(self) -> str:
        """The body as text; invalid UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON."""
        return _json.loads(self.body)


def fetch(
    url: str,
    method: str = "GET",
    *,
    headers: Mapping[str, str | bytes | list[str]] | None = None,
    body: bytes | str | None = None,
    json: Any = None,
    timeout: float | None = None,
) -> Response:
    """Sends a request and waits for the whole response, `timeout` seconds at most and no
    longer than the host's own limit. `json` is a body of JSON, with its media type.

    Raises `HttpError`.
    """
    fields: list[tuple[str, str | bytes]] = []
    for name, value in (headers or {}).items():
        fields += [(name, one) for one in (value if isinstance(value, list) else [value])]
    if json is not None:
        fields.append(("content-type", "application/json"))
        body = dumps(json)
    if isinstance(body, str):
        body = body.encode()
    response: Response = current().fetch(Request(method, url, fields, body, timeout))
    return response


def get(url: str, **options: Any) -> Response:
    """Gets a URL."""
    return fetch(url, "GET", **options)


def post(url: str, **options: Any) -> Response:
    """Posts to a URL."""
    return fetch(url, "POST", **options)
