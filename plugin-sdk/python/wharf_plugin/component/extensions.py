"""The interface `wharf:plugin/extensions`."""

from __future__ import annotations

from typing import Any

import wit_world.exports as world
from wit_world.exports import extensions as e

from ..plugin import Plugin
from .asking import ended, listed
from .lower import text


def export(plugin: Plugin) -> Any:
    """The class that componentize-py looks for."""

    def declared(wanted: str) -> list[Any]:
        found = plugin.capabilities.items()
        return [e.Capability(text(name), text(settings)) for (kind, name), settings in found if kind == wanted]

    methods = [text(name) for name in plugin.methods]
    offer = listed(lambda: [e.Offer(declared("experimental"), declared("extension"), methods)])[0]

    class Extensions(world.Extensions):
        def describe(self) -> Any:
            return offer

        def call_method(self, name: str, params: str, context: Any) -> Any:
            return ended(context, lambda call: text(plugin.call_method(name, params, call)))

    return Extensions
