"""Tools, resources, prompts and completions, as a client sees them."""

import logging
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from wharf_plugin import (
    Call,
    Completion,
    Content,
    Image,
    InvalidArguments,
    Message,
    NotFound,
    Plugin,
    PromptResult,
    ReadResult,
    Resource,
    ResourceContents,
    Text,
    ToolError,
    ToolResult,
    http,
    list_changed,
    log,
    resource_updated,
    settings,
)
from wharf_plugin.store import Store, StoreError
from wharf_plugin.testing import Client


@dataclass
class Stats:
    words: int


class Tools(unittest.TestCase):
    def test_a_function_is_a_tool(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def greet(name: Annotated[str, "Whom."], times: int = 1) -> str:
            """Greets somebody."""
            return " ".join([f"Hello, {name}!"] * times)

        client = Client(plugin)
        self.assertEqual(
            client.tools(),
            [
                {
                    "name": "greet",
                    "title": None,
                    "description": "Greets somebody.",
                    "inputSchema": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "description": "Whom."},
                            "times": {"type": "integer", "default": 1},
                        },
                        "required": ["name"],
                        "additionalProperties": False,
                    },
                    "outputSchema": None,
                    "readOnly": None,
                }
            ],
        )
        self.assertEqual(client.call("greet", name="Ada", times=2).text, "Hello, Ada! Hello, Ada!")
        self.assertEqual(greet("Bob"), "Hello, Bob!")
        with self.assertRaisesRegex(InvalidArguments, "name is required"):
            client.call("greet")
        with self.assertRaises(NotFound):
            client.call("meet")

    def test_a_tool_says_whether_it_can_be_a_task(self) -> None:
        plugin = Plugin()

        @plugin.tool(tasks="optional")
        def render() -> None:
            return None

        @plugin.tool
        def look() -> None:
            return None

        self.assertEqual([tool.tasks for tool in plugin.tools.values()], ["optional", "forbidden"])
        wrong: Any = True
        with self.assertRaisesRegex(ValueError, "play: tasks=True: must be one of forbidden, optional, required"):
            plugin.tool(name="play", tasks=wrong)(lambda: None)

    def test_return_types(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def structured() -> Stats:
            return Stats(3)

        @plugin.tool
        def number() -> int:
            return 3

        @plugin.tool
        def strings() -> list[str]:
            return ["a"]

        @plugin.tool
        def pieces() -> list[Content]:
            return ["a", Image(b"b", "image/png")]

        @plugin.tool
        def maybe() -> Text | None:
            return None

        @plugin.tool
        def nothing() -> None:
            return None

        @plugin.tool
        def both() -> ToolResult[Stats]:
            return ToolResult(["three"], Stats(3))

        @plugin.tool
        def untyped():  # type: ignore[no-untyped-def]
            return {"a": 1}

        @plugin.tool
        def mapping() -> dict[str, Any]:
            return {"a": None}

        client = Client(plugin)
        outputs = {tool["name"]: tool["outputSchema"] for tool in client.tools()}
        stats = {"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]}
        self.assertEqual(
            outputs,
            {
                "structured": stats,
                "number": {"type": "integer"},
                "strings": {"type": "array", "items": {"type": "string"}},
                "pieces": None,
                "maybe": None,
                "nothing": None,
                "both": stats,
                "untyped": None,
                "mapping": {"type": "object"},
            },
        )
        self.assertEqual(client.call("structured").structured, {"words": 3})
        self.assertEqual(client.call("number").structured, 3)
        self.assertEqual(client.call("strings").structured, ["a"])
        self.assertEqual(client.call("pieces").content, ["a", Image(b"b", "image/png")])
        self.assertEqual(client.call("maybe").content, ())
        self.assertEqual(client.call("nothing").content, ())
        self.assertEqual((client.call("both").text, client.call("both").structured), ("three", {"words": 3}))
        self.assertEqual(client.call("untyped").structured, {"a": 1})
        self.assertEqual(client.call("mapping").structured, {"a": None})

    def test_options(self) -> None:
        plugin = Plugin()

        @plugin.tool(name="look", title="Look", read_only=True, input_schema={"type": "object", "minProperties": 1})
        def any_arguments(call: Call, **given: Any) -> str:
            """Takes what comes."""
            return f"{call.id} {given}"

        client = Client(plugin)
        self.assertEqual(plugin.tools["look"].hints, (True, False, True, False))
        self.assertEqual(client.tools()[0]["inputSchema"], {"type": "object", "minProperties": 1})
        self.assertEqual(client.call("look", a=1).text, "test {'a': 1}")

    def test_a_wrong_name_is_answered_with_the_right_ones(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def describe() -> str:
            return ""

        @plugin.tool
        def count() -> str:
            return ""

        @plugin.resource("note://{id}")
        def note(id: int) -> str:
            return str(id)

        client = Client(plugin)
        wrong: list[tuple[Callable[[], Any], str]] = [
            (lambda: client.call("descripe"), "no tool 'descripe'; there are: count, describe"),
            (lambda: client.prompt("review"), "no prompt 'review'; there are: none"),
            (lambda: client.read("not://1"), "no resource 'not://1'; there are: note://{id}"),
            (lambda: client.complete("node://{id}", "id"), "no prompt or template 'node://{id}'; there are: note://{id}"),
            (lambda: client.method("sync"), "no method 'sync'; there are: none"),
        ]
        for call, text in wrong:
            with self.assertRaises(NotFound) as raised:
                call()
            self.assertEqual(str(raised.exception), text)

    def test_invalid_tools(self) -> None:
        plugin = Plugin()

        def rest(**given: Any) -> str:
            return ""

        def several(*names: str) -> str:
            return ""

        def strange(value: complex) -> str:
            return ""

        def twice() -> str:
            return ""

        plugin.tool(twice)
        wrong: list[tuple[Callable[..., str], str]] = [
            (rest, "needs an `input_schema`"),
            (several, "cannot be given by name"),
            (strange, "strange: value: complex has no JSON Schema"),
        ]
        for function, why in wrong:
            with self.subTest(why=why), self.assertRaisesRegex(TypeError, why):
                plugin.tool(function)
        with self.assertRaisesRegex(ValueError, "duplicate tools: twice"):
            plugin.tool(twice)
        for registered, why in ((plugin.tools, "@plugin.tool,"), (plugin.prompts, "@plugin.prompt,")):
            decorate: Any = registered
            with self.subTest(why=why), self.assertRaisesRegex(TypeError, f"write {why} without the s"):
                decorate(twice)

    def test_failures(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def fail(how: Literal["told", "invalid", "bug", "silent", "exit"]) -> str:
            if how == "told":
                raise ToolError("the disk is full")
            if how == "invalid":
                raise InvalidArguments("/how", "is wrong")
            if how == "bug":
                return dict[str, str]()["missing"]
            if how == "silent":
                raise RuntimeError
            raise SystemExit(3)

        client = Client(plugin)
        for how, kind, text in [
            ("told", ToolError, "^the disk is full$"),
            ("invalid", InvalidArguments, "^/how: is wrong$"),
            ("bug", ToolError, "^KeyError: 'missing'$"),
            ("silent", ToolError, "^RuntimeError$"),
            ("exit", ToolError, "^SystemExit: 3$"),
        ]:
            with self.subTest(how=how), self.assertRaisesRegex(kind, text):
                client.call("fail", how=how)


class OtherInterfaces(unittest.TestCase):
    def test_resources(self) -> None:
        plugin = Plugin()

        @plugin.resource("notes://index", mime_type="text/plain")
        def index() -> str:
            """All notes."""
            return "none"

        @plugin.resource("notes://{id}", title="Note", mime_type="text/markdown")
        def note(id: int, uri: str, call: Call) -> ReadResult:
            return ReadResult([ResourceContents(uri, f"note {id} for {call.id}")], cache_for=60)

        @plugin.resource("files://{+path}")
        def file(path: str) -> bytes:
            if path == "no":
                raise NotFound
            return path.encode()

        @plugin.resource_list
        def newest() -> list[Resource]:
            return [Resource("notes://7", "seven")]

        client = Client(plugin)
        self.assertEqual([one.uri for one in client.resources()], ["notes://index", "notes://7"])
        self.assertEqual(client.resources()[0].description, "All notes.")
        self.assertEqual(client.read("notes://index"), [ResourceContents("notes://index", "none", "text/plain")])
        self.assertEqual(client.read("notes://7")[0].body, "note 7 for test")
        self.assertEqual(client.read_result("notes://7").cache_for, 60)
        self.assertEqual(client.read("files://a%20b/c")[0].body, b"a b/c")
        for uri in ["files://no", "other://x", "notes://a/b"]:
            with self.subTest(uri=uri), self.assertRaises(NotFound):
                client.read(uri)
        with self.assertRaisesRegex(InvalidArguments, "/id: must be a number"):
            client.read("notes://x")

    def test_invalid_resources(self) -> None:
        plugin = Plugin()

        def other(name: str) -> str:
            return name

        with self.assertRaisesRegex(TypeError, "has no {name}"):
            plugin.resource("notes://{id}")(other)
        with self.assertRaisesRegex(ValueError, r"write \{name\} or \{\+name\}"):
            plugin.resource("notes://{?name}")(other)

        @plugin.resource("bad://1")
        def bad() -> Any:
            return 1

        with self.assertRaisesRegex(ToolError, "neither text nor bytes"):
            Client(plugin).read("bad://1")

    def test_prompts(self) -> None:
        plugin = Plugin()

        @plugin.prompt
        def review(code: Annotated[str, "What to look at."], depth: int = 1) -> list[Message]:
            """Asks for a review."""
            return [Message(f"Review: {code} {depth + 1}"), Message("Gladly.", "assistant")]

        @plugin.prompt(title="Plan")
        def plan() -> str:
            return "What is first?"

        client = Client(plugin)
        self.assertEqual([member.required for member in plugin.prompts["review"].members], [True, False])
        messages = client.prompt("review", code="x", depth="2").messages
        self.assertEqual(messages, [Message("Review: x 3"), Message("Gladly.", "assistant")])
        self.assertEqual(client.prompt("plan"), PromptResult(["What is first?"]))
        with self.assertRaisesRegex(InvalidArguments, "code is required"):
            client.prompt("review")

    def test_completions(self) -> None:
        plugin = Plugin()

        @plugin.prompt
        def go(town: str, street: str) -> str:
            return town + street

        @plugin.completion(go, "town")
        def towns(typed: str) -> list[str]:
            return [town for town in ["Bern", "Basel"] if town.startswith(typed)]

        @plugin.completion("go", "street")
        def streets(typed: str, given: dict[str, str], call: Call) -> Completion:
            return Completion([given.get("town", "") + typed + call.id], total=9, has_more=True)

        client = Client(plugin)
        self.assertEqual(client.complete("go", "town", "Be").values, ["Bern"])
        self.assertEqual(client.complete("go", "street", "x", town="B"), Completion(["Bxtest"], 9, True))
        self.assertEqual(client.complete("go", "other"), Completion())
        with self.assertRaisesRegex(ValueError, "is neither a prompt"):
            plugin.completion(towns, "x")(streets)

    def test_extensions(self) -> None:
        plugin = Plugin()
        plugin.extension("com.example/sync", {"versions": [1]})

        @plugin.method
        def changes(version: int) -> dict[str, Any]:
            return {"since": version}

        self.assertEqual(Client(plugin).method("changes", version=3), {"since": 3})
        self.assertEqual(plugin.capabilities, {("extension", "com.example/sync"): '{"versions":[1]}'})
        self.assertEqual(plugin.offers(), {"extensions"})


class HostFunctions(unittest.TestCase):
    def test_messages(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def talk(call: Call) -> str:
            log.notice("plain")
            call.log.data("warning", "archive", {"skipped": 2})
            logging.getLogger("library").error("from %s", "logging")
            call.progress(1, 3, "copying")
            list_changed("tools")
            resource_updated("notes://1")
            return str(call.cancelled)

        logger = logging.getLogger("library")
        handler = log.Handler()
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        client = Client(plugin)
        client.cancel()
        self.assertEqual(client.call("talk").text, "True")
        self.assertEqual(
            client.logged, ["notice: plain", 'warning: archive: {"skipped":2}', 'error: library: "from logging"']
        )
        self.assertEqual(
            client.messages, ["progress: 1 of 3 copying", "list changed: tools", "resource updated: notes://1"]
        )

    def test_http(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def weather(place: str) -> str:
            response = http.post("https://example.org/", json={"place": place}, headers={"accept": "text/plain"})
            return f"{response.ok().text} {response.header('ETag')}"

        def server(request: http.Request) -> http.Response:
            if request.body != b'{"place":"Bern"}':
                return http.Response(404)
            return http.Response(200, b"fine", [("etag", "x")])

        self.assertEqual(Client(plugin, http=server).call("weather", place="Bern").text, "fine x")
        with self.assertRaisesRegex(ToolError, "status 404"):
            Client(plugin, http=server).call("weather", place="Basel")
        with self.assertRaises(http.HttpError) as raised:
            Client(plugin).call("weather", place="Bern")
        self.assertEqual(raised.exception.kind, "denied")

    def test_the_store(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def visit() -> list[Any]:
            store = Store()
            number = store.increment("visits")
            store.set(f"visit/{number}", {"n": number})
            Store("other").set_bytes("raw", b"\xff")
            return [store.get("visits"), store.get("nothing", 5), "visits" in store, sorted(store.keys())]

        client = Client(plugin)
        client.call("visit")
        self.assertEqual(client.call("visit").structured, [2, 5, True, ["visit/1", "visit/2", "visits"]])
        self.assertEqual(client.buckets["other"], {"raw": b"\xff"})
        with self.assertRaisesRegex(StoreError, "can grant it `keyvalue`"):
            Client(plugin, store=False).call("visit")

    def test_a_store_of_the_module_is_that_of_the_host_of_each_call(self) -> None:
        plugin, store = Plugin(), Store()

        @plugin.tool
        def visit() -> int:
            return store.increment("visits")

        first, second = Client(plugin), Client(plugin)
        results = [client.call("visit").structured for client in (first, first, second)]
        self.assertEqual(results, [1, 2, 1])

    def test_settings(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def unit() -> str:
            return f"{settings.get('unit', 'm')} {settings.all()}"

        self.assertEqual(Client(plugin).call("unit").text, "m {}")
        self.assertEqual(Client(plugin, config={"unit": "ft"}).call("unit").text, "ft {'unit': 'ft'}")

    def test_without_a_host(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "no host is connected"):
            Store().get("a")


if __name__ == "__main__":
    unittest.main()
