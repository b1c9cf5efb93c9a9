"""Tasks of 2025-11-25, through version 1 of the official Python client, with the plugin `everything`.

The connections are made by `check.py`.
"""

from mcp import types
from mcp.shared.exceptions import McpError

CONTENT = {"name": "Ada", "confirm": True}


class Answers:
    """Answers the questions of tasks, and records whose they are."""

    def __init__(self) -> None:
        self.asked = []

    async def elicit(self, context, params) -> types.ElicitResult:
        related = context.meta.model_dump()["io.modelcontextprotocol/related-task"]
        self.asked.append((related["taskId"], params.message))
        names = params.requestedSchema["properties"]
        return types.ElicitResult(action="accept", content={name: CONTENT[name] for name in names})


async def tasks(client, answers: Answers, lists: bool) -> None:
    """Each method of the client; a task that asks, one that fails, and one that is cancelled. `lists` says whether the server
    tells its clients apart."""
    own = client.experimental

    async def begun(tool: str, arguments: dict | None = None) -> str:
        made = await own.call_tool_as_task(f"everything_{tool}", arguments or {}, ttl=600_000)
        assert (made.task.status, made.task.ttl) == ("working", 600_000), made
        return made.task.taskId

    async def result(task: str) -> types.CallToolResult:
        return await own.get_task_result(task, types.CallToolResult)

    task = await begun("slow_compute", {"seconds": 3, "label": "it"})
    assert (client.get_server_capabilities().tasks.list is not None) == lists
    if lists:
        assert task in [listed.taskId for listed in (await own.list_tasks()).tasks]
    states = [state async for state in own.poll_task(task)]
    assert any(state.status == "working" and state.statusMessage for state in states), states
    assert states[-1].status == "completed", states
    assert (await result(task)).content[0].text == "it is done"

    # Questions come while the client waits for the result.
    for tool, arguments, said in [
        ("confirm_delete", {"filename": "a"}, "a: deleted"),
        ("multi_input", {}, "true true"),
        ("test_tool_with_task", {}, "Hello, Ada!"),
    ]:
        task = await begun(tool, arguments)
        async for state in own.poll_task(task):
            if state.status == "input_required":
                break
        assert state.status == "input_required", state
        assert (await result(task)).content[0].text == said
        assert task in [asked for asked, _ in answers.asked], answers.asked
        assert (await own.get_task(task)).status == "completed"

    task = await begun("failing_job")
    failed = await result(task)
    assert failed.isError and failed.content[0].text == "the job failed", failed
    state = await own.get_task(task)
    assert (state.status, state.statusMessage) == ("failed", "the job failed"), state

    task = await begun("slow_compute", {"seconds": 600})
    assert (await own.cancel_task(task)).status == "cancelled"
    assert (await own.get_task(task)).status == "cancelled"
    for wrong in [own.cancel_task(task), own.get_task("unknown"), own.call_tool_as_task("everything_greet", {"name": "Ada"})]:
        try:
            unexpected = await wrong
        except McpError as error:
            assert error.error.code in (-32601, -32602), error.error
        else:
            raise AssertionError(f"it was not refused: {unexpected}")
