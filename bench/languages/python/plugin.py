"""The tools of the measured servers, in Python."""

from dataclasses import dataclass
from typing import Annotated

from wharf_plugin import Plugin

plugin = Plugin()


@dataclass
class Sum:
    sum: int


@plugin.tool(read_only=True)
def echo(message: Annotated[str, "The text to return."]) -> str:
    """Says back what it is told."""
    return message


@plugin.tool(read_only=True)
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(a + b)
