"""The interface `wharf:plugin/completions`."""

from __future__ import annotations

from typing import Any

import wit_world.exports as world
from wit_world.exports import completions as c

from ..plugin import Plugin
from ..results import Completion
from .asking import ended
from .lower import text


def export(plugin: Plugin) -> Any:
    """The class that componentize-py looks for."""

    class Completions(world.Completions):
        def complete(self, subject: Any, name: str, value: str, given: Any, context: Any) -> Any:
            return ended(context, lambda call: _result(plugin.complete(subject.value, name, value, dict(given), call)))

    return Completions


def _result(found: Completion) -> Any:
    values = [text(one) for one in found.values]
    return c.Completion(values, None if found.total is None else int(found.total), bool(found.has_more))
