"""The real host, behind what componentize-py generates."""

from __future__ import annotations

import importlib
from typing import Any

from componentize_py_types import Err
from wit_world.imports import host

from ..host import Level, Listing
from ..http import HttpError, Request, Response
from ..store import DENIED, StoreError
from .lower import octets, text


def _interface(*names: str, has: str) -> Any | None:
    """An interface of the world: its name depends on which others there are."""
    for name in names:
        try:
            found = importlib.import_module(f"wit_world.imports.{name}")
        except ImportError:
            continue
        if hasattr(found, has):
            return found
    return None


class Connection:
    """The functions of the host."""

    def __init__(self) -> None:
        self._http = _interface("http", has="fetch")
        self._store = _interface("wasi_keyvalue_store", "store", has="Bucket")
        self._atomics = _interface("atomics", has="increment")
        self._config = _interface("wasi_config_store", "store", has="get_all")
        found = {"http": self._http, "keyvalue": self._store, "config": self._config}
        self.imports = {name for name, module in found.items() if module}

    def log(self, level: Level, message: str) -> None:
        host.log(host.LogLevel[level.upper()], text(message))

    def log_data(self, level: Level, logger: str, data: str) -> None:
        host.log_data(host.LogLevel[level.upper()], text(logger), text(data))

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        host.progress(progress, total, None if message is None else text(message))

    def list_changed(self, listing: Listing) -> None:
        host.list_changed(host.Listing[listing.upper()])

    def resource_updated(self, uri: str) -> None:
        host.resource_updated(text(uri))

    def cancelled(self) -> bool:
        return bool(host.cancelled())

    def fetch(self, request: Request) -> Response:
        http: Any = self._http
        headers = [
            http.Header(text(name), octets(value.encode() if isinstance(value, str) else value))
            for name, value in request.headers
        ]
        timeout = None if request.timeout is None else min(max(int(request.timeout * 1000), 0), 0xFFFF_FFFF)
        body = None if request.body is None else octets(request.body)
        try:
            response = http.fetch(http.Request(text(request.method), text(request.url), headers, body, timeout))
        except Err as error:
            raise _http_error(http, error.value) from None
        fields = [(one.name, bytes(one.value).decode("utf-8", "replace")) for one in response.headers]
        return Response(response.status, bytes(response.body), fields)

    def open_bucket(self, name: str) -> Bucket:
        return Bucket(self._store, self._atomics, name)

    def setting(self, key: str) -> str | None:
        config: Any = self._config
        try:
            found: str | None = config.get(text(key))
            return found
        except Err as error:
            raise RuntimeError(f"the settings cannot be read: {error.value.value}") from None

    def settings(self) -> dict[str, str]:
        config: Any = self._config
        try:
            return dict(config.get_all())
        except Err as error:
            raise RuntimeError(f"the settings cannot be read: {error.value.value}") from None


def _http_error(http: Any, error: Any) -> HttpError:
    kind = type(error).__name__.removeprefix("Error_")
    if isinstance(error, http.Error_Timeout):
        return HttpError("timeout", "the request timed out")
    if isinstance(error, http.Error_TooLarge):
        return HttpError("too-large", f"the response has more than {error.value} bytes")
    return HttpError(kind.lower(), error.value)


class Bucket:
    """A bucket of `wasi:keyvalue`."""

    def __init__(self, store: Any, atomics: Any, name: str) -> None:
        self._store = store
        self._atomics = atomics
        self._bucket = self._told(store.open, text(name))

    def get(self, key: str) -> bytes | None:
        found: bytes | None = self._told(self._bucket.get, text(key))
        return found

    def set(self, key: str, value: bytes) -> None:
        self._told(self._bucket.set, text(key), octets(value))

    def delete(self, key: str) -> None:
        self._told(self._bucket.delete, text(key))

    def exists(self, key: str) -> bool:
        return bool(self._told(self._bucket.exists, text(key)))

    def keys(self) -> list[str]:
        page = self._told(self._bucket.list_keys, None)
        keys = list(page.keys)
        while page.cursor is not None:
            page = self._told(self._bucket.list_keys, page.cursor)
            keys += page.keys
        return keys

    def increment(self, key: str, delta: int) -> int:
        if not 0 <= delta < 1 << 64:
            raise ValueError("the increment must be from 0 to 2^64 - 1")
        return int(self._told(self._atomics.increment, self._bucket, text(key), delta))

    def _told(self, call: Any, *arguments: Any) -> Any:
        """Calls the store; its errors become texts for the model."""
        try:
            return call(*arguments)
        except Err as error:
            if isinstance(error.value, self._store.Error_AccessDenied):
                raise StoreError(DENIED) from None
            if isinstance(error.value, self._store.Error_NoSuchStore):
                raise StoreError("there is no bucket of that name") from None
            raise StoreError(error.value.value) from None
