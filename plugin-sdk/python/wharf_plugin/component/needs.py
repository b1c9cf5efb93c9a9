"""Which functions of the host a plugin uses, told by what it imports."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from types import TracebackType
from typing import Any

_MODULES = {
    "wharf_plugin.http": "http",
    "wharf_plugin.store": "keyvalue",
    "wharf_plugin.settings": "config",
    "requests": "http",
    "httpx": "http",
}

# Libraries that make requests, and the module that connects each to the host.
_ADAPTERS = {"urllib.request": "urllib_request", "requests": "requests_adapter", "httpx": "httpx_transport"}

_used: dict[str, list[str]] = {}


class Watch:
    """Notes what is imported until its end."""

    def __init__(self) -> None:
        self._import = builtins.__import__
        self._urllib = False
        builtins.__import__ = self._watched

    def end(self, error: BaseException | None) -> None:
        """Ends it; `error` is one that ended the imports, from which the frames of this are removed."""
        builtins.__import__ = self._import
        for module, interface in _MODULES.items():
            if module in sys.modules:
                _used.setdefault(interface, []).append(module)
        if self._urllib:
            _used.setdefault("http", []).append("urllib.request")
        while error is not None:
            error.__traceback__ = _without_own(error.__traceback__)
            error = error.__cause__ or error.__context__

    def _watched(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name == "urllib.request" or (name == "urllib" and "request" in (fromlist or ())):
            # The standard library imports it too, for parts that make no request.
            self._urllib = self._urllib or not _in_standard_library(globals)
        return self._import(name, globals, locals, fromlist, level)


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    if trace is None:
        return None
    following = _without_own(trace.tb_next)
    if trace.tb_frame.f_code.co_filename == __file__:
        return following
    return TracebackType(following, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def used() -> dict[str, list[str]]:
    """The interfaces that the plugin uses, and the modules that tell so."""
    return _used


def adapt(http: bool) -> None:
    """Connects libraries to the host. `http` is whether the component may make requests."""
    from ..adapters import no_sockets

    no_sockets.install()
    builtins.input = _no_input
    if "asyncio" in sys.modules:
        from .. import loop

        loop.install()
    if http:
        for module, adapter in _ADAPTERS.items():
            if module in sys.modules:
                importlib.import_module(f"wharf_plugin.adapters.{adapter}").install()


def _no_input(prompt: object = "", /) -> str:
    raise EOFError("a plugin has no stdin; a tool with a parameter `call: Call` asks the user with call.ask.form or .confirm")


def _in_standard_library(importer: Any) -> bool:
    file = (importer or {}).get("__file__") or ""
    return file.startswith(os.path.dirname(os.__file__)) and "site-packages" not in file
