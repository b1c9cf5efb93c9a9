"""`requests` over the host's HTTP."""

from __future__ import annotations

import importlib
from typing import Any

import requests
import requests.adapters
import requests.exceptions
import urllib3

from ..http import HttpError
from .exchange import as_http_client, fetch, read_all

_ERRORS = {
    "timeout": requests.exceptions.ReadTimeout,
    "invalid": requests.exceptions.InvalidURL,
    "too-large": requests.exceptions.ContentDecodingError,
}


def install() -> None:
    """Makes every session send its requests through the host."""
    adapter: Any = requests.adapters.HTTPAdapter
    adapter.send = _send
    _preload()


def _send(
    self: Any,
    request: Any,
    stream: bool = False,
    timeout: Any = None,
    verify: Any = True,
    cert: Any = None,
    proxies: Any = None,
) -> requests.Response:
    # The whole exchange has one timeout; of a pair, the second is for the response.
    seconds = timeout[1] if isinstance(timeout, tuple) else getattr(timeout, "read_timeout", timeout)
    headers = [(_text(name), value) for name, value in request.headers.items()]
    try:
        response = fetch(request.method, request.url, headers, read_all(request.body), seconds)
    except HttpError as error:
        failure = _ERRORS.get(error.kind, requests.exceptions.ConnectionError)
        raise failure(str(error), request=request) from None
    raw = as_http_client(response, request.method, request.url)
    wrapped: Any = urllib3.HTTPResponse(
        body=raw,
        headers=urllib3.HTTPHeaderDict(response.headers),
        status=response.status,
        reason=raw.reason,
        version=11,
        preload_content=False,
        decode_content=False,
        original_response=raw,
        request_method=request.method,
        request_url=request.url,
    )
    made: requests.Response = self.build_response(request, wrapped)
    return made


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)


def _preload() -> None:
    """What `requests` imports only when it needs it."""
    import netrc  # noqa: F401  credentials by host

    try:
        # The text of a response whose encoding is not declared.
        import charset_normalizer.cd
        import charset_normalizer.md  # noqa: F401
        from charset_normalizer.constant import IANA_SUPPORTED
    except ImportError:
        return
    for encoding in IANA_SUPPORTED:
        try:
            importlib.import_module(f"encodings.{encoding}")
        except ImportError:
            continue
