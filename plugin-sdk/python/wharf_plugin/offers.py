"""The objects made from decorated functions: their descriptions, and how they run."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from .call import Call
from .content import CONTENT_TYPES, Icon, Meta, Resource, ResourceContents
from .errors import InvalidArguments, ToolError
from .reading import read_members, read_text
from .results import PromptResult, ReadResult, ToolResult, is_content
from .returned import expect
from .schema import input_schema as schema_of_arguments
from .schema import schema
from .shapes import bare, branches, parameters
from .templates import UriTemplate
from .values import dumps


TaskSupport = Literal["forbidden", "optional", "required"]
"""Whether a call may run as a task."""


def is_call(hint: Any) -> bool:
    """Whether a parameter is for the `Call`."""
    return bare(hint)[0] is Call


def prepare(function: Callable[..., Any]) -> None:
    """Imports the event loop if the function is a coroutine function: a built component could not."""
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        from . import loop  # noqa: F401


def finish(made: Any) -> Any:
    """What a function returns; if that is a coroutine, what that returns."""
    if not inspect.iscoroutine(made):
        return made
    from .loop import run

    return run(made)


def passed(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """The parameters of a function and their hints."""
    hints = typing.get_type_hints(function, include_extras=True)
    return [(name, hints.get(name)) for name in inspect.signature(function).parameters]


class _Offer:
    """A function, and which of its parameters gets the call."""

    def __init__(self, function: Callable[..., Any], ours: tuple[str, ...] = ()) -> None:
        prepare(function)
        self.function = function
        self._calls = [name for name, hint in passed(function) if is_call(hint)]
        self.rest = _rest(function)
        ours = (*ours, self.rest)
        self.members, self.description = parameters(function, lambda name, hint: is_call(hint) or name in ours)

    def invoke(self, arguments: Mapping[str, Any], call: Call) -> Any:
        return finish(self.function(**arguments, **dict.fromkeys(self._calls, call)))


class Tool(_Offer):
    """A tool."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        tasks: TaskSupport = "forbidden",
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(function)
        if self.rest and input_schema is None:
            raise TypeError(f"{function.__name__}: **{self.rest} needs an `input_schema`")
        self.name = name or function.__name__
        self.title = title
        self.description = description or self.description
        if read_only:
            destructive = False if destructive is None else destructive
            idempotent = True if idempotent is None else idempotent
            open_world = False if open_world is None else open_world
        self.hints = (read_only, destructive, idempotent, open_world)
        if tasks not in get_args(TaskSupport):
            raise ValueError(f"{self.name}: tasks={tasks!r}: must be one of {', '.join(get_args(TaskSupport))}")
        self.tasks = tasks
        self.icons = icons
        self.meta = meta
        self._returns = typing.get_type_hints(function, include_extras=True).get("return", Any)
        made = _structured(self._returns)
        try:
            self.input_schema = dumps(input_schema or schema_of_arguments(self.members))
            output = output_schema or (None if made is None else schema(made))
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        self.output_schema = None if output is None else dumps(output)

    def run(self, arguments: dict[str, Any], call: Call) -> ToolResult[Any]:
        read = read_members(self.members, arguments)
        return self._result(self.invoke({**arguments, **read} if self.rest else read, call))

    def _result(self, value: Any) -> ToolResult[Any]:
        if isinstance(value, ToolResult):
            return value
        expect(self.name, self._returns, value)
        if self.output_schema is not None:
            return ToolResult(structured=value)
        if value is None:
            return ToolResult()
        if is_content(value):
            return ToolResult(value if isinstance(value, (list, tuple)) else [value])
        return ToolResult(structured=value)


class Prompt(_Offer):
    """A prompt."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
    ) -> None:
        super().__init__(function)
        self.name = name or function.__name__
        self.title = title
        self.description = description or self.description
        self.icons = icons
        self.meta = meta

    def run(self, arguments: Mapping[str, str], call: Call) -> PromptResult:
        given = {}
        for member in self.members:
            if member.name in arguments:
                given[member.name] = read_text(member.hint, arguments[member.name], f"/{member.name}")
            elif member.required:
                raise InvalidArguments("", f"{member.name} is required")
        made = self.invoke(given, call)
        if isinstance(made, PromptResult):
            return made
        return PromptResult(made if isinstance(made, (list, tuple)) else [made])


class ResourceFamily(_Offer):
    """A resource, or a template."""

    def __init__(self, function: Callable[..., Any], about: Resource) -> None:
        super().__init__(function, ours=("uri",))
        self.about = about
        self.template = UriTemplate(about.uri) if "{" in about.uri else None
        variables = self.template.variables if self.template else []
        for member in self.members:
            if member.required and member.name not in variables:
                raise TypeError(f"{function.__name__}: {about.uri} has no {{{member.name}}}")
        # A resource with exactly that URI first, then the template with the most literal characters.
        self.rank = (self.template is None, len(re.sub(r"\{[^{}]*\}", "", about.uri)))
        self._uri = "uri" in inspect.signature(function).parameters

    def match(self, uri: str) -> dict[str, str] | None:
        if self.template:
            return self.template.match(uri)
        return {} if uri == self.about.uri else None

    def run(self, uri: str, variables: Mapping[str, str], call: Call) -> ReadResult:
        wanted = [member for member in self.members if member.name in variables]
        given = {one.name: read_text(one.hint, variables[one.name], f"/{one.name}") for one in wanted}
        if self._uri and "uri" not in given:
            given["uri"] = uri
        made = self.invoke(given, call)
        if isinstance(made, ReadResult):
            return made
        several = made if isinstance(made, (list, tuple)) else [made]
        return ReadResult([self._contents(uri, one) for one in several])

    def _contents(self, uri: str, made: Any) -> ResourceContents:
        if isinstance(made, ResourceContents):
            return made
        if isinstance(made, (str, bytes, bytearray)):
            return ResourceContents(uri, made if isinstance(made, str) else bytes(made), self.about.mime_type)
        raise ToolError(f"{self.about.name} returned a {type(made).__name__}, which is neither text nor bytes")


class Method(_Offer):
    """An extension method."""

    def run(self, params: dict[str, Any], call: Call) -> str:
        return dumps(self.invoke(read_members(self.members, params), call))


def _rest(function: Callable[..., Any]) -> str:
    """The name of `**arguments`, or nothing."""
    found = inspect.signature(function).parameters.values()
    return next((one.name for one in found if one.kind is one.VAR_KEYWORD), "")


def _structured(returns: Any) -> Any | None:
    """The type of a tool's structured content, if its annotation has one."""
    hint = bare(returns)[0]
    if get_origin(hint) is ToolResult:
        return get_args(hint)[0]
    if hint in (None, type(None), Any, object, ToolResult) or _is_content(hint):
        return None
    return returns


def _is_content(hint: Any) -> bool:
    hint = bare(hint)[0]
    if branches(hint):
        return all(one is type(None) or _is_content(one) for one in branches(hint))
    if get_origin(hint) in (list, tuple, Sequence):
        inner = get_args(hint)[0]
        return inner is not str and _is_content(inner)
    return any(hint is one for one in CONTENT_TYPES)
