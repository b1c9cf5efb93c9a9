"""Requests to the client's model, and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from .content import Audio, Content, Image, Meta, Role, Text


@dataclass
class ToolUse:
    """A tool use that the model requests."""

    id: str
    name: str
    input: Any


@dataclass
class ToolAnswer:
    """The result of a tool use, for the model."""

    id: str
    content: Sequence[Content]
    failed: bool = False


SamplingContent = Union[str, Text, Image, Audio, ToolUse, ToolAnswer]


@dataclass
class SamplingMessage:
    """One message of the conversation with the model."""

    content: Sequence[SamplingContent] | SamplingContent
    role: Role = "user"


@dataclass
class SamplingTool:
    """A tool that the model may use while sampling; `schema` is its input's JSON Schema."""

    name: str
    description: str | None = None
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


@dataclass
class Sampling:
    """A request to the model, where a text is not enough.

    `tools` need a client with the feature `sample-tools`, `context` one with
    `sample-context`. `models` are names or parts of names, best first; the priorities go
    from 0 to 1.
    """

    messages: Sequence[SamplingMessage | str]
    max_tokens: int = 1000
    system: str | None = None
    temperature: float | None = None
    stop_at: Sequence[str] = ()
    models: Sequence[str] = ()
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None
    context: Literal["none", "this-server", "all-servers"] | None = None
    tools: Sequence[SamplingTool] = ()
    tool_choice: Literal["auto", "required", "none"] | None = None
    metadata: Meta | None = None


@dataclass
class Sampled:
    """The model's answer."""

    model: str
    content: Sequence[Text | Image | Audio | ToolUse]
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """All its texts, concatenated."""
        return "".join(piece.text for piece in self.content if isinstance(piece, Text))

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tool uses that it requests."""
        return [piece for piece in self.content if isinstance(piece, ToolUse)]

    def used(self, *answers: ToolAnswer) -> list[SamplingMessage]:
        """The next two messages: its answer, and the results of its tool uses."""
        return [SamplingMessage(list(self.content), "assistant"), SamplingMessage(list(answers))]
