"""Whether a tool returns what it is annotated with. Only the outermost type is checked here: the host checks the rest
against the output schema.
"""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import reprlib
from typing import Any, get_args, get_origin

from . import models
from .content import CONTENT_TYPES
from .errors import ToolError
from .results import ToolResult
from .shapes import bare, branches, is_record

_LISTS = (list, tuple, set, frozenset, abc.Sequence, abc.Iterable, abc.Collection, abc.Set, abc.MutableSequence)
_OBJECTS = (dict, abc.Mapping, abc.MutableMapping)

_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = 60


def expect(name: str, hint: Any, value: Any) -> None:
    """Raises `ToolError` if a function of that name returned what its annotation excludes."""
    if not fits(hint, value):
        raise ToolError(f"{name} returned {_shown.repr(value)}, but is annotated `-> {_written(hint)}`")


def fits(hint: Any, value: Any) -> bool:
    """Whether the value can be of that type; true for types that are not checked here."""
    hint, _ = bare(hint)
    if branches(hint):
        return any(fits(branch, value) for branch in branches(hint))
    if hint is None or hint is type(None):
        return value is None
    kind = get_origin(hint) or hint
    if hint in (Any, object) or kind is ToolResult:
        return True
    if kind in CONTENT_TYPES:
        return isinstance(value, CONTENT_TYPES)
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        # JSON has one kind of numbers: 3.0 is a whole one.
        return _is_number(value) and bool(isinstance(value, int) or value.is_integer())
    if kind is float:
        return _is_number(value)
    if kind in _LISTS:
        return isinstance(value, (list, tuple, abc.Set))
    if kind in _OBJECTS or is_record(hint) or models.is_model(hint):
        is_object = dataclasses.is_dataclass(value) and not isinstance(value, type)
        return is_object or isinstance(value, abc.Mapping) or models.is_model(type(value))
    return value is not None or None in get_args(hint)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _written(hint: Any) -> str:
    """The annotation as an author writes it."""
    if hint is type(None):
        return "None"
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")
