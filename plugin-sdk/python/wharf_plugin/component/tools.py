"""The interface `wharf:plugin/tools`."""

from __future__ import annotations

from typing import Any

import wit_world.exports as world
from wit_world.exports import tools as t

from .. import offers
from ..plugin import Plugin
from ..results import NOTHING, ToolResult
from ..values import dumps
from .asking import ended, listed
from .lower import icons, meta, optional, piece, text


def export(plugin: Plugin) -> Any:
    """The class that componentize-py looks for."""
    found = listed(lambda: [_tool(tool) for tool in plugin.tools.values()])

    class Tools(world.Tools):
        def list_tools(self) -> Any:
            return found

        def call_tool(self, name: str, arguments: str, context: Any) -> Any:
            return ended(
                context,
                lambda call: _result(plugin.call_tool(name, arguments, call)),
                t.ToolOutcome_Complete,
                t.ToolOutcome_InputRequired,
            )

    return Tools


def _tool(tool: offers.Tool) -> Any:
    hints = None if tool.hints == (None,) * 4 else t.ToolAnnotations(*tool.hints)
    return t.Tool(
        text(tool.name),
        optional(tool.title),
        optional(tool.description or None),
        text(tool.input_schema),
        optional(tool.output_schema),
        hints,
        t.TaskSupport[tool.tasks.upper()],
        icons(tool.icons),
        meta(tool.meta),
    )


def _result(result: ToolResult[Any]) -> Any:
    structured = None if result.structured is NOTHING else text(dumps(result.structured))
    pieces = [piece(one) for one in ([result.content] if isinstance(result.content, str) else result.content)]
    return t.ToolResult(pieces, structured, bool(result.failed), meta(result.meta))
