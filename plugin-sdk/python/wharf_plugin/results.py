"""What tools, prompts and resources give back, where a plain value does not say it all."""

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
"""There is no structured content. `None` is some: it is JSON's `null`."""


@dataclass
class ToolResult(Generic[T]):
    """A result put together by hand: content, structured content, or both.

    Annotate a tool with `ToolResult[Stats]` to have the output schema made from `Stats`.
    `failed` says that the tool failed, and the content tells the model how.
    """

    content: Sequence[Content] = ()
    structured: T = NOTHING
    failed: bool = False
    meta: Meta | None = None

    @property
    def text(self) -> str:
        """All its texts, one after the other."""
        texts = (getattr(piece, "text", piece) for piece in self.content)
        return "".join(text for text in texts if isinstance(text, str))


def is_content(value: object) -> bool:
    """Whether it is a piece of content, or several of which at least one is no `str`."""
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
    """The messages of a prompt, with a description of their own."""

    messages: Sequence[Message | Content]
    description: str | None = None
    meta: Meta | None = None


@dataclass
class ReadResult:
    """What was read, and how long it may be taken for fresh: seconds, a day at most.

    `scope` is "public" only for what is the same for everybody.
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
