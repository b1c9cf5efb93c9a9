"""Coroutine functions: how they run, ask, fail and end."""

import asyncio
import unittest
from collections.abc import AsyncIterator
from typing import Any

from wharf_plugin import Call, Completion, NotFound, Plugin, Resource, ToolError, Unavailable, log
from wharf_plugin.loop import STUCK
from wharf_plugin.testing import Client, accept, decline, unavailable

plugin = Plugin()


@plugin.tool
async def work(call: Call, ask: bool = False) -> str:
    queue: asyncio.Queue[int] = asyncio.Queue()
    lock = asyncio.Lock()

    async def put(number: int) -> None:
        async with lock:
            await asyncio.sleep(0.001)
        await queue.put(number)

    await asyncio.gather(*(put(number) for number in range(3)))
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
    except TimeoutError:
        await queue.put(9)
    async with asyncio.timeout(60):
        made = await asyncio.to_thread(sum, [1, 2])
    sure = call.ask.confirm("Sure?") if ask else None
    return f"{[queue.get_nowait() for _ in range(4)]} {made} {sure}"


@plugin.tool
async def together(how: str, call: Call) -> str:
    async def sure(question: str) -> bool:
        await asyncio.sleep(0)
        return call.ask.confirm(question)

    if how == "group":
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(sure(question)) for question in "ab"]
        return str([task.result() for task in tasks])
    if how == "task":
        task = asyncio.create_task(sure("a"))
        await asyncio.sleep(0.001)
        return str(task.done() and task.result())
    return str(await asyncio.gather(sure("a"), sure("b"), return_exceptions=how == "swallowed"))


@plugin.tool
async def fails(how: str, call: Call) -> str:
    async def fail() -> None:
        if how == "missing":
            raise NotFound
        if how == "asked":
            call.ask.confirm("Sure?")
        raise ToolError("the disk is full")

    if how == "stuck":
        await asyncio.Event().wait()
    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
    return ""


@plugin.tool
async def leaves() -> str:
    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            log.info("generator closed")

    async def endless() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            log.info("task cancelled")

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                log.info("not yet")

    tasks = [asyncio.create_task(endless()), asyncio.create_task(stubborn())]
    generator = numbers()
    async for number in generator:
        await asyncio.sleep(0)
        return f"{len(tasks)} {number}"
    return ""


@plugin.resource("note://{id}")
async def note(id: int) -> str:
    await asyncio.sleep(0)
    return f"note {id}"


@plugin.resource_list
async def notes() -> list[Resource]:
    return [Resource("note://1", "one")]


@plugin.prompt
async def review(code: str) -> str:
    return f"Review {code}"


@plugin.completion(review, "code")
async def codes(typed: str) -> Completion:
    return Completion([typed + "!"])


@plugin.method
async def changes(version: int) -> dict[str, Any]:
    return {"since": version}


class Async(unittest.TestCase):
    def test_all_functions_may_be_coroutine_functions(self) -> None:
        client = Client(plugin)
        self.assertEqual(client.call("work").text, "[0, 1, 2, 9] 3 None")
        self.assertEqual(client.read("note://4")[0].body, "note 4")
        self.assertEqual([one.name for one in client.resources()], ["one"])
        self.assertEqual(client.prompt("review", code="x").messages, ["Review x"])
        self.assertEqual(client.complete("review", "code", "a").values, ["a!"])
        self.assertEqual(client.method("changes", version=2), {"since": 2})

    def test_a_question_restarts_the_function(self) -> None:
        client = Client(plugin, answers=[accept()])
        self.assertEqual(client.call("work", ask=True).text, "[0, 1, 2, 9] 3 True")

    def test_questions_of_several_tasks_are_asked_in_one_round(self) -> None:
        for how in ("gather", "group", "swallowed"):
            client = Client(plugin, answers=[accept(), decline()])
            self.assertEqual(client.call("together", how=how).text, "[True, False]", how)
        client = Client(plugin, answers=[accept()])
        self.assertEqual(client.call("together", how="task").text, "True")

    def test_an_error_in_a_group_is_that_error(self) -> None:
        client = Client(plugin, answers=[unavailable("no forms")])
        with self.assertRaisesRegex(ToolError, "^the disk is full$"):
            client.call("fails", how="")
        with self.assertRaises(NotFound):
            client.call("fails", how="missing")
        with self.assertRaises((Unavailable, ToolError)):
            client.call("fails", how="asked")

    def test_waiting_for_nothing_is_an_error(self) -> None:
        with self.assertRaisesRegex(ToolError, STUCK):
            Client(plugin).call("fails", how="stuck")

    def test_what_is_left_is_ended(self) -> None:
        client = Client(plugin)
        self.assertEqual(client.call("leaves").text, "2 1")
        for line in ("info: task cancelled", "info: not yet", "info: generator closed"):
            self.assertIn(line, client.logged)

    def test_the_client_works_in_a_running_loop(self) -> None:
        async def test() -> str:
            return Client(plugin, answers=[accept()]).call("work", ask=True).text

        self.assertEqual(asyncio.run(test()), "[0, 1, 2, 9] 3 True")


if __name__ == "__main__":
    unittest.main()
