"""Results of tools, prompts and resources, where a plain value is not enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from .content import CONTENT_TYPES, Content, Meta, ResourceContents, Role

T = TypeVar("T")


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Any = _Nothing()
"""Marks missing structured content; `None` is a value, JSON's `null`."""


@dataclass
class ToolResult(Generic[T]):
    """An explicit result: content, structured content, or both.

    Annotate a tool with `ToolResult[Stats]` to derive the output schema from `Stats`.
    `failed` marks an error, which the content describes to the model.
    """

    content: Sequence[Content] = ()
    structured: T = NOTHING
    failed: bool = False
    meta: Meta | None = None

    @property
    def text(self) -> str:
        """All its texts, concatenated."""
        texts = (getattr(piece, "text", piece) for piece in self.content)
        return "".join(text for text in texts if isinstance(text, str))


def is_content(value: object) -> bool:
    """Whether it is a piece of content, or several of which at least one is not a `str`."""
    if isinstance(value, (list, tuple)):
        pieces = all(isinstance(piece, CONTENT_TYPES) for piece in value)
        return pieces and not all(isinstance(piece, str) for piece in value)
    return isinstance(value, CONTENT_TYPES)


@dataclass
class Message:
    """One message of a prompt."""

    content: Content
    role: Role = "user"


@dataclass
class PromptResult:
    """The messages of a prompt, with a description."""

    messages: Sequence[Message | Content]
    description: str | None = None
    meta: Meta | None = None


@dataclass
class ReadResult:
    """The contents of a resource, and how long they may be cached: seconds, a day at most.

    `scope` is "public" only for contents that are the same for all users.
    """

    contents: Sequence[ResourceContents]
    cache_for: float | None = None
    scope: Literal["public", "private"] = "private"
    meta: Meta | None = None


@dataclass
class Completion:
    """Suggestions, best first. The host sends at most 100."""

    values: Sequence[str] = field(default_factory=list)
    total: int | None = None
    has_more: bool = False
