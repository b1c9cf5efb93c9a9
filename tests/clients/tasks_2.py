"""The tasks extension, through version 2 of the official Python client, with the plugin `everything`.

The client knows no tasks, but extensions: this one finishes a call that was answered by a task. The connections are made
by `check.py`.
"""

import asyncio
from typing import Any, Literal

from mcp import MCPError, types
from mcp.client import ClaimContext, ClientExtension, ResultClaim

CONTENT = {"name": "Ada", "confirm": True}


class Params(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class TaskRequest(types.Request[Params, str]):
    """`tasks/get`, `tasks/update` or `tasks/cancel`."""

    name_param = "taskId"


class Made(types.Result):
    result_type: Literal["task"]
    task_id: str
    status: str
    ttl_ms: int
    poll_interval_ms: int


class Got(types.Result):
    result_type: Literal["complete"]
    status: str | None = None
    status_message: str | None = None
    input_requests: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.made: list[str] = []
        self.seen: list[Got] = []

    def claims(self):
        return [ResultClaim(result_type="task", model=Made, resolve=self.finished)]

    async def finished(self, made: Made, context: ClaimContext) -> types.CallToolResult:
        """The result of a task, whose questions are answered meanwhile."""
        self.made.append(made.task_id)
        while True:
            got = await sent(context.session, "get", made.task_id)
            self.seen.append(got)
            if got.status == "input_required":
                answers = {key: {"action": "accept", "content": CONTENT} for key in got.input_requests}
                await sent(context.session, "update", made.task_id, answers)
            elif got.status == "completed":
                return types.CallToolResult.model_validate(got.result)
            elif got.error:
                raise MCPError(**got.error)
            else:
                assert got.status == "working", got
            await asyncio.sleep(0.05)


async def sent(session, method: str, task: str, answers: dict | None = None) -> Got:
    params = Params(task_id=task, input_responses=answers)
    return await session.send_request(TaskRequest(method=f"tasks/{method}", params=params), Got)


async def elicited(context, params) -> types.ElicitResult:
    """Answers a question of a call that has not become a task."""
    return types.ElicitResult(action="accept", content=CONTENT)


async def tasks(client, extension: Tasks) -> None:
    async def said(tool: str, arguments: dict | None = None) -> str:
        return (await client.call_tool(f"everything_{tool}", arguments or {})).content[0].text

    assert await said("greet", {"name": "Ada"}) == "Hello, Ada!"
    assert not extension.made
    assert await said("slow_compute", {"seconds": 2, "label": "it"}) == "it is done"
    assert any(got.status_message for got in extension.seen), extension.seen
    assert await said("failing_job") == "the job failed"
    assert await said("confirm_delete", {"filename": "a"}) == "a: deleted"
    assert await said("multi_input") == "true true"
    assert await said("test_tool_with_task") == "Hello, Ada!"
    assert len(set(extension.made)) == 5, extension.made
    try:
        unexpected = await said("protocol_error_job")
    except MCPError as error:
        assert (error.code, "roots" in error.message) == (-32021, True), error
    else:
        raise AssertionError(f"a client without roots was asked for them: {unexpected}")

    made = await client.session.call_tool("everything_slow_compute", {"seconds": 600}, allow_claimed=True)
    assert made.status == "working", made
    await sent(client.session, "cancel", made.task_id)
    assert (await sent(client.session, "get", made.task_id)).status == "cancelled"
