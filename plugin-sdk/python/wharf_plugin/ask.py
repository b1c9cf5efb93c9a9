"""Questions to the user, the model and the client, as straight-line code.

A question without an answer ends the call, which is repeated from its start once the
answer is there. The key of a question is its position, so the same code finds its answer.
Whether the client supports a question is decided by the host, which knows the rules of
each revision.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, Union

from .content import Annotations, Audio, Image, Text
from .errors import ToolError, Unavailable
from .reading import read_form
from .sampling import Sampled, Sampling, ToolUse
from .schema import form_schema
from .values import dumps, plain

T = TypeVar("T")

Feature = Literal["form", "url", "sample", "sample-tools", "sample-context", "roots"]


@dataclass
class Root:
    """A folder that the client works in; `uri` is a `file:` URI."""

    uri: str
    name: str | None = None


@dataclass
class Form:
    """A form for the user; `schema` is JSON text."""

    message: str
    schema: str


@dataclass
class Visit:
    """A page for the user to visit."""

    message: str
    url: str


@dataclass
class Roots:
    """The folders that the client works in."""


@dataclass
class Question:
    """A question and its key, which links it to its answer."""

    key: str
    asks: Union[Form, Visit, Sampling, Roots]


@dataclass
class Required:
    """The outcome of a call with open questions."""

    questions: list[Question]
    state: bytes | None


@dataclass
class Accepted:
    """The user accepted; `content` is the filled-in form."""

    content: Any = None


@dataclass
class Declined:
    """The user declined."""


@dataclass
class Refused:
    """The client does not support the question or refused it."""

    why: str


@dataclass
class Made:
    """The value of `once`."""

    value: Any


Reply = Union[Accepted, Declined, Sampled, "list[Root]", Refused, Made]


class Asked(BaseException):
    """Ends the call with questions. Not an `Exception`, since a tool must not catch it."""

    def __init__(self, required: Required) -> None:
        super().__init__("waiting for an answer")
        self.required = required


class Ask:
    """Asks the caller. Ask before you act: the code before a question runs again when the
    answer is there; put what must not run twice into `once`."""

    def __init__(self, features: frozenset[str], answers: Mapping[str, Reply], state: bytes | None) -> None:
        self._features = features
        self._asked = 0
        self._key: str | None = None
        self._open: list[Question] = []
        self._settled: dict[str, Reply] = _earlier(state)
        self._answers = answers

    def can(self, feature: Feature) -> bool:
        """Whether the client supports this."""
        return feature in self._features

    def confirm(self, message: str) -> bool:
        """Asks the user for a yes or no. Declining and cancelling are a no."""
        return isinstance(self._elicit(Form(message, '{"type":"object","properties":{}}')), Accepted)

    def form(self, message: str, of: type[T]) -> T | None:
        """Asks the user to fill in a form: a flat dataclass or `TypedDict` of text, numbers,
        booleans and choices. `None` if the user declines. Do not ask for secrets."""
        reply = self._elicit(Form(message, dumps(form_schema(of))))
        return read_form(of, reply.content or {}) if isinstance(reply, Accepted) else None

    def form_of(self, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """The same with your own schema; returns the content as it is."""
        reply = self._elicit(Form(message, dumps(schema)))
        return (reply.content or {}) if isinstance(reply, Accepted) else None

    def visit(self, message: str, url: str) -> bool:
        """Asks the user to visit a page, for data that must not pass through the client. `True`
        if the user agreed, which does not mean that the visit is finished."""
        return isinstance(self._elicit(Visit(message, url)), Accepted)

    def sample(self, question: str | Sampling) -> Sampled:
        """Asks the client's model: a text, or a `Sampling` with more options."""
        reply = self._ask(Sampling([question]) if isinstance(question, str) else question)
        if not isinstance(reply, Sampled):
            raise _misplaced()
        return reply

    def roots(self) -> list[Root]:
        """Asks for the folders that the client works in."""
        reply = self._ask(Roots())
        if not isinstance(reply, list):
            raise _misplaced()
        return reply

    def once(self, make: Callable[[], T]) -> T:
        """Computes a value once and keeps it over the rounds of a call. It must
        be one that JSON can say, and travels through the client (sealed by the host), so
        keep it small."""
        key, reply = self._next()
        if reply is None:
            reply = self._settled[key] = Made(plain(make()))
        if not isinstance(reply, Made):
            raise _misplaced()
        value: T = reply.value
        return value

    def together(self, *questions: Callable[[], Any]) -> list[Any]:
        """Asks several questions in one round, which saves a round trip:
        `a, b = ask.together(lambda: ask.confirm("A?"), lambda: ask.confirm("B?"))`."""
        answers: list[Any] = []
        refused: Unavailable | None = None
        for question in questions:
            try:
                answers.append(question())
            except Asked:
                continue
            except Unavailable as error:
                refused = refused or error
        self._wait()
        if refused:
            raise refused
        return answers

    def key(self, key: str) -> Ask:
        """Sets the key of the next question, for clients and tests that read it; the default
        is `q1`, `q2` and so on. Keys must not repeat in one call."""
        self._key = key
        return self

    def insist(self, question: Question) -> Required:
        """Repeats a refused question, so that a later answer still counts."""
        return Required([question], _state((key, one) for key, one in self._settled.items() if key != question.key))

    def _elicit(self, asks: Form | Visit) -> Accepted | Declined:
        reply = self._ask(asks)
        if not isinstance(reply, (Accepted, Declined)):
            raise _misplaced()
        return reply

    def _ask(self, asks: Form | Visit | Sampling | Roots) -> Reply:
        key, reply = self._next()
        question = Question(key, asks)
        if isinstance(reply, Refused):
            raise Unavailable(reply.why, question)
        if reply is not None:
            return reply
        self._open.append(question)
        self._wait()
        raise AssertionError("an open question ends the round")

    def required(self) -> Required | None:
        """The questions without an answer, if there are any."""
        return Required(list(self._open), _state(self._settled.items())) if self._open else None

    def _wait(self) -> None:
        required = self.required()
        if required is not None:
            raise Asked(required)

    def _next(self) -> tuple[str, Reply | None]:
        self._asked += 1
        key, self._key = self._key or f"q{self._asked}", None
        if key not in self._settled and key in self._answers:
            self._settled[key] = self._answers[key]
        return key, self._settled.get(key)


def _misplaced() -> ToolError:
    return ToolError("the answer does not fit the question")


def _state(settled: Iterable[tuple[str, Reply]]) -> bytes | None:
    """The answers so far, for the next round."""
    kept = [[key, type(reply).__name__, _kept(reply)] for key, reply in settled]
    return dumps(kept).encode() if kept else None


def _kept(reply: Reply) -> Any:
    if isinstance(reply, Sampled):
        return [reply.model, reply.stop_reason, [[type(piece).__name__, _said(piece)] for piece in reply.content]]
    return plain(reply)


def _said(piece: Text | Image | Audio | ToolUse) -> dict[str, Any]:
    hints = {field.name for field in fields(Annotations)}
    return {name: value for name, value in plain(piece).items() if name not in hints}


def _earlier(state: bytes | None) -> dict[str, Reply]:
    """The answers of earlier rounds."""
    return {key: _restored(kind, value) for key, kind, value in json.loads(state)} if state else {}


def _restored(kind: str, value: Any) -> Reply:
    if kind == "list":
        return [Root(**root) for root in value]
    if kind == "Sampled":
        model, stop_reason, pieces = value
        return Sampled(model, [_piece(kind, piece) for kind, piece in pieces], stop_reason)
    reply: Reply = _REPLIES[kind](**value)
    return reply


def _piece(kind: str, piece: dict[str, Any]) -> Text | Image | Audio | ToolUse:
    if "data" in piece:
        piece["data"] = base64.b64decode(piece["data"])
    made: Text | Image | Audio | ToolUse = _PIECES[kind](**piece)
    return made


_REPLIES: dict[str, Any] = {kind.__name__: kind for kind in (Accepted, Declined, Refused, Made)}
_PIECES: dict[str, Any] = {kind.__name__: kind for kind in (Text, Image, Audio, ToolUse)}
