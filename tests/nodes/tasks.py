"""Tasks: each is made, asked for and answered through whichever node the balancer takes."""

import threading
import time
from dataclasses import dataclass, field

from calls import Load
from client import TOKENS, Answer, Lost, Way
from cluster import Cluster
from journal import REPLACED, Journal, now

TASKS = "tasks"
FOUND, STAYS, ANSWERS, ENDS = ("tasks that were acknowledged are found", "tasks that have ended stay as they are",
                               "answers that were acknowledged count", "tasks end as they should")
# Several faults may hit one task, and each of them costs it up to eight seconds.
PATIENCE = 120
CONTENT = {"name": "Ada", "confirm": True}


@dataclass
class Task:
    id: str
    user: str
    tool: str
    made: float
    expected: str
    # It may run again, so that no fault of a node is its end.
    repeatable: bool
    # Which had it.
    nodes: set[str] = field(default_factory=set)
    ended: dict | None = None


def outcome(got: dict) -> dict:
    """What may not change once a task has ended."""
    result = got.get("result") or {}
    return {"status": got["status"], "content": result.get("content"), "error": got.get("error")}


class Ended:
    """Tasks that have ended, of all loads."""

    def __init__(self):
        self.all: list[Task] = []
        self.lock = threading.Lock()

    def add(self, task: Task):
        with self.lock:
            self.all.append(task)

    def some(self, random) -> Task | None:
        with self.lock:
            return random.choice(self.all) if self.all else None


class Tasks(Load):
    name = TASKS

    def __init__(self, cluster: Cluster, journal: Journal, user: str, number: int, ended: Ended):
        super().__init__(cluster, journal, f"tasks {number} of {user}")
        self.user, self.token, self.all = user, TOKENS[user], ended
        self.open: Task | None = None

    def step(self):
        task = self.make()
        if task is None:
            return
        self.open = task
        if self.end(task):
            self.all.add(task)
        self.open = None
        again = self.all.some(self.random)
        if again:
            self.look_again(again)

    def make(self) -> Task | None:
        unique, seconds = f"{self.random.getrandbits(32):x}", round(self.random.uniform(0.5, 4), 1)
        tool, arguments, expected, repeatable = self.random.choice([
            ("confirm_delete", {"filename": unique}, f"{unique}: deleted", False),
            ("multi_input", {}, "true true", False),
            ("slow_compute", {"seconds": seconds, "label": unique}, f"{unique} is done", False),
            ("slow_again", {"seconds": seconds, "label": unique}, f"{unique} took {seconds:g} s", True),
        ])
        start = now()
        answer = self.answered(lambda: self.way.call(self.token, f"everything_{tool}", arguments))
        if answer is None:
            return None
        if answer.result and answer.result.get("resultType") == "task":
            self.journal.count(self.name, "made")
            nodes = self.nodes_of(answer.asked) or set()
            return Task(answer.result["taskId"], self.user, tool, start, expected, repeatable, nodes)
        # While the store is away, an optional tool is answered as ever, and a required one is refused.
        away = self.journal.faults(self.nodes_of(answer.asked), start, now())
        if answer.text == expected and away:
            self.journal.count(self.name, "answered without a task")
        elif answer.result and answer.result.get("resultType") == "input_required":
            # It asked before the server had looked whether it takes long.
            self.journal.count(self.name, "asked without a task")
        elif answer.reason == "host_error" and away:
            self.journal.count(self.name, "refused without the store")
        else:
            self.journal.count(self.name, "failed wrongly")
            self.journal.fails(self.name, f"{tool}: {answer.status} by {answer.asked}: {answer.message}")
        return None

    def get(self, task: Task, way: Way | None = None, seconds: float = PATIENCE) -> Answer | None:
        """Its state. Reading changes nothing, so it is repeated until there is an answer."""
        until = now() + seconds
        while True:
            start = now()
            try:
                answer = (way or self.way).stateless(TOKENS[task.user], "tasks/get", {"taskId": task.id})
            except Lost as lost:
                self.journal.is_lost("reads of tasks", self.name, self.nodes_of(lost.asked), start, f"no answer: {lost}")
                answer = None
            if answer and answer.result:
                self.journal.count("reads of tasks", "answered")
                return answer
            if answer and answer.reason == "task_not_found":
                self.journal.fails(FOUND, f"{task.tool} {task.id} is not found: {answer.asked}: {answer.message}")
                return None
            if answer and answer.reason == "host_error" and self.journal.faults(self.nodes_of(answer.asked), start, now()):
                self.journal.count("reads of tasks", "told that the store is away")
            elif answer:
                text = f"{answer.status} by {answer.asked}: {answer.message}"
                self.journal.is_lost("reads of tasks", self.name, self.nodes_of(answer.asked), start, text)
            if now() > until:
                self.journal.fails(FOUND, f"{task.tool} {task.id} cannot be read for {seconds} s: {answer}")
                return None
            time.sleep(0.3)

    def end(self, task: Task) -> bool:
        """Asks for it, and answers what it asks, until it has ended."""
        until, accepted = now() + PATIENCE, {}
        while now() < until:
            asked_at = now()
            answer = self.get(task)
            if answer is None:
                return False
            got = answer.result
            if got["status"] == "input_required":
                questions = set(got["inputRequests"])
                lost = [key for key in questions if accepted.get(key, asked_at) < asked_at]
                if lost:
                    self.journal.fails(ANSWERS, f"{task.tool} {task.id} asks again: {lost}")
                    return False
                if self.answer(task, questions):
                    accepted |= {key: now() for key in questions}
            elif got["status"] != "working":
                task.ended = outcome(got)
                self.journal.took("tasks: from their call to their end", now() - task.made)
                self.judge_end(task, got)
                return True
            time.sleep(self.random.uniform(0.2, 0.5))
        self.journal.fails(ENDS, f"{task.tool} {task.id} has not ended after {PATIENCE} s")
        return False

    def answer(self, task: Task, questions: set[str]) -> bool:
        """Whether it was acknowledged. Answers to what is not asked any more are ignored, so they may be repeated."""
        answers = {key: {"action": "accept", "content": CONTENT} for key in questions}
        start = now()
        answer = self.answered(lambda: self.way.stateless(
            self.token, "tasks/update", {"taskId": task.id, "inputResponses": answers}))
        if answer is None:
            # Whoever had it may have begun to run it.
            task.nodes |= set(self.cluster.by_front.values())
            return False
        task.nodes |= self.nodes_of(answer.asked) or set()
        if answer.result is not None:
            self.journal.count(self.name, "answers")
            return True
        if answer.reason == "task_not_found":
            self.journal.fails(FOUND, f"{task.tool} {task.id} is not found: {answer.asked}: {answer.message}")
        elif not self.journal.faults(self.nodes_of(answer.asked), start, now()):
            self.journal.fails(self.name, f"tasks/update: {answer.status} by {answer.asked}: {answer.message}")
        return False

    def judge_end(self, task: Task, got: dict):
        content = (got.get("result") or {}).get("content") or [{}]
        if got["status"] == "completed" and content[0].get("text") == task.expected:
            self.journal.count(self.name, "completed")
            return
        reason = ((got.get("error") or {}).get("data") or {}).get("reason")
        # One that was made when all was repaired has no part in what was before, and a node that is terminated lets its
        # tasks end: none of these takes five seconds.
        faults = [window for window in self.journal.faults(task.nodes, task.made, now())
                  if window.lasted_until(task.made) and window.kind not in ("terminated", REPLACED)]
        if reason == "task_interrupted" and not task.repeatable and faults:
            self.journal.count(self.name, "interrupted with their node")
            return
        self.journal.count(self.name, "failed wrongly")
        kinds = [window.kind for window in self.journal.faults(None, task.made, now())]
        self.journal.fails(ENDS, f"{task.tool} {task.id} of {sorted(task.nodes)}, made {now() - task.made:.1f} s ago, "
                                 f"faults {kinds}: {got}")

    def look_again(self, task: Task, way: Way | None = None):
        answer = self.get(task, way)
        if answer and outcome(answer.result) != task.ended:
            self.journal.fails(STAYS, f"{task.tool} {task.id} was {task.ended}, and is {outcome(answer.result)}")
