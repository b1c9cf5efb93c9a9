"""`urllib.request` over the host's HTTP."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Any

from ..http import HttpError
from .exchange import as_http_client, fetch, read_all

Handler: Any = urllib.request.HTTPHandler


def install() -> None:
    """Makes every opener send its requests through the host. Without `ssl` there is no handler of
    `https:` that could be replaced."""
    Handler.http_open = Handler.https_open = _open
    Handler.https_request = Handler.http_request


def _open(self: Any, request: urllib.request.Request) -> http.client.HTTPResponse:
    headers = [(name, str(value)) for name, value in (*request.unredirected_hdrs.items(), *request.header_items())]
    unique = {name.lower(): (name, value) for name, value in headers}
    timeout = request.timeout if isinstance(request.timeout, (int, float)) else None
    method = request.get_method()
    try:
        response = fetch(method, request.full_url, unique.values(), read_all(request.data), timeout)
    except HttpError as error:
        raise urllib.error.URLError(TimeoutError(str(error)) if error.kind == "timeout" else str(error)) from None
    made: Any = as_http_client(response, method, request.full_url)
    # As `urllib` does it: here `msg` is the reason.
    made.url, made.msg = request.full_url, made.reason
    found: http.client.HTTPResponse = made
    return found
