"""Runs coroutines, on an event loop that has no sockets and no threads: it runs what is ready, and
sleeps until the next timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
import time
from asyncio import base_events
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple, Unpack

from .ask import Asked

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

STUCK = "the coroutines wait for one another, or for something that cannot happen in a plugin"


class Stuck(RuntimeError):
    """Nothing could ever continue a coroutine."""


class _Timers:
    """In the place of a selector, of which an event loop uses only this."""

    def select(self, timeout: float | None) -> list[Any]:
        """Waits until the next timer; without one, nothing would end the wait."""
        if timeout is None:
            raise Stuck(STUCK)
        if timeout > 0:
            time.sleep(timeout)
        return []


class Loop(base_events.BaseEventLoop):
    """An event loop of one thread, whose only events are timers."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Timers()
        self.set_exception_handler(_report)

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        """Would wake the loop for another thread."""

    def run_in_executor(
        self, executor: Any, func: Callable[[Unpack[Arguments]], T], *args: Unpack[Arguments]
    ) -> asyncio.Future[T]:
        """Calls the function at once: there are no threads."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, and ends the tasks that it leaves."""
    if asyncio._get_running_loop() is not None:
        return _beside(coroutine)
    loop = Loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        try:
            # A task that does not end when it is cancelled ends with the call.
            with contextlib.suppress(Stuck):
                _cancel_rest(loop)
            with contextlib.suppress(Stuck):
                loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # A question of a task that nothing waits for is the outcome of the call.
    if not isinstance(context.get("exception"), Asked):
        loop.default_exception_handler(context)


def _cancel_rest(loop: Loop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def _beside(coroutine: Coroutine[Any, Any, T]) -> T:
    """The same within a running loop, as in asynchronous tests: a thread has a loop of its own."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(run(coroutine))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def install() -> None:
    """Makes it the loop of `asyncio.run` and `asyncio.Runner` in a component, whose own loops need
    sockets."""
    for module in ("asyncio", "asyncio.events"):
        found: Any = sys.modules[module]
        found.new_event_loop = Loop
