"""Pages that chat clients show beside the results of tools (MCP Apps)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .content import ResourceContents
from .page_script import SCRIPT

Permission = Literal["camera", "microphone", "geolocation", "clipboardWrite"]

MIME_TYPE = "text/html;profile=mcp-app"


@dataclass(frozen=True)
class Page:
    """A page: `@plugin.tool(page=Page("ui://hello/face.html", HTML))`.

    `uri` begins with `ui://` and the plugin's name. `html` is a whole HTML5 document with everything inline. A client
    reads it once, and gives it the result of each call: `wharf.on("tool-result", show)` in its own script, which comes
    after one that the page gets here. A page with `own_script` gets none.

    `connects_to` and `loads_from` are the origins of requests, and of images, fonts, styles and scripts. The operator
    may refuse these and the `permissions`.
    """

    uri: str
    html: str
    title: str | None = None
    border: bool = True
    connects_to: Sequence[str] = ()
    loads_from: Sequence[str] = ()
    permissions: Sequence[Permission] = ()
    own_script: bool = False

    @property
    def meta(self) -> dict[str, Any]:
        """What clients are told of it."""
        origins = {"connectDomains": list(self.connects_to), "resourceDomains": list(self.loads_from)}
        asked: dict[str, Any] = {
            "prefersBorder": self.border,
            "csp": {name: domains for name, domains in origins.items() if domains},
            "permissions": {name: {} for name in self.permissions},
        }
        return {"ui": {name: value for name, value in asked.items() if value != {}}}

    def contents(self) -> ResourceContents:
        """The document, with the script before the first one of its own."""
        html = self.html
        if not self.own_script:
            at = html.find("<script")
            at = len(html) if at < 0 else at
            html = f"{html[:at]}<script>{SCRIPT}</script>\n{html[at:]}"
        return ResourceContents(self.uri, html, MIME_TYPE, meta=self.meta)


def tool_meta(meta: Any, page: Page | None, app_only: bool) -> Any:
    """The `_meta` of a tool with what it says of pages."""
    ui: dict[str, Any] = {}
    if page is not None:
        ui["resourceUri"] = page.uri
    if app_only:
        ui["visibility"] = ["app"]
    return {**(meta or {}), "ui": {**(meta or {}).get("ui", {}), **ui}} if ui else meta
