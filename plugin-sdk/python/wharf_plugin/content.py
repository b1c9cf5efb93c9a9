"""Pieces of results and prompts, and descriptions of resources.

The host converts them for older clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

Role = Literal["user", "assistant"]
Meta = Mapping[str, Any]


@dataclass
class Icon:
    """An icon for a list entry. `src` is an `https:` or `data:` URI."""

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] = ()
    theme: Literal["light", "dark"] | None = None


@dataclass(kw_only=True)
class Annotations:
    """Hints for clients: the audience, the importance (0 to 1), the time of the last change
    (ISO 8601)."""

    audience: Sequence[Role] = ()
    priority: float | None = None
    last_modified: str | None = None
    meta: Meta | None = None


@dataclass
class Text(Annotations):
    """A text with hints; without hints a plain `str` is enough."""

    text: str


@dataclass
class Image(Annotations):
    """An image, as its bytes."""

    data: bytes
    mime_type: str


@dataclass
class Audio(Annotations):
    """Audio, as its bytes."""

    data: bytes
    mime_type: str


@dataclass
class ResourceContents:
    """The contents of a resource, text or bytes."""

    uri: str
    body: str | bytes
    mime_type: str | None = None
    meta: Meta | None = None


@dataclass
class Embedded(Annotations):
    """A resource's contents inside a result."""

    contents: ResourceContents


@dataclass
class Resource(Annotations):
    """The description of a resource: an entry of a list, or a link in a result."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Icon] = ()


Content = Union[str, Text, Image, Audio, Embedded, Resource]
"""A piece of a result or of a prompt. A `Resource` is a link to it."""

CONTENT_TYPES = (str, Text, Image, Audio, Embedded, Resource)
