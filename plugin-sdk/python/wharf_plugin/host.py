"""The host that runs this plugin: the real one, or a simulated one in tests.

`component` connects the real one; `testing` connects a double for the time of a call.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
Listing = Literal["tools", "prompts", "resources"]


class Host(Protocol):
    """The functions of a host."""

    def log(self, level: Level, message: str) -> None: ...
    def log_data(self, level: Level, logger: str, data: str) -> None: ...
    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...
    def list_changed(self, listing: Listing) -> None: ...
    def resource_updated(self, uri: str) -> None: ...
    def cancelled(self) -> bool: ...
    def fetch(self, request: Any) -> Any: ...
    def open_bucket(self, name: str) -> Any: ...
    def setting(self, key: str) -> str | None: ...
    def settings(self) -> dict[str, str]: ...


class _Nobody:
    """Used while a component is built, and in tests without `testing.Client`."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no host is connected: call this from a tool, and tools through wharf_plugin.testing.Client")


_host: Host = _Nobody()


def current() -> Host:
    """The host that is connected."""
    return _host


def connect(host: Host) -> Host:
    """Connects a host, and returns the previous one."""
    global _host
    before, _host = _host, host
    return before


def list_changed(listing: Listing) -> None:
    """One of this plugin's lists has changed. The host lists it again, and notifies clients if
    it really changed."""
    current().list_changed(listing)


def resource_updated(uri: str) -> None:
    """A resource of this plugin has new contents. The host notifies its subscribers."""
    current().resource_updated(uri)
