"""Converts JSON values to the types of hints. The host has checked most of it already."""

from __future__ import annotations

import base64
import binascii
import collections.abc as abc
import datetime
import enum
import json
import uuid
from typing import Any, Literal, get_args, get_origin

from . import models
from .errors import InvalidArguments
from .shapes import MISSING, Member, bare, branches, is_record, members, without_none
from .values import plain

_MOMENTS = (datetime.datetime, datetime.date, datetime.time)


def read(hint: Any, value: Any, path: str = "") -> Any:
    """The value in the type of the hint. Raises `InvalidArguments` with the place in `path`."""
    hint, _ = bare(hint)
    if hint in (Any, object):
        return value
    if branches(hint):
        return _first_that_fits(branches(hint), value, path)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        for choice in arguments:
            if type(plain(choice)) is type(value) and plain(choice) == value:
                return choice
        raise InvalidArguments(path, f"must be one of {_listed(arguments)}")
    if models.is_model(hint):
        return models.read(hint, value, path)
    if is_record(hint):
        made = read_members(members(hint), _expect(dict, value, path, "an object"), path)
        return hint(**made)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        for member in hint:
            if plain(member) == value:
                return member
        raise InvalidArguments(path, f"must be one of {_listed(member.value for member in hint)}")
    if origin in (dict, abc.Mapping, abc.MutableMapping):
        found = _expect(dict, value, path, "an object")
        return {key: read(arguments[1], one, f"{path}/{_escaped(key)}") for key, one in found.items()}
    if origin is not None:
        return _read_items(origin, arguments, _expect(list, value, path, "an array"), path)
    return _read_simple(hint, value, path)


def _first_that_fits(hints: tuple[Any, ...], value: Any, path: str) -> Any:
    error: InvalidArguments | None = None
    for hint in hints:
        try:
            return read(hint, value, path)
        except InvalidArguments as failure:
            error = error or failure
    raise error or InvalidArguments(path, "fits nothing")


def _read_items(origin: Any, arguments: tuple[Any, ...], items: list[Any], path: str) -> Any:
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        if len(items) != len(arguments):
            raise InvalidArguments(path, f"must have {len(arguments)} items")
        return tuple(read(hint, item, f"{path}/{i}") for i, (hint, item) in enumerate(zip(arguments, items)))
    made = [read(arguments[0], item, f"{path}/{i}") for i, item in enumerate(items)]
    if origin in (set, abc.Set):
        return set(made)
    return origin(made) if origin in (frozenset, tuple) else made


def _read_simple(hint: Any, value: Any, path: str) -> Any:
    if hint is None or hint is type(None):
        return _expect(type(None), value, path, "null")
    if hint is str:
        return _expect(str, value, path, "a string")
    if hint is bool:
        return _expect(bool, value, path, "a boolean")
    if hint is int:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return _expect(int, value, path, "a whole number")
    if hint is float:
        return float(_expect((int, float), value, path, "a number"))
    if hint is bytes:
        try:
            return base64.b64decode(_expect(str, value, path, "base64"), validate=True)
        except binascii.Error:
            raise InvalidArguments(path, "must be base64") from None
    if hint in _MOMENTS or hint is uuid.UUID:
        text = _expect(str, value, path, "a string")
        try:
            return hint.fromisoformat(text) if hint in _MOMENTS else uuid.UUID(text)
        except ValueError as error:
            raise InvalidArguments(path, str(error)) from None
    if hint in (list, tuple, set, frozenset):
        return hint(_expect(list, value, path, "an array"))
    if hint is dict:
        return _expect(dict, value, path, "an object")
    raise TypeError(f"{getattr(hint, '__name__', hint)} cannot be read from JSON")


def read_members(found: list[Member], given: dict[str, Any], path: str = "") -> dict[str, Any]:
    """The members of an object, each in its type, without those that are missing."""
    made = {}
    for member in found:
        if member.name in given:
            made[member.name] = read(member.hint, given[member.name], f"{path}/{_escaped(member.name)}")
        elif member.required:
            raise InvalidArguments(path, f"{member.name} is required")
    return made


def read_form(record: Any, given: dict[str, Any]) -> Any:
    """A filled-in form; empty optional fields are `None`."""
    empty = {
        member.name: None
        for member in members(record)
        if member.default is MISSING and member.required and without_none(member.hint) is not None
    }
    return read(record, {**empty, **given})


def read_text(hint: Any, text: str, path: str) -> Any:
    """An argument of a prompt, which is always a string, in the type of its hint."""
    inner = without_none(hint)
    hint, _ = bare(hint if inner is None else inner)
    if hint in (int, float, bool):
        try:
            return read(hint, json.loads(text), path)
        except ValueError:
            raise InvalidArguments(path, f"must be {'true or false' if hint is bool else 'a number'}") from None
    return read(hint, text, path)


def _expect(kind: Any, value: Any, path: str, what: str) -> Any:
    # `True` is an `int` in Python, but not a number in JSON.
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise InvalidArguments(path, f"must be {what}")


def _listed(values: Any) -> str:
    return ", ".join(json.dumps(plain(value), ensure_ascii=False) for value in values)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
