"""The class `Plugin`, whose decorators register an author's functions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from .call import Call
from .content import Icon, Meta, Resource, Role
from .errors import NotFound
from .offers import Method, Prompt, ResourceFamily, TaskSupport, Tool, finish, is_call, passed, prepare
from .page import MIME_TYPE, Page, tool_meta
from .results import Completion, PromptResult, ReadResult, ToolResult
from .values import dumps

F = TypeVar("F", bound=Callable[..., Any])


class _Registered(dict[str, Any]):
    """What a decorator has registered. Its own name is that of the decorator with an `s`."""

    def __init__(self, decorator: str) -> None:
        super().__init__()
        self._decorator = decorator

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"write @plugin.{self._decorator}, without the s: @plugin.{self._decorator}s is no decorator")


class Plugin:
    """A plugin, with its decorated functions, which may be coroutine functions (`async def`).
    Assign it to a variable `plugin`.

    Every call gets a fresh instance of the whole component: what a call changes in memory
    is gone after it. What is done while the module is imported is done once, when the
    component is built.
    """

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = _Registered("tool")
        self.prompts: dict[str, Prompt] = _Registered("prompt")
        self.families: dict[str, ResourceFamily] = {}
        self.methods: dict[str, Method] = _Registered("method")
        self.capabilities: dict[tuple[Literal["extension", "experimental"], str], str] = {}
        self._lists: list[Callable[[], Any]] = []
        self._pages: dict[str, Page] = {}
        self._completions: dict[tuple[str, str], Callable[..., Any]] = {}

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        tasks: TaskSupport = "forbidden",
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        page: Page | None = None,
        app_only: bool = False,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """A function that a model can call.

        Its name, docstring and type hints are the tool's name, description and schemas;
        `Annotated[str, "…"]` or the docstring's `Args:` describe arguments. `read_only`
        says that it changes nothing, and `tasks="optional"` that it may take long: clients with
        tasks need not wait for it then. With `input_schema` the function gets the arguments as
        they are. Chat clients show its results in its `page`. With `app_only` it is for pages:
        they do not show it to the model.
        """
        page = options.pop("page", None)
        meta = tool_meta(options.get("meta"), page, options.pop("app_only", False))

        def add(function: F) -> F:
            tool = Tool(function, **{**options, "meta": meta})
            if page is not None:
                self._add_page(page)
            self.tools[_new(tool.name, self.tools, "tools")] = tool
            return function

        return add(function) if function is not None else add

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
    ) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """A message template that a user can select: a text, a `Message` or several of
        them, or a `PromptResult`."""

        def add(function: F) -> F:
            prompt = Prompt(function, **options)
            self.prompts[_new(prompt.name, self.prompts, "prompts")] = prompt
            return function

        return add(function) if function is not None else add

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        audience: Sequence[Role] = (),
        priority: float | None = None,
        last_modified: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
    ) -> Callable[[F], F]:
        """The contents of a resource, or of those of a template: the function's parameters
        are the variables of `notes://{id}`, and `uri` if it has that. It gives text, bytes,
        `ResourceContents` or several of them, or a `ReadResult`."""

        def add(function: F) -> F:
            about = Resource(
                uri,
                name or function.__name__,
                title,
                description or inspect.getdoc(function),
                mime_type,
                size,
                icons,
                audience=audience,
                priority=priority,
                last_modified=last_modified,
                meta=meta,
            )
            self.families[_new(uri, self.families, "resources")] = ResourceFamily(function, about)
            return function

        return add

    def resource_list(self, function: F) -> F:
        """A function that lists further resources. The host calls it when it loads the plugin,
        and after `list_changed("resources")`."""
        prepare(function)
        self._lists.append(function)
        return function

    def completion(self, subject: Callable[..., Any] | str, argument: str) -> Callable[[F], F]:
        """Suggestions for an argument of a prompt or a variable of a template, while a
        person types it. `subject` is the decorated function, the prompt's name or the
        template; the function gets what was typed, and, if it has a second parameter, the
        arguments that are already set."""

        def add(function: F) -> F:
            prepare(function)
            self._completions[_new((self._subject(subject), argument), self._completions, "completions")] = function
            return function

        return add

    def method(self, function: F) -> F:
        """An extension method, which clients call as `<plugin>/<name>`. Its result must become
        a JSON object, and it cannot ask questions."""
        self.methods[_new(function.__name__, self.methods, "methods")] = Method(function)
        return function

    def extension(self, name: str, settings: Mapping[str, Any] | None = None) -> None:
        """Declares an extension of the protocol, `vendor.example/name`."""
        self.capabilities["extension", name] = dumps(settings or {})

    def experimental(self, name: str, settings: Mapping[str, Any] | None = None) -> None:
        """Declares an experimental capability."""
        self.capabilities["experimental", name] = dumps(settings or {})

    def offers(self) -> set[str]:
        """The interfaces that it implements."""
        have = {
            "tools": self.tools,
            "resources": self.families or self._lists,
            "prompts": self.prompts,
            "completions": self._completions,
            "extensions": self.methods or self.capabilities,
        }
        return {name for name, found in have.items() if found}

    def call_tool(self, name: str, arguments: str, call: Call) -> ToolResult[Any]:
        """Runs a tool; `arguments` is JSON text."""
        if name not in self.tools:
            raise NotFound
        return self.tools[name].run(json.loads(arguments), call)

    def get_prompt(self, name: str, arguments: Mapping[str, str], call: Call) -> PromptResult:
        """Makes a prompt."""
        if name not in self.prompts:
            raise NotFound
        return self.prompts[name].run(arguments, call)

    def listed(self) -> list[Resource]:
        """The resources of the list."""
        found = [family.about for family in self.families.values() if not family.template]
        for function in self._lists:
            found += finish(function())
        return found

    def read_resource(self, uri: str, call: Call) -> ReadResult:
        """Reads a resource: one with exactly that URI, else of the most specific matching
        template."""
        matches = [(family, family.match(uri)) for family in self.families.values()]
        found = [(family, variables) for family, variables in matches if variables is not None]
        if not found:
            raise NotFound
        family, variables = max(found, key=lambda match: match[0].rank)
        return family.run(uri, variables, call)

    def complete(self, subject: str, argument: str, typed: str, given: Mapping[str, str], call: Call) -> Completion:
        """Suggests values; none without a completion function."""
        function = self._completions.get((subject, argument))
        if function is None:
            return Completion()
        taken = [name for name, hint in passed(function) if not is_call(hint)]
        calls = {name: call for name, hint in passed(function) if is_call(hint)}
        found = finish(function(*[typed, given][: len(taken)], **calls))
        return found if isinstance(found, Completion) else Completion(list(found))

    def call_method(self, name: str, params: str, call: Call) -> str:
        """Runs a method; params and result are JSON text."""
        if name not in self.methods:
            raise NotFound
        return self.methods[name].run(json.loads(params), call)

    def _add_page(self, page: Page) -> None:
        if page.uri in self.families:
            if self._pages.get(page.uri) != page:
                raise ValueError(f"another resource has the URI of the page: {page.uri}")
            return
        self._pages[page.uri] = page
        about = Resource(page.uri, page.uri.rsplit("/", 1)[-1], page.title, mime_type=MIME_TYPE, meta=page.meta)
        self.families[page.uri] = ResourceFamily(page.contents, about)

    def _subject(self, subject: Callable[..., Any] | str) -> str:
        if isinstance(subject, str):
            return subject
        for name, offer in (*self.prompts.items(), *self.families.items()):
            if offer.function is subject:
                return name
        raise ValueError(f"{subject.__name__} is neither a prompt nor a resource")


def _new(key: Any, found: Mapping[Any, Any], kind: str) -> Any:
    if key in found:
        raise ValueError(f"duplicate {kind}: {key}")
    return key
