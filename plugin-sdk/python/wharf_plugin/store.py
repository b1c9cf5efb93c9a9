"""Values stored between calls, if the plugin was granted `keyvalue`.
"""

from __future__ import annotations

import json
from typing import Any

from .errors import ToolError
from .host import Host, current
from .values import dumps


class StoreError(ToolError):
    """The store was not granted, is full, or failed."""


DENIED = (
    "this plugin may not store anything: the operator of the server can grant it `keyvalue`; the server's log says how"
)


class Store:
    """A bucket of the plugin: keys, and a value for each. Other plugins cannot access it.

    Calls run side by side. One `set` or `increment` is done whole or not at all, but what
    is read may be old when it is written back: give each thing a key of its own.
    """

    def __init__(self, name: str = "") -> None:
        """Names a bucket, which is opened when it is first used in a call; each name has separate keys."""
        self._name = name
        self._opened: tuple[Host, Any] | None = None

    @property
    def _bucket(self) -> Any:
        host = current()
        # Of another host it is another bucket: tests have several.
        if self._opened is None or self._opened[0] is not host:
            self._opened = (host, host.open_bucket(self._name))
        return self._opened[1]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, parsed as JSON."""
        data = self._bucket.get(key)
        return default if data is None else json.loads(data)

    def set(self, key: str, value: Any) -> None:
        """Stores a value as JSON, replacing the previous one."""
        self._bucket.set(key, dumps(value).encode())

    def get_bytes(self, key: str) -> bytes | None:
        """As `get`, without parsing."""
        data = self._bucket.get(key)
        return None if data is None else bytes(data)

    def set_bytes(self, key: str, value: bytes) -> None:
        """As `set`, for uninterpreted bytes."""
        self._bucket.set(key, bytes(value))

    def delete(self, key: str) -> None:
        """Removes a key and its value; a missing key is not an error."""
        self._bucket.delete(key)

    def keys(self) -> list[str]:
        """All keys of the bucket, in unspecified order."""
        return list(self._bucket.keys())

    def increment(self, key: str, delta: int = 1) -> int:
        """Adds to a number atomically and returns the sum; a missing key counts as 0.
        Concurrent calls never get the same sum."""
        sum: int = self._bucket.increment(key, delta)
        return sum

    def __contains__(self, key: str) -> bool:
        return bool(self._bucket.exists(key))
