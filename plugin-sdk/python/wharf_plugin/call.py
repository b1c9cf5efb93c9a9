"""The running call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from . import log
from .ask import Ask, Asked, Reply, Required
from .errors import InvalidArguments, NotFound, ToolError, Unavailable
from .host import current

T = TypeVar("T")


@dataclass
class Context:
    """The host's information about a call."""

    id: str = ""
    features: frozenset[str] = frozenset()
    time_left: float = 0.0
    answers: Mapping[str, Reply] = field(default_factory=dict)
    state: bytes | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


class Call:
    """The running call: its id, its time limit, its progress, and a way to `ask` the caller.
    A tool, prompt or resource gets it by a parameter annotated `Call`."""

    log = log
    """Messages to the host's log and to the client: `call.log.info("…")`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def id(self) -> str:
        """The host's id of this call, as in its log."""
        return self._context.id

    @property
    def time_left(self) -> float:
        """Seconds that were left when the call began, until the host stops it."""
        return self._context.time_left

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`, without the keys that MCP reserves."""
        return self._context.meta

    @property
    def cancelled(self) -> bool:
        """Whether the caller has cancelled. Results are discarded after that."""
        return current().cancelled()

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress; `progress` must increase."""
        current().progress(float(progress), None if total is None else float(total), message)

    @cached_property
    def ask(self) -> Ask:
        """Questions to the user, the client's model and the client."""
        return Ask(self._context.features, self._context.answers, self._context.state)

    def attempt(self, work: Callable[[], T]) -> T | Required:
        """Runs a tool, prompt or resource to its end or to its next question.

        Raises `NotFound`, `InvalidArguments` and `ToolError`, and nothing else.
        """
        try:
            outcome = work()
        except Asked as asked:
            return self._waiting() or asked.required
        except BaseException as error:
            waiting = self._waiting()
            if waiting is not None:
                return waiting
            return self._failed(_alone(error))
        # A task that nothing waited for may have asked.
        return self._waiting() or outcome

    def _failed(self, error: BaseException) -> Required:
        if isinstance(error, Unavailable):
            # Unhandled: the question is repeated, which tells the host that the plugin
            # needs the answer.
            return self.ask.insist(error.question)
        if isinstance(error, (NotFound, InvalidArguments, ToolError)):
            raise error
        raise ToolError(_told(error)) from error

    def _waiting(self) -> Required | None:
        """The questions without an answer, if there are any."""
        return self.ask.required() if "ask" in vars(self) else None


def _alone(error: BaseException) -> BaseException:
    """The error of the only task that failed, of those in a `TaskGroup`."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _told(error: BaseException) -> str:
    name = type(error).__name__
    text = str(error)
    return f"{name}: {text}" if text else name
