"""Errors that say why a socket cannot be opened, instead of those of the platform."""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

TEXT = "plugins have no sockets; use wharf_plugin.http, urllib.request, requests or httpx"

_FUNCTIONS = (
    "create_connection",
    "create_server",
    "fromfd",
    "getaddrinfo",
    "gethostbyaddr",
    "gethostbyname",
    "gethostbyname_ex",
    "getnameinfo",
    "socketpair",
)


def install() -> None:
    """Replaces what opens a socket or resolves a name, if `socket` was imported."""
    socket = sys.modules.get("socket")
    if socket is None:
        return
    for name in _FUNCTIONS:
        if hasattr(socket, name):
            setattr(socket, name, _refuse)
    setattr(getattr(socket, "socket"), "__init__", _refuse)  # noqa: B010


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise OSError(errno.ENOTSUP, TEXT)
