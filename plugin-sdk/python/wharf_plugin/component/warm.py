"""Calls a tool while the component is built, so that the component has the code of this package as the
interpreter specializes it (PEP 659).

Otherwise each call would specialize it again: each starts from the same image, and each page that it
writes to is a copy.
"""

from __future__ import annotations

from typing import Annotated, Any

from wit_world.imports import types as t

from ..plugin import Plugin
from ..results import ToolResult
from . import tools

# More than the interpreter waits before it specializes code, and than it waits again after a wrong guess.
_CALLS = 40


def up() -> None:
    """Calls tools of no plugin. Nothing of the plugin's own is called: its author expects that to happen in a
    call."""
    plugin = Plugin()

    @plugin.tool
    def words(text: Annotated[str, "A text."], count: int = 1, ratio: float = 0.5, exact: bool = True) -> str:
        return text

    @plugin.tool
    def record(number: float, names: list[str] | None = None) -> dict[str, Any]:
        return {"number": number, "names": names or []}

    @plugin.tool
    def several(text: str) -> ToolResult[None]:
        return ToolResult([text])

    calls = (
        ("words", '{"text": "a \\u00e9", "count": 2, "ratio": 0.5, "exact": false}'),
        ("record", '{"number": 1.5, "names": ["a", "b"]}'),
        ("several", '{"text": "a"}'),
    )
    made = tools.export(plugin)()
    for number in range(_CALLS):
        context = t.CallContext(f"warm-{number}", t.ClientFeatures(0), 60_000, [], None, None)
        for name, arguments in calls:
            made.call_tool(name, arguments, context)
