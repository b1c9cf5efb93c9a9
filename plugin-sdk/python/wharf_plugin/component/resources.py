"""The interface `wharf:plugin/resources`."""

from __future__ import annotations

from typing import Any

import wit_world.exports as world
from wit_world.exports import resources as r

from ..content import Resource
from ..plugin import Plugin
from ..results import ReadResult
from .asking import ended, listed
from .lower import contents, hints, icons, meta, optional, resource, text


def export(plugin: Plugin) -> Any:
    """The class that componentize-py looks for."""
    families = [family.about for family in plugin.families.values() if family.template]
    templates = listed(lambda: [_template(about) for about in families])

    class Resources(world.Resources):
        def list_resources(self) -> Any:
            return listed(lambda: [resource(one) for one in plugin.listed()])

        def list_resource_templates(self) -> Any:
            return templates

        def read_resource(self, uri: str, context: Any) -> Any:
            return ended(
                context,
                lambda call: _result(plugin.read_resource(uri, call)),
                r.ReadOutcome_Complete,
                r.ReadOutcome_InputRequired,
            )

    return Resources


def _template(about: Resource) -> Any:
    return r.ResourceTemplate(
        text(about.uri),
        text(about.name),
        optional(about.title),
        optional(about.description),
        optional(about.mime_type),
        hints(about),
        icons(about.icons),
        meta(about.meta),
    )


def _result(result: ReadResult) -> Any:
    caching = None
    if result.cache_for is not None:
        caching = r.Caching(max(int(result.cache_for * 1000), 0), r.CacheScope[result.scope.upper()])
    return r.ReadResult([contents(one) for one in result.contents], caching, meta(result.meta))
