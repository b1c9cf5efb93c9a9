"""All server features, through an official Python client of either version and in either era, with
the plugin `everything`.

The connections are made by `check.py`.
"""

import asyncio
import warnings
from pathlib import Path

from mcp import types

TIMEOUT = 60
WATCHED = "test://watched-resource"

# The newer client warns about each method that only the older revisions have.
warnings.filterwarnings("ignore", message=".*(removed|deprecated) as of 2026-07-28.*")


def field(thing, name: str):
    """A member in the spelling of either version: `is_error` or `isError`."""
    first, *rest = name.split("_")
    camel = first + "".join(word.capitalize() for word in rest)
    return getattr(thing, name) if hasattr(thing, name) else getattr(thing, camel, None)


def text(result) -> str:
    assert not field(result, "is_error"), result
    return result.content[0].text


class Recorder:
    """Records the notifications of a client, and answers its requests."""

    def __init__(self) -> None:
        self.messages, self.updated, self.steps, self.asked = [], [], [], []
        self.recorded = asyncio.Condition()

    def callbacks(self) -> dict:
        return {
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "elicitation_callback": self.elicit,
            "logging_callback": self.message,
            "message_handler": self.notice,
        }

    async def until(self, condition) -> None:
        async with asyncio.timeout(TIMEOUT), self.recorded:
            await self.recorded.wait_for(condition)

    async def keep(self, where: list, what) -> None:
        async with self.recorded:
            where.append(what)
            self.recorded.notify_all()

    async def message(self, params) -> None:
        await self.keep(self.messages, params)

    async def progress(self, progress, total, message) -> None:
        await self.keep(self.steps, (progress, total, message))

    async def notice(self, message) -> None:
        inner = getattr(message, "root", message)
        if getattr(inner, "method", None) == "notifications/resources/updated":
            await self.keep(self.updated, str(inner.params.uri))

    async def sample(self, _, params):
        self.asked.append(params)
        content = types.TextContent(type="text", text="from the model")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(self, _):
        return types.ListRootsResult(roots=[types.Root(uri="file:///a")])

    async def elicit(self, _, params):
        self.asked.append(params)
        if getattr(params, "mode", "form") == "url" or not schema(params)["properties"]:
            return types.ElicitResult(action="accept")
        filled = {name: "Ada" for name in schema(params)["required"]}
        return types.ElicitResult(action="accept", content=filled)


def schema(params) -> dict:
    return field(params, "requested_schema")


async def resources(client) -> None:
    listed = {str(resource.uri): resource for resource in (await client.list_resources()).resources}
    assert field(listed["test://static-text"], "mime_type") == "text/plain", listed
    templates = field(await client.list_resource_templates(), "resource_templates")
    assert [field(template, "uri_template") for template in templates] == ["test://template/{id}/data"], templates
    read = await client.read_resource("test://static-text")
    assert read.contents[0].text == "This is the content of the static text resource.", read
    binary = await client.read_resource("test://static-binary")
    assert binary.contents[0].blob, binary
    made = await client.read_resource("test://template/7/data")
    assert "Data for ID: 7" in made.contents[0].text, made
    await fails(client.read_resource("test://nothing-here"), "nothing-here")


async def fails(call, word: str) -> None:
    try:
        await call
    except Exception as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"no error about {word}")


async def prompts(client) -> None:
    listed = {prompt.name for prompt in (await client.list_prompts()).prompts}
    assert "everything_test_simple_prompt" in listed, listed
    given = {"arg1": "a", "arg2": "b"}
    got = await client.get_prompt("everything_test_prompt_with_arguments", given)
    assert got.messages[0].content.text == "Prompt with arguments: arg1='a', arg2='b'", got
    await fails(client.get_prompt("everything_test_prompt_with_arguments", {"arg1": "a"}), "arg2")


async def completions(client) -> None:
    prompt = types.PromptReference(type="ref/prompt", name="everything_test_prompt_with_arguments")
    places = await client.complete(prompt, {"name": "arg1", "value": "par"})
    assert places.completion.values == ["paris", "park", "party"], places
    after = await client.complete(prompt, {"name": "arg2", "value": ""}, {"arg1": "paris"})
    assert after.completion.values == ["arg1-paris"], after
    template = types.ResourceTemplateReference(type="ref/resource", uri="test://template/{id}/data")
    numbers = await client.complete(template, {"name": "id", "value": ""})
    assert len(numbers.completion.values) == 100 and field(numbers.completion, "has_more"), numbers


async def notifications(client, recorder: Recorder) -> None:
    """The log level is warning."""
    text(await client.call_tool("everything_test_logging_tool", {}))
    await recorder.until(lambda: len(recorder.messages) == 6)
    levels = [message.level for message in recorder.messages]
    assert levels == ["warning", "error", "critical", "alert", "emergency", "error"], levels
    assert {message.logger for message in recorder.messages[:5]} == {"everything"}, recorder.messages
    assert recorder.messages[5].data == {"structured": True}, recorder.messages
    text(await client.call_tool("everything_test_tool_with_progress", {}, progress_callback=recorder.progress))
    await recorder.until(lambda: len(recorder.steps) == 3)
    assert recorder.steps == [(0, 100, "begun"), (50, 100, None), (100, 100, "done")], recorder.steps


async def questions(client, recorder: Recorder) -> None:
    assert text(await client.call_tool("everything_test_sampling", {"prompt": "x"})) == "LLM response: from the model"
    assert text(await client.call_tool("everything_test_roots", {})) == "file:///a\n"
    form = await client.call_tool("everything_test_elicitation", {"message": "Who?"})
    assert text(form) == "User response: Ada <Ada>", form
    rounds = await client.call_tool("everything_test_input_required_result_multi_round", {})
    assert text(rounds) == "Ada: true", rounds
    several = await client.call_tool("everything_test_input_required_result_multiple_inputs", {})
    assert text(several) == "from the model, Ada! 1 folders", several
    assert text(await client.call_tool("everything_test_url_visit", {})) == "on the way"
    assert any(getattr(params, "url", None) == "https://example.org/login" for params in recorder.asked), recorder.asked
    prompt = await client.get_prompt("everything_test_input_required_result_prompt", {})
    assert prompt.messages[0].content.text == "Talk about Ada", prompt
    read = await client.read_resource("test://template/asked/data")
    assert read.contents[0].text == '{"agreed":true}', read


async def structured(client) -> None:
    result = await client.call_tool("everything_test_context", {})
    context = field(result, "structured_content")
    assert context["form"] and context["visit"] and context["sample"] and context["roots"], context


async def cancelled(client, recorder: Recorder, log: Path, cancel) -> None:
    """Cancels a running call, and waits until the plugin has seen it."""
    recorder.steps.clear()
    arguments = {"seconds": 50}
    call = asyncio.create_task(client.call_tool("everything_slow_compute", arguments, progress_callback=recorder.progress))
    await recorder.until(lambda: recorder.steps)
    await cancel(call)
    async with asyncio.timeout(TIMEOUT):
        while "cancelled" not in log.read_text():
            await asyncio.sleep(0.02)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def primitives(client, recorder: Recorder) -> None:
    """Checks that apply to both eras."""
    await resources(client)
    await prompts(client)
    await completions(client)
    await notifications(client, recorder)
    await questions(client, recorder)
    await structured(client)


async def subscribed(client, recorder: Recorder) -> None:
    """Subscriptions of the revisions with a handshake."""
    await client.subscribe_resource(WATCHED)
    await client.call_tool("everything_test_update_resource", {"uri": "test://static-text"})
    await client.call_tool("everything_test_update_resource", {})
    await recorder.until(lambda: recorder.updated)
    await client.unsubscribe_resource(WATCHED)
    assert recorder.updated == [WATCHED], recorder.updated


async def listened(client) -> None:
    """Subscription streams of 2026-07-28."""
    async with client.listen(resource_subscriptions=[WATCHED]) as changes:
        await client.call_tool("everything_test_update_resource", {"uri": "test://static-text"})
        await client.call_tool("everything_test_update_resource", {})
        async with asyncio.timeout(TIMEOUT):
            change = await anext(aiter(changes))
        assert change.uri == WATCHED, change
