"""JSON Schemas from type hints. They are derived once, while the component is built."""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import datetime
import enum
import inspect
import uuid
from typing import Any, Literal, get_args, get_origin

from . import models
from .shapes import MISSING, Member, argument_docs, bare, branches, is_record, members, without_none
from .values import plain

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    Any: {},
    object: {},
}

_USABLE = (
    "use str, int, float, bool, None, bytes, list, dict, tuple, set, Any, unions, Literal, an Enum, a dataclass, "
    "a TypedDict, or datetime, date, time and UUID"
)

_LISTS = (list, abc.Sequence, abc.Iterable, abc.Collection, abc.MutableSequence)
_SETS = (set, frozenset, abc.Set)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)


def schema(hint: Any, within: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The schema of a type. Raises `TypeError` for types without a JSON form."""
    hint, keywords = bare(hint)
    return {**_schema(hint, within), **keywords}


def _schema(hint: Any, within: tuple[Any, ...]) -> dict[str, Any]:
    try:
        if hint in _SIMPLE:
            return dict(_SIMPLE[hint])
    except TypeError:
        pass  # A hint that cannot be hashed is none of these.
    if branches(hint):
        return _union(hint, within)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _choice([plain(value) for value in arguments])
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice([plain(member) for member in hint]) | _documented(hint)
    if models.is_model(hint):
        return models.schema(hint)
    if is_record(hint):
        if hint in within:
            raise TypeError(f"{hint.__name__} contains itself, which a derived schema cannot express; set `input_schema`")
        return object_schema(members(hint), (*within, hint)) | _documented(hint)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return {"type": "array", "items": schema(arguments[0], within)}
        items = [schema(one, within) for one in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin in _LISTS:
        return {"type": "array", "items": schema(arguments[0], within)}
    if origin in _SETS:
        return {"type": "array", "items": schema(arguments[0], within), "uniqueItems": True}
    if origin in _MAPPINGS:
        values = schema(arguments[1], within)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    raise TypeError(f"{getattr(hint, '__name__', hint)} has no JSON Schema; {_USABLE}")


def _union(hint: Any, within: tuple[Any, ...]) -> dict[str, Any]:
    alternatives = [schema(branch, within) for branch in branches(hint)]
    plain_types = [one["type"] for one in alternatives if set(one) == {"type"} and isinstance(one["type"], str)]
    if len(plain_types) == len(alternatives):
        return {"type": plain_types}
    return {"anyOf": alternatives}


def _choice(values: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    kind = _SIMPLE[kinds.pop()] if len(kinds) == 1 else {}
    return {**kind, "enum": values}


def _documented(hint: type) -> dict[str, str]:
    """A class's docstring, unless Python generated it."""
    doc = vars(hint).get("__doc__") or ""
    if doc.startswith(f"{hint.__name__}("):
        return {}
    description = argument_docs(inspect.cleandoc(doc))[0]
    return {"description": description} if description else {}


def object_schema(found: list[Member], within: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The schema of an object with these members."""
    properties: dict[str, Any] = {}
    for member in found:
        try:
            own = {**schema(member.hint, within), **member.keywords}
        except TypeError as error:
            raise TypeError(f"{member.name}: {error}") from None
        if member.default is not MISSING and member.default is not None:
            try:
                own.setdefault("default", plain(member.default))
            except TypeError:
                pass  # A default without a JSON form is not in the schema.
        properties[member.name] = own
    required = [member.name for member in found if member.required]
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return made | {"required": required} if required else made


def input_schema(found: list[Member]) -> dict[str, Any]:
    """The schema of a tool's arguments, without additional properties."""
    return {**object_schema(found), "additionalProperties": False}


def form_schema(record: Any) -> dict[str, Any]:
    """The schema of a form, flat as MCP requires: optional fields are not nullable."""
    if not is_record(record):
        raise TypeError("a form must be a dataclass or a TypedDict")
    flat = []
    for member in members(record):
        inner = without_none(member.hint)
        required = member.required and inner is None
        flat.append(dataclasses.replace(member, hint=member.hint if inner is None else inner, required=required))
    return object_schema(flat)
