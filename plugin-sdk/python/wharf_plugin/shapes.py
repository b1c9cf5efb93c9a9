"""Analysis of type hints, shared by schemas and reading."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Union, get_args, get_origin

# Not the one of `dataclasses`, with which a field of `Member` could not begin.
MISSING: Any = inspect.Parameter.empty


@dataclass
class Member:
    """A member of an object: a parameter, a dataclass's field, a key of a `TypedDict`."""

    name: str
    hint: Any
    default: Any = MISSING
    required: bool = True
    keywords: dict[str, Any] = field(default_factory=dict)


def bare(hint: Any) -> tuple[Any, dict[str, Any]]:
    """The type without `Annotated` and aliases, and the schema keywords in these: a `str` is
    the description, a mapping has keywords as they are."""
    keywords: dict[str, Any] = {}
    while True:
        if get_origin(hint) is Annotated:
            hint, *extras = get_args(hint)
            for extra in extras:
                if isinstance(extra, str):
                    keywords.setdefault("description", extra)
                elif isinstance(extra, Mapping):
                    keywords.update(extra)
        elif get_origin(hint) in (typing.Required, typing.NotRequired):
            (hint,) = get_args(hint)
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__value__") and hasattr(hint, "__type_params__"):
            hint = hint.__value__
        else:
            return hint, keywords


def branches(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a union; empty for other types."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()


def without_none(hint: Any) -> Any | None:
    """`T` of `T | None`, else `None`."""
    rest = [branch for branch in branches(bare(hint)[0]) if branch is not type(None)]
    if len(rest) == len(branches(bare(hint)[0])) or not rest:
        return None
    return rest[0] if len(rest) == 1 else Union[tuple(rest)]


def is_record(hint: Any) -> bool:
    """Whether it is a dataclass or a `TypedDict`."""
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint))


@functools.cache
def members(record: type) -> list[Member]:
    """The members of a dataclass or of a `TypedDict`."""
    hints = typing.get_type_hints(record, include_extras=True)
    described = argument_docs(inspect.getdoc(record) or "")[1]
    if typing.is_typeddict(record):
        required: frozenset[str] = getattr(record, "__required_keys__")
        found = [Member(name, hint, required=name in required) for name, hint in hints.items()]
    else:
        found = [_member_of(one, hints[one.name]) for one in dataclasses.fields(record) if one.init]
    return [_described(member, described) for member in found]


def _member_of(one: dataclasses.Field[Any], hint: Any) -> Member:
    if one.default is not dataclasses.MISSING:
        return Member(one.name, hint, one.default, required=False)
    return Member(one.name, hint, required=one.default_factory is dataclasses.MISSING)


def parameters(function: Callable[..., Any], besides: Callable[[str, Any], bool]) -> tuple[list[Member], str]:
    """The parameters of a function without those in `besides`, and its description."""
    hints = typing.get_type_hints(function, include_extras=True)
    description, described = argument_docs(inspect.getdoc(function) or "")
    found = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if besides(parameter.name, hint):
            continue
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD and parameter.kind is not parameter.KEYWORD_ONLY:
            raise TypeError(f"{function.__name__}: the parameter {parameter.name} cannot be given by name")
        member = Member(parameter.name, hint, parameter.default, parameter.default is MISSING)
        found.append(_described(member, described))
    return found, description


def _described(member: Member, described: dict[str, str]) -> Member:
    member.keywords = bare(member.hint)[1]
    if member.name in described:
        member.keywords.setdefault("description", described[member.name])
    return member


_ARGUMENTS = ("args:", "arguments:", "parameters:", "attributes:")
_OTHERS = ("returns:", "raises:", "yields:", "example:", "examples:")


def argument_docs(doc: str) -> tuple[str, dict[str, str]]:
    """A docstring without the sections that are not for the model, and the descriptions of
    the arguments from its `Args:` or `:param name:` lines."""
    text: list[str] = []
    described: dict[str, str] = {}
    section, current, indent = "", "", 0
    for line in doc.splitlines():
        stripped = line.strip()
        level = len(line) - len(line.lstrip())
        if stripped.startswith(":param ") and ":" in stripped[7:]:
            head, _, rest = stripped[7:].partition(":")
            section, current, indent = "field", head.split()[-1], level
            described[current] = rest.strip()
        elif stripped.startswith((":return", ":raise", ":rtype", ":type ")):
            section, current = "other", ""
        elif level == 0 and stripped.lower() in _ARGUMENTS:
            section, current, indent = "arguments", "", -1
        elif level == 0 and stripped.lower() in _OTHERS:
            section, current = "other", ""
        elif section and stripped and level == 0 and section != "field":
            section = ""
            text.append(line)
        elif section == "arguments" and stripped:
            if indent < 0:
                indent = level
            head, colon, rest = stripped.partition(":")
            if level <= indent and colon:
                current = head.split("(")[0].strip().lstrip("*")
                described[current] = rest.strip()
            elif current:
                described[current] = f"{described[current]} {stripped}".strip()
        elif section == "field" and stripped and level > indent:
            described[current] = f"{described[current]} {stripped}".strip()
        elif not section or section == "field":
            section = "" if section == "field" else section
            text.append(line)
    return "\n".join(text).strip(), described
