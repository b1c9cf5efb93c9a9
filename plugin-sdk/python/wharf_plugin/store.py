"""Values that last from one call to the next, where the plugin was granted `keyvalue`.

Needs `imports = ["keyvalue"]` in plugin.toml.
"""

from __future__ import annotations

import json
from typing import Any

from .errors import ToolError
from .host import current
from .values import dumps


class StoreError(ToolError):
    """The store cannot do that: it was not granted, is full, or failed."""


DENIED = (
    "this plugin may not store anything: whoever runs the server can grant it `keyvalue`; the server's log says how"
)


class Store:
    """A bucket of the plugin's own: keys, and a value for each. No other plugin sees it.

    Calls run side by side. One `set` or `increment` is done whole or not at all, but what
    is read may be old when it is written back: give each thing a key of its own.
    """

    def __init__(self, name: str = "") -> None:
        """Opens a bucket; those of different names have keys of their own."""
        self._bucket = current().open_bucket(name)

    def get(self, key: str, default: Any = None) -> Any:
        """What is kept under a key, read as JSON."""
        data = self._bucket.get(key)
        return default if data is None else json.loads(data)

    def set(self, key: str, value: Any) -> None:
        """Keeps a value, as JSON, in place of what was there."""
        self._bucket.set(key, dumps(value).encode())

    def get_bytes(self, key: str) -> bytes | None:
        """As `get`, without reading the bytes."""
        data = self._bucket.get(key)
        return None if data is None else bytes(data)

    def set_bytes(self, key: str, value: bytes) -> None:
        """As `set`, of bytes as they are."""
        self._bucket.set(key, bytes(value))

    def delete(self, key: str) -> None:
        """Removes a key and its value; one that is not there is no error."""
        self._bucket.delete(key)

    def keys(self) -> list[str]:
        """All keys of the bucket, in no order that could be relied on."""
        return list(self._bucket.keys())

    def increment(self, key: str, delta: int = 1) -> int:
        """Adds to a number and gives the sum; a key that is not there is 0. Calls that run
        side by side each get a number of their own."""
        sum: int = self._bucket.increment(key, delta)
        return sum

    def __contains__(self, key: str) -> bool:
        return bool(self._bucket.exists(key))
