"""Packages that cannot be part of a component, and what to use instead."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator

_INSTEAD = {
    "pydantic": "use dataclasses or TypedDict for arguments and results, or pydantic<2",
    "numpy": "use `statistics`, `math`, `fractions` or `array`",
    "pandas": "use `csv`, `sqlite3` and `statistics`",
    "lxml": "use `xml.etree.ElementTree`",
    "orjson": "use `json`",
    "cryptography": "use `hashlib` and `hmac`",
    "PIL": "let the client show images as they are",
}
_OTHERWISE = "use a package in pure Python"

# Network libraries that open sockets, for which there is no adapter.
_SOCKETS = {
    "aiohttp": "httpx.AsyncClient",
    "httplib2": "requests or urllib.request",
    "pycurl": "requests or urllib.request",
    "tornado": "httpx.AsyncClient",
    "websockets": "",
}

# Parts of the standard library that the interpreter of a component lacks.
_ABSENT = {
    "_ssl": "a component has no `ssl`: the host makes TLS connections; use wharf_plugin.http, urllib.request, requests or httpx",
    "_ctypes": "a component has no `ctypes`: it can call no library of the system",
}


def explained(error: ImportError) -> str | None:
    """Why a package that failed to be imported cannot work, if that is known."""
    packages = _imported_packages(error)
    for package in packages:
        if package in _SOCKETS:
            return _needs_sockets(package)
    for failure in _chain(error):
        if not isinstance(failure, ImportError) or not failure.name:
            continue
        names = [failure.name, f"{failure.name}.{getattr(failure, 'name_from', None)}"]
        for name in names:
            file = _compiled(name)
            if file is not None:
                package = packages[0] if packages else name.split(".")[0]
                return (
                    f"{package} cannot be part of a plugin: it needs {file}, which is compiled for another "
                    f"platform, and a component contains only Python code; {_INSTEAD.get(package, _OTHERWISE)} "
                    "(docs/python.md, Packages)"
                )
        if failure.name in _ABSENT:
            through = f" ({packages[0]} imports it)" if packages else ""
            return f"{_ABSENT[failure.name]}{through}"
    return None


def refused() -> str | None:
    """Why a package that was imported cannot work."""
    return next((_needs_sockets(package) for package in _SOCKETS if package in sys.modules), None)


def _needs_sockets(package: str) -> str:
    instead = f"{_SOCKETS[package]} or wharf_plugin.http" if _SOCKETS[package] else "wharf_plugin.http"
    return f"{package} cannot be part of a plugin: it opens sockets, which plugins do not have; use {instead}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, and those that led to it."""
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        seen.append(following)
        yield following
        following = following.__cause__ or following.__context__


def _imported_packages(error: BaseException) -> list[str]:
    """The installed packages whose modules were being imported, the plugin's own import first."""
    found: list[str] = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        for folder in sys.path:
            below = os.path.relpath(file, folder) if file.startswith(f"{folder}{os.sep}") else ""
            if below and _has_installed_packages(folder):
                package = below.split(os.sep)[0].removesuffix(".py")
                if package not in found:
                    found.append(package)
    return found


def _has_installed_packages(folder: str) -> bool:
    return any(name.endswith(".dist-info") for name in _listed(folder))


def _compiled(module: str) -> str | None:
    """The file of a module that has compiled code, below the folder that it is installed in."""
    *parents, last = module.split(".")
    for folder in sys.path:
        for name in _listed(os.path.join(folder, *parents)):
            if name.startswith(f"{last}.") and name.endswith((".so", ".pyd")):
                return "/".join([*parents, name])
    return None


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
