"""Converts this package's values to the interface's types.

What has the wrong type must fail here, as an exception: further down it would end the
whole instance.
"""

from __future__ import annotations

from typing import Any

from wit_world.imports import types as t

from .. import content as c
from ..values import dumps


def text(value: object) -> str:
    """A valid string: a lone surrogate becomes U+FFFD."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def octets(value: object) -> bytes:
    """Valid bytes."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected bytes, not {type(value).__name__}")
    return bytes(value)


def optional(value: object) -> str | None:
    """An optional string."""
    return None if value is None else text(value)


def number(value: float | None) -> float | None:
    """An optional number."""
    return None if value is None else float(value)


def meta(value: c.Meta | None) -> str | None:
    """An optional JSON object."""
    return None if value is None else text(dumps(value))


def role(value: str) -> Any:
    """A role."""
    return t.Role[value.upper()]


def icons(values: Any) -> list[Any]:
    """Icons for a list entry."""
    return [
        t.Icon(
            text(icon.src),
            optional(icon.mime_type),
            [text(size) for size in icon.sizes],
            None if icon.theme is None else t.IconTheme[icon.theme.upper()],
        )
        for icon in values
    ]


def hints(value: c.Annotations) -> Any | None:
    """Hints, if there are any."""
    if not value.audience and value.priority is None and value.last_modified is None:
        return None
    audience = [value.audience] if isinstance(value.audience, str) else value.audience
    return t.Annotations([role(one) for one in audience], number(value.priority), optional(value.last_modified))


def contents(value: c.ResourceContents) -> Any:
    """The contents of a resource."""
    if isinstance(value.body, str):
        body: Any = t.ResourceBody_Text(text(value.body))
    else:
        body = t.ResourceBody_Blob(octets(value.body))
    return t.ResourceContents(text(value.uri), optional(value.mime_type), body, meta(value.meta))


def resource(value: c.Resource) -> Any:
    """The description of a resource."""
    return t.ResourceDescription(
        text(value.uri),
        text(value.name),
        optional(value.title),
        optional(value.description),
        optional(value.mime_type),
        None if value.size is None else int(value.size),
        hints(value),
        icons(value.icons),
        meta(value.meta),
    )


def text_content(value: str | c.Text) -> Any:
    """A text."""
    if isinstance(value, str):
        return t.TextContent(text(value), None, None)
    return t.TextContent(text(value.text), hints(value), meta(value.meta))


def media(value: c.Image | c.Audio) -> Any:
    """An image or audio."""
    return t.MediaContent(octets(value.data), text(value.mime_type), hints(value), meta(value.meta))


def piece(value: c.Content) -> Any:
    """A piece of content."""
    if isinstance(value, (str, c.Text)):
        return t.Content_Text(text_content(value))
    if isinstance(value, c.Image):
        return t.Content_Image(media(value))
    if isinstance(value, c.Audio):
        return t.Content_Audio(media(value))
    if isinstance(value, c.Embedded):
        embedded = t.EmbeddedResource(contents(value.contents), hints(value), meta(value.meta))
        return t.Content_Embedded(embedded)
    if isinstance(value, c.Resource):
        return t.Content_Link(resource(value))
    raise TypeError(f"a {type(value).__name__} is not content")
