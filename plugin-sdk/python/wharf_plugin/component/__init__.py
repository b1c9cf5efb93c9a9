"""The plugin as a component: only here is the interface to the host, as componentize-py
makes it. It is imported while the component is built, and nowhere else.
"""

from __future__ import annotations

import importlib
import logging
import sys
from typing import Any

import wit_world.exports as world

from .. import host, log
from ..plugin import Plugin

INTERFACES = ("tools", "resources", "prompts", "completions", "extensions")

_IMPORTS = {"wharf_plugin.http": "http", "wharf_plugin.store": "keyvalue", "wharf_plugin.settings": "config"}
# The plugin was imported before this module, and the connection below imports them all.
_USED = [module for module in _IMPORTS if module in sys.modules]

from .connection import Connection  # noqa: E402


class BuildError(Exception):
    """An error in plugin.toml or the plugin, with the line to change."""


def exports(plugin: Plugin) -> dict[str, Any]:
    """The classes that componentize-py looks for, one for each interface of the world."""
    if not isinstance(plugin, Plugin):
        raise BuildError(f"`plugin` is of type {type(plugin).__name__}: write `plugin = Plugin()`")
    connection = Connection()
    exported = [name for name in INTERFACES if hasattr(world, name.capitalize())]
    for missing in sorted(plugin.offers() - set(exported)):
        raise BuildError(f'this plugin has {missing}: add "{missing}" to `exports` in plugin.toml')
    for used in _USED:
        if _IMPORTS[used] not in connection.imports:
            raise BuildError(f'this plugin imports {used}: add "{_IMPORTS[used]}" to `imports` in plugin.toml')
    host.connect(connection)
    logging.basicConfig(level=logging.DEBUG, format="%(message)s", handlers=[log.Handler()], force=True)
    made = {}
    for name in exported:
        module = importlib.import_module(f"{__name__}.{name}")
        made[name.capitalize()] = module.export(plugin)
    return made
