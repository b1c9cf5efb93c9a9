"""All that the wrapper offers."""

import asyncio
import datetime
import enum
import json
import logging
import os
import random
import socket
import sys
import urllib.parse
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import httpx
import requests
from pydantic import BaseModel, Field

from wharf_plugin import (
    Audio,
    Call,
    Completion,
    Content,
    Embedded,
    Icon,
    Image,
    InvalidArguments,
    Message,
    NotFound,
    Plugin,
    PromptResult,
    ReadResult,
    Resource,
    ResourceContents,
    Sampling,
    SamplingMessage,
    SamplingTool,
    Text,
    ToolAnswer,
    ToolError,
    ToolResult,
    Unavailable,
    http,
    list_changed,
    resource_updated,
    settings,
)
from wharf_plugin.store import Store

plugin = Plugin()


class Unit(enum.Enum):
    METRE = "m"
    FOOT = "ft"


class Options(TypedDict, total=False):
    deep: bool


@dataclass
class Shape:
    """A shape."""

    kind: Literal["circle", "square"]
    size: Annotated[float, "How large.", {"exclusiveMinimum": 0}]
    unit: Unit = Unit.METRE
    tags: list[str] = field(default_factory=list)


@dataclass
class Area:
    area: float
    of: Shape
    when: datetime.date | None = None


@plugin.tool(title="Area", read_only=True, icons=[Icon("https://example.org/i.png", "image/png", ["16x16"], "dark")])
def area(shape: Shape, when: datetime.date | None = None, options: Options | None = None) -> Area:
    """The area of a shape.

    Args:
        shape: Which shape.
        when: When it was measured.
    """
    return Area(shape.size**2 * (3 if shape.kind == "circle" else 1), shape, when)


@plugin.tool(meta={"example.org/group": "show"})
def show() -> list[Content]:
    """Every kind of content."""
    return [
        "plain",
        Text("for the user", audience=["user"], priority=1, last_modified="2026-01-01T00:00:00Z"),
        Image(b"\x89PNG", "image/png"),
        Audio(b"RIFF", "audio/wav", meta={"example.org/x": 1}),
        Embedded(ResourceContents("note://1", "milk", "text/plain")),
        Embedded(ResourceContents("note://1/scan", b"\xff\x00", "image/png")),
        Resource("https://example.org/", "a page", title="Page", size=12, audience=["assistant"]),
    ]


@plugin.tool
def both() -> ToolResult[dict[str, int]]:
    """Structured content, and content of its own."""
    return ToolResult(["three"], {"n": 3}, meta={"example.org/y": 2})


@plugin.tool
def null() -> Annotated[Any, "nothing"]:
    """Structured content that is nothing."""
    return ToolResult(structured=None)


@plugin.tool
def fail(how: str) -> str:
    """Fails in some way."""
    if how == "told":
        raise ToolError("the disk is full")
    if how == "invalid":
        raise InvalidArguments("/how", "is wrong")
    if how == "missing":
        raise NotFound
    if how == "partly":
        return ToolResult(["2 of 3"], failed=True)  # type: ignore[return-value]
    if how == "exit":
        sys.exit(3)
    if how == "deep":
        return fail(how)
    if how == "type":
        return ToolResult([Image("text", "image/png")])  # type: ignore
    if how == "nan":
        return ToolResult(structured=float("nan"))  # type: ignore
    raise ValueError(f"what is {how}?")


@plugin.tool
def surrogate() -> str:
    """Half a pair, and a whole one in halves."""
    return "a\ud800b\ud83d\ude00"


@plugin.tool(tasks="optional")
def talk(call: Call) -> str:
    """Says all it can."""
    call.log.notice("plain")
    call.log.data("warning", "archive", {"skipped": 2})
    logging.getLogger("library").info("through logging")
    print("printed")
    call.progress(1, 2, "half way")
    resource_updated("note://1")
    return f"{call.cancelled} {call.meta} {call.time_left > 1} {bool(call.id)} {call.ask.can('form')}"


@plugin.tool
def dice() -> float:
    """Another number each time."""
    return random.random()


@dataclass
class Table:
    """A table."""

    seats: Annotated[int, "How many people.", {"minimum": 1}]
    where: Literal["inside", "outside"] = "inside"
    note: str | None = None


@plugin.tool
def book(call: Call) -> str:
    """Asks for a table, and then whether it is meant."""
    number = call.ask.once(lambda: random.randrange(1 << 30))
    table = call.ask.key("table").form("Which table?", Table)
    if table is None:
        return "none"
    if not call.ask.key("sure").confirm(f"{table.seats} seats?"):
        return "not sure"
    return f"{table} {number == call.ask.once(lambda: number)}"


@plugin.tool
def wonder(call: Call) -> str:
    """Asks the model, the client and for a visit at once."""
    ask = call.ask
    tools = [SamplingTool("look", "Looks.", {"type": "object"})] if ask.can("sample-tools") else []
    sampling = Sampling(
        [SamplingMessage("Say something"), SamplingMessage([Image(b"x", "image/png")])],
        max_tokens=7,
        system="Be brief.",
        temperature=0.5,
        stop_at=["."],
        models=["small"],
        speed_priority=1,
        tools=tools,
        tool_choice="auto" if tools else None,
        metadata={"a": 1},
    )
    said, roots, went = ask.together(
        lambda: ask.key("say").sample(sampling),
        lambda: ask.key("roots").roots(),
        lambda: ask.key("visit").visit("Sign in", "https://example.org/"),
    )
    if said.tool_uses:
        use = said.tool_uses[0]
        answer = ToolAnswer(use.id, [f"seen {use.input}"])
        said = ask.key("again").sample(Sampling(["Say something", *said.used(answer)], tools=tools))
    return f"{said.model} {said.text} {[root.uri for root in roots]} {went}"


@plugin.tool
def perhaps(call: Call) -> str:
    """Does without an answer."""
    try:
        return str(call.ask.confirm("Sure?"))
    except Unavailable as refused:
        return f"nobody: {refused}"


@plugin.tool
def keep(value: Any) -> dict[str, Any]:
    """Keeps a value."""
    store = Store()
    number = store.increment("count", 2)
    store.set("value", value)
    raw = Store("other")
    raw.set_bytes("raw", b"\xff")
    raw.set("gone", 1)
    raw.delete("gone")
    return {
        "number": number,
        "value": store.get("value"),
        "keys": sorted(store.keys()),
        "raw": list(raw.get_bytes("raw") or b""),
        "gone": "gone" in raw,
        "none": store.get("none"),
    }


@plugin.tool
def set_up() -> dict[str, Any]:
    """Settings and environment."""
    return {"unit": settings.get("unit"), "none": settings.get("none"), "all": settings.all(), "env": os.getenv("MODE")}


@plugin.tool(open_world=True)
def fetch(url: str, post: Any = None) -> dict[str, Any]:
    """Fetches a URL."""
    response = http.fetch(url, "GET" if post is None else "POST", headers={"x-a": ["1", "2"]}, json=post, timeout=5)
    return {"status": response.status, "type": response.header("Content-Type"), "text": response.text}


@plugin.resource("note://index", mime_type="application/json", priority=0.5)
def index() -> str:
    """All notes."""
    return json.dumps(["note://1"])


@plugin.resource("note://{id}", title="Note", mime_type="text/plain")
def note(id: int, call: Call) -> ReadResult:
    """A note by its number."""
    if id > 9:
        raise NotFound
    if id == 9 and not call.ask.key("read").confirm("Read it?"):
        raise ToolError("not allowed")
    contents = [ResourceContents(f"note://{id}", f"note {id}", "text/plain"), ResourceContents(f"note://{id}/b", b"\0")]
    return ReadResult(contents, cache_for=60, scope="public")


@plugin.resource_list
def newest() -> list[Resource]:
    return [Resource("note://1", "one", size=6, icons=[Icon("https://example.org/i.png")])]


@plugin.prompt(title="Review")
def review(code: Annotated[str, "What to look at."], depth: int = 1) -> PromptResult:
    """Asks for a review."""
    return PromptResult([f"Review {code} {depth}", Message(Image(b"x", "image/png"), "assistant")], description="Reviews")


@plugin.prompt
def careful(call: Call) -> str:
    """Asks first."""
    return "yes" if call.ask.key("sure").confirm("Sure?") else "no"


@plugin.completion(review, "code")
def codes(typed: str) -> list[str]:
    return [code for code in ["alpha", "beta"] if code.startswith(typed)]


@plugin.completion(note, "id")
def ids(typed: str, given: dict[str, str]) -> Completion:
    return Completion([typed + "1", json.dumps(given)], total=9, has_more=True)


plugin.extension("com.example/sync", {"versions": [1]})
plugin.experimental("fastSync")


@plugin.method
def changes(version: int) -> dict[str, Any]:
    list_changed("tools")
    return {"since": version}


@plugin.tool
def late(what: str) -> str:
    """What the standard library imports only when it needs it, and what nothing has imported."""
    if what == "module":
        import ftplib  # noqa: F401
    if what == "immortal":
        is_immortal = getattr(sys, "_is_immortal")
        return f"{is_immortal(late)} {is_immortal(plugin.tools)} {is_immortal(object())}"
    common = Counter("hello").most_common(1)
    day = datetime.datetime.strptime("22.11.2026", "%d.%m.%Y")
    coded = "ä".encode("latin-1") + "bücher".encode("idna") + "a".encode("utf-16-le")
    return f"{common} {day:%j} {coded!r} {urllib.parse.urlsplit('http://ä/x').hostname}"


@plugin.tool
async def wait(call: Call, ask: bool = False) -> str:
    """Waits for several things at once, and asks in two tasks."""
    queue: asyncio.Queue[int] = asyncio.Queue()
    lock = asyncio.Lock()

    async def put(number: int) -> None:
        async with lock:
            await asyncio.sleep(0.01)
        await queue.put(number)

    async def sure(key: str) -> bool:
        await asyncio.sleep(0)
        return call.ask.key(key).confirm(f"{key}?")

    await asyncio.gather(*(put(number) for number in range(3)))
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    except TimeoutError:
        await queue.put(9)
    async with asyncio.timeout(60):
        made = await asyncio.to_thread(sum, [1, 2])
    answers = await asyncio.gather(sure("one"), sure("two")) if ask else []
    left = asyncio.create_task(asyncio.sleep(3600))
    await asyncio.sleep(0)
    return f"{[queue.get_nowait() for _ in range(4)]} {made} {answers} {left.done()}"


@plugin.tool
async def stuck() -> str:
    """Waits for what never happens."""
    await asyncio.Event().wait()
    return "never"


@plugin.tool
def nested() -> str:
    """Runs a loop of its own."""
    return asyncio.run(asyncio.sleep(0.001, "slept"))


class Item(BaseModel):
    """An item."""

    name: str
    price: float = Field(..., gt=0)
    size: int | None = None


@plugin.tool
def order(item: Item) -> Item:
    """Models of pydantic 1."""
    return item.copy(update={"price": item.price * 2})


@plugin.tool
def connect(how: str) -> str:
    """Opens a socket, which fails."""
    try:
        socket.create_connection(("127.0.0.1", 1)) if how == "connection" else socket.socket()
    except OSError as error:
        return str(error)
    return "connected"


@plugin.tool
async def request(library: str, url: str, post: str | None = None) -> dict[str, Any]:
    """Requests by libraries for HTTP."""
    method, body = ("GET", None) if post is None else ("POST", post.encode())
    headers = {"X-Library": library, "Content-Type": "text/plain"}
    if library == "urllib":
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=5) as got:
            return {"status": got.status, "url": got.url, "type": got.headers["content-type"], "text": got.read().decode()}
    if library == "requests":
        with requests.Session() as session:
            response = session.request(method, url, data=body, headers=headers, timeout=(1, 5), stream=True)
            text = b"".join(response.iter_content(4)).decode()
            found = {"status": response.status_code, "url": response.url, "type": response.headers["content-type"]}
            return {**found, "text": text, "cookies": session.cookies.get_dict()}
    if library == "httpx":
        with httpx.Client(follow_redirects=True) as client:
            answer = client.request(method, url, content=body, headers=headers)
    else:
        async with httpx.AsyncClient(follow_redirects=True, timeout=5) as later:
            answer, _ = await asyncio.gather(
                later.request(method, url, content=body, headers=headers), asyncio.sleep(0.001)
            )
    found = {"status": answer.status_code, "url": str(answer.url), "type": answer.headers["content-type"]}
    return {**found, "text": answer.text, "cookies": dict(answer.cookies)}
