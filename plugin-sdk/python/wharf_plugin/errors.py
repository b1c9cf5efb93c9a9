"""Why a call has no result. How that looks to a client is the host's affair."""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """It did not work out. The model reads the text: say what it could do about it."""


class InvalidArguments(Exception):
    """The caller gave something wrong.

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
    """A question cannot be put: the client cannot or will not be asked it.

    A tool that can do without catches this. One that does not catch it insists, and the
    host tells the client what it lacks.
    """

    def __init__(self, why: str, question: Any) -> None:
        super().__init__(why)
        self.question = question
