"""The plugin as a component: only here is the interface to the host, as componentize-py
makes it. It is imported while the component is built, and nowhere else.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from typing import Any

import wit_world.exports as world

from .. import host, log
from ..plugin import Plugin
from . import image, needs, packages

INTERFACES = ("tools", "resources", "prompts", "completions", "extensions")


class BuildError(Exception):
    """An error in plugin.toml or the plugin, with what to do about it."""


class OtherWorld(Exception):
    """The component would have other interfaces than the plugin; the text has the right ones, as JSON."""


class loading:
    """The import of the plugin's module."""

    def __enter__(self) -> None:
        # Before the plugin may replace what the wrapper calls. Not in the wrapper's tests.
        if hasattr(world, "Tools"):
            from . import warm

            warm.up()
        self._watch = needs.Watch()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._watch.end(error)
        if isinstance(error, ImportError):
            reason = packages.explained(error) or _missing_variable(error)
            if reason is not None:
                raise BuildError(reason) from None


def _missing_variable(error: ImportError) -> str | None:
    """What the plugin's module lacks, if it was imported and has no variable `plugin`."""
    trace, name = error.__traceback__, error.name or ""
    module = sys.modules.get(name)
    # Only the entry is in the trace: the imports of the module itself have not failed.
    if module is None or trace is None or trace.tb_next is not None:
        return None
    others = [other for other, value in vars(module).items() if isinstance(value, Plugin)]
    called = f"; it is called `{others[0]}` there" if others else ""
    return f"{name.replace('.', '/')}.py must define `plugin = Plugin()`{called}"


def exports(plugin: Plugin, *, exports_stated: bool, imports_stated: bool) -> dict[str, Any]:
    """The classes that componentize-py looks for, one for each interface of the world. `…_stated`
    is whether plugin.toml lists these interfaces; otherwise they must be the plugin's own."""
    if not isinstance(plugin, Plugin):
        raise BuildError(f"`plugin` is of type {type(plugin).__name__}: write `plugin = Plugin()`")
    offered = plugin.offers()
    if not offered:
        raise BuildError(
            "the plugin has nothing to call: add a tool, a resource or a prompt, for example a function "
            "with @plugin.tool above it"
        )
    reason = packages.refused()
    if reason is not None:
        raise BuildError(reason)
    used = needs.used()

    # Not earlier: it imports modules by which `needs` tells what the plugin uses.
    from .connection import Connection

    connection = Connection()
    exported = {name for name in INTERFACES if hasattr(world, name.capitalize())}
    imported = connection.imports
    _compare(offered, exported, exports_stated, used, imported, imports_stated)
    host.connect(connection)
    logging.basicConfig(level=logging.DEBUG, format="%(message)s", handlers=[log.Handler()], force=True)
    needs.adapt("http" in imported)
    made = {}
    for name in INTERFACES:
        if name in exported:
            module = importlib.import_module(f"{__name__}.{name}")
            made[name.capitalize()] = module.export(plugin)
    image.settle()
    return made


def _compare(
    offered: set[str],
    exported: set[str],
    exports_stated: bool,
    used: dict[str, list[str]],
    imported: set[str],
    imports_stated: bool,
) -> None:
    """Compares the world with the plugin. Raises `BuildError` if plugin.toml lacks something, and
    `OtherWorld` if the build chose the wrong interfaces."""
    lines, found = [], []
    if exports_stated and offered - exported:
        found.append(f"has {_enumerated(offered - exported)}")
        lines.append(f"exports = {json.dumps(_sorted(offered | exported))}")
    if imports_stated and used.keys() - imported:
        modules = {module for name in used.keys() - imported for module in used[name]}
        found.append(f"imports {_enumerated(modules)}")
        lines.append(f"imports = {json.dumps(sorted(used.keys() | imported))}")
    if lines:
        remove = "that line" if len(lines) == 1 else "these lines"
        raise BuildError(
            f"this plugin {' and '.join(found)}: in plugin.toml, write {' and '.join(lines)}, "
            f"or remove {remove}: the build finds it out by itself"
        )
    right = (exported if exports_stated else offered, imported if imports_stated else set(used))
    if right != (exported, imported):
        raise OtherWorld(json.dumps({"exports": _sorted(right[0]), "imports": sorted(right[1])}))


def _sorted(interfaces: set[str]) -> list[str]:
    return [name for name in INTERFACES if name in interfaces]


def _enumerated(names: set[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} and {last}" if others else last
