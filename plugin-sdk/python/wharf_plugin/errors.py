"""Why a call has no result. The host converts it for each client."""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """The call failed. The model reads the text: say what it could do about it."""


class InvalidArguments(Exception):
    """The caller's arguments are invalid.

    `path` is a JSON Pointer into the arguments, empty for the whole of them.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


class NotFound(Exception):
    """There is no tool, resource or prompt of that name."""

    def __init__(self, text: str = "not found") -> None:
        super().__init__(text)


class Unavailable(Exception):
    """A question was refused: the client does not support it or refused it.

    A tool that works without the answer catches this. If it is not caught, the
    host tells the client what it lacks.
    """

    def __init__(self, why: str, question: Any) -> None:
        super().__init__(why)
        self.question = question
