"""Tests a plugin without a host, in plain Python: no component is built.

    from wharf_plugin.testing import Client, accept
    from plugin import plugin

    def test_greets():
        assert Client(plugin).call("greet", name="Ada").text == "Hello, Ada!"

It checks no schema and no grant: those checks are the host's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from . import ask, host
from .call import Call, Context
from .content import Resource, ResourceContents, Text
from .errors import NotFound, ToolError
from .http import HttpError, Request, Response
from .plugin import Plugin
from .results import Completion, PromptResult, ReadResult, ToolResult
from .sampling import Sampled
from .store import DENIED, StoreError
from .values import dumps

T = TypeVar("T")

FEATURES = frozenset({"form", "url", "sample", "sample-tools", "sample-context", "roots"})


def accept(**content: Any) -> ask.Reply:
    """The user accepts, with this content."""
    return ask.Accepted(content)


def decline() -> ask.Reply:
    """The user declines."""
    return ask.Declined()


def model(text: str) -> ask.Reply:
    """The model returns this text."""
    return Sampled("test", [Text(text)], "endTurn")


def roots(*uris: str) -> ask.Reply:
    """The client works in these folders."""
    return [ask.Root(uri) for uri in uris]


def unavailable(why: str = "the client does not support this") -> ask.Reply:
    """The client refuses the question."""
    return ask.Refused(why)


class Client:
    """A client of the plugin, with a simulated host between them.

    `answers` are given to the questions of a call in their order; `http` answers requests;
    `config` holds settings. `logged` has its log messages, `messages` its other ones, `asked` the questions
    that it asked. The store is in memory; `store=False` revokes the grant.
    """

    def __init__(
        self,
        plugin: Plugin,
        *,
        answers: Iterable[ask.Reply] = (),
        http: Callable[[Request], Response] | None = None,
        config: Mapping[str, str] | None = None,
        store: bool = True,
        features: Iterable[str] = FEATURES,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.plugin = plugin
        self.answers = list(answers)
        self.asked: list[ask.Question] = []
        self._features = frozenset(features)
        self._meta = meta or {}
        self._host = _Host(http, dict(config or {}), store)

    @property
    def logged(self) -> list[str]:
        """The log messages: `info: text`."""
        return self._host.logged

    @property
    def messages(self) -> list[str]:
        """Other notifications: progress, changed lists, updated resources."""
        return self._host.messages

    @property
    def buckets(self) -> dict[str, dict[str, bytes]]:
        """The stored values, by bucket and key."""
        return self._host.buckets

    def cancel(self) -> None:
        """Cancels: `call.cancelled` is true from now on."""
        self._host.gone = True

    def call(self, tool: str, /, **arguments: Any) -> ToolResult[Any]:
        """Calls a tool and answers its questions. Structured content is converted by
        JSON. Raises the tool's exception: `ToolError`, `InvalidArguments`, or `NotFound`, which
        names the tools that there are."""
        _known("tool", tool, self.plugin.tools)
        result = self._run(lambda call: self.plugin.call_tool(tool, dumps(arguments), call))
        if result.structured is not ToolResult().structured:
            result.structured = json.loads(dumps(result.structured))
        return result

    def prompt(self, name: str, /, **arguments: str) -> PromptResult:
        """Makes a prompt. Raises `NotFound`, which names those that there are."""
        _known("prompt", name, self.plugin.prompts)
        return self._run(lambda call: self.plugin.get_prompt(name, arguments, call))

    def read(self, uri: str) -> list[ResourceContents]:
        """Reads a resource. Raises `NotFound`, which names those that there are."""
        return list(self.read_result(uri).contents)

    def read_result(self, uri: str) -> ReadResult:
        """Reads a resource, with its cache lifetime."""
        if all(family.match(uri) is None for family in self.plugin.families.values()):
            raise NotFound(_absent("resource", uri, self.plugin.families))
        return self._run(lambda call: self.plugin.read_resource(uri, call))

    def complete(self, subject: str, argument: str, typed: str = "", **given: str) -> Completion:
        """Completes an argument of a prompt (by its name) or a variable of a template. Raises
        `NotFound`, which names those that there are."""
        _known("prompt or template", subject, {**self.plugin.prompts, **self.plugin.families})
        return self._run(lambda call: self.plugin.complete(subject, argument, typed, given, call))

    def method(self, name: str, /, **params: Any) -> Any:
        """Calls an extension method. Raises `NotFound`, which names those that there are."""
        _known("method", name, self.plugin.methods)
        return json.loads(self._run(lambda call: self.plugin.call_method(name, dumps(params), call)))

    def tools(self) -> list[dict[str, Any]]:
        """The list of tools, with their schemas."""
        return [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": json.loads(tool.input_schema),
                "outputSchema": tool.output_schema and json.loads(tool.output_schema),
                "readOnly": tool.hints[0],
            }
            for tool in self.plugin.tools.values()
        ]

    def resources(self) -> list[Resource]:
        """The list of resources."""
        before = host.connect(self._host)
        try:
            return self.plugin.listed()
        finally:
            host.connect(before)

    def _run(self, work: Callable[[Call], T]) -> T:
        state: bytes | None = None
        answers: dict[str, ask.Reply] = {}
        before = host.connect(self._host)
        try:
            while True:
                call = Call(Context("test", self._features, 30.0, answers, state, self._meta))
                outcome = call.attempt(lambda: work(call))
                if not isinstance(outcome, ask.Required):
                    return outcome
                state, answers = outcome.state, {}
                for question in outcome.questions:
                    self.asked.append(question)
                    if not self.answers:
                        raise ToolError(f"no answer left for {question.asks}")
                    answers[question.key] = self.answers.pop(0)
        finally:
            host.connect(before)


def _known(kind: str, name: str, known: Mapping[str, Any]) -> None:
    if name not in known:
        raise NotFound(_absent(kind, name, known))


def _absent(kind: str, name: str, known: Iterable[str]) -> str:
    return f"no {kind} {name!r}; there are: {', '.join(sorted(known)) or 'none'}"


class _Host:
    def __init__(self, http: Callable[[Request], Response] | None, config: dict[str, str], store: bool) -> None:
        self.logged: list[str] = []
        self.messages: list[str] = []
        self.buckets: dict[str, dict[str, bytes]] = {}
        self.gone = False
        self._http = http
        self._config = config
        self._store = store

    def log(self, level: host.Level, message: str) -> None:
        self.logged.append(f"{level}: {message}")

    def log_data(self, level: host.Level, logger: str, data: str) -> None:
        self.logged.append(f"{level}: {logger}: {data}")

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        of = "" if total is None else f" of {total:g}"
        self.messages.append(f"progress: {progress:g}{of} {message or ''}".rstrip())

    def list_changed(self, listing: host.Listing) -> None:
        self.messages.append(f"list changed: {listing}")

    def resource_updated(self, uri: str) -> None:
        self.messages.append(f"resource updated: {uri}")

    def cancelled(self) -> bool:
        return self.gone

    def fetch(self, request: Request) -> Response:
        if self._http is None:
            raise HttpError("denied", "a test without `http` has no network")
        return self._http(request)

    def open_bucket(self, name: str) -> _Bucket:
        if not self._store:
            raise StoreError(DENIED)
        return _Bucket(self.buckets.setdefault(name, {}))

    def setting(self, key: str) -> str | None:
        return self._config.get(key)

    def settings(self) -> dict[str, str]:
        return dict(self._config)


class _Bucket:
    def __init__(self, values: dict[str, bytes]) -> None:
        self._values = values

    def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def exists(self, key: str) -> bool:
        return key in self._values

    def keys(self) -> list[str]:
        return list(self._values)

    def increment(self, key: str, delta: int) -> int:
        try:
            sum = int(self._values.get(key, b"0")) + delta
        except ValueError:
            raise StoreError("the value is not a whole number") from None
        self._values[key] = str(sum).encode()
        return sum
