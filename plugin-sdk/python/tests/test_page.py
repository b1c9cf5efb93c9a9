"""Pages of MCP Apps."""

import unittest

from wharf_plugin import Page, Plugin
from wharf_plugin.page_script import SCRIPT
from wharf_plugin.testing import Client

FACE = Page(
    "ui://dice/face.html",
    "<!doctype html><p id=face><script>show()</script>",
    title="A die",
    connects_to=["https://api.example.org"],
    permissions=["clipboardWrite"],
)


def dice(page: Page = FACE) -> Plugin:
    plugin = Plugin()

    @plugin.tool(page=page, meta={"example.org/sides": 6, "ui": {"visibility": ["model"]}})
    def roll() -> str:
        return "4"

    @plugin.tool(page=page)
    def roll_again() -> str:
        return "5"

    @plugin.tool(app_only=True)
    def fresh() -> str:
        return "6"

    return plugin


class Pages(unittest.TestCase):
    def test_tools_say_which_page_they_have(self) -> None:
        tools = dice().tools
        ui = {"visibility": ["model"], "resourceUri": "ui://dice/face.html"}
        self.assertEqual(tools["roll"].meta, {"example.org/sides": 6, "ui": ui})
        self.assertEqual(tools["roll_again"].meta, {"ui": {"resourceUri": "ui://dice/face.html"}})
        self.assertEqual(tools["fresh"].meta, {"ui": {"visibility": ["app"]}})

    def test_a_page_is_a_resource_with_the_script_before_its_own(self) -> None:
        self.assertEqual(dice().offers(), {"tools", "resources"})
        client = Client(dice())
        [listed] = client.resources()
        [read] = client.read("ui://dice/face.html")
        ui = {
            "prefersBorder": True,
            "csp": {"connectDomains": ["https://api.example.org"]},
            "permissions": {"clipboardWrite": {}},
        }
        self.assertEqual((listed.title, listed.mime_type, listed.meta), ("A die", "text/html;profile=mcp-app", {"ui": ui}))
        self.assertEqual((listed.name, listed.description), ("face.html", None))
        self.assertEqual((read.mime_type, read.meta), (listed.mime_type, listed.meta))
        self.assertEqual(read.body, f"<!doctype html><p id=face><script>{SCRIPT}</script>\n<script>show()</script>")

    def test_a_page_may_bring_its_own_script(self) -> None:
        [read] = Client(dice(Page("ui://dice/own.html", "<p>", own_script=True))).read("ui://dice/own.html")
        self.assertEqual((read.body, read.meta), ("<p>", {"ui": {"prefersBorder": True}}))

    def test_two_pages_need_two_uris(self) -> None:
        plugin = dice()
        with self.assertRaisesRegex(ValueError, "another resource has the URI of the page: ui://dice/face.html"):
            plugin.tool(name="other", page=Page("ui://dice/face.html", "<p>"))(lambda: "")


if __name__ == "__main__":
    unittest.main()
