"""Calls without sessions, and sessions whose requests the balancer spreads over all nodes."""

import random
import threading
import time

from client import TOKENS, Answer, Lost, Way, request
from cluster import Cluster
from journal import NO_SESSION, REPLACED, Journal, now

CALLS, SESSIONS = NO_SESSION, "sessions of 2025-11-25"
# What the nodes say when they did nothing, so that the client may ask again.
TRY_AGAIN = 503
# What nginx names if it has left out all nodes, and for how long it leaves one out that failed, with some time to spare.
NO_NODE, LEFT_OUT = "wharf", 4
# A node counts as alive for six seconds, and so long another one cannot say that its sessions have ended. With what a
# request takes meanwhile.
LEASE = 9


class Load:
    name: str

    def __init__(self, cluster: Cluster, journal: Journal, seed: str):
        self.cluster, self.journal, self.random = cluster, journal, random.Random(seed)
        self.way: Way = cluster.balancer.way
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, name=seed, daemon=True)

    def run(self):
        while not self.stop.is_set():
            try:
                self.step()
            except Exception as error:  # A load that stops would hide what comes after.
                self.journal.fails("the loads run", f"{self.thread.name}: {type(error).__name__}: {error}")
            self.stop.wait(self.random.uniform(0.05, 0.25))

    def step(self):
        raise NotImplementedError

    def nodes_of(self, asked: list[str]) -> set[str] | None:
        """Who answered, or did not; `None` if no one was asked."""
        names = {self.cluster.by_front[part] for part in asked[-1:] if part in self.cluster.by_front}
        return names or None

    def answered(self, send, also: set[str] = frozenset()) -> Answer | None:
        """The answer, also if it is an error of the protocol. Without one, what that means is counted: it is wrong,
        unless the node that had the request, or one of the others that are named, was the target of a fault."""
        start = now()
        try:
            answer = send()
        except Lost as lost:
            targets = self.nodes_of(lost.asked)
            self.journal.is_lost(self.name, self.name, targets and targets | also, start, f"no answer: {lost}")
            return None
        if answer.status in (200, 202, 404):
            return answer
        if answer.asked[-1:] == [NO_NODE] and len(self.journal.faults(None, start - LEFT_OUT, now())) > 1:
            self.journal.count(self.name, "refused by the balancer, which had no node left")
            return None
        targets = self.nodes_of(answer.asked)
        if answer.status == TRY_AGAIN and answer.reason:
            if self.journal.faults(targets and targets | also, start, now()) or self.journal.faults(also, start - LEASE, now()):
                self.journal.count(self.name, "told to try again")
            else:
                self.journal.count(self.name, "failed wrongly")
                self.journal.fails(self.name, f"refused by {answer.asked}: {answer.message}")
            time.sleep(0.3)
            return None
        text = f"{answer.status} by {answer.asked}: {answer.message}"
        self.journal.is_lost(self.name, self.name, targets and targets | also, start, text)
        return None

    def judge(self, answer: Answer, expected: set[str], what: str):
        if answer.text in expected:
            self.journal.count(self.name, "answered")
            self.journal.answered.add(answer.message["id"])
        else:
            self.journal.count(self.name, "failed wrongly")
            self.journal.fails(self.name, f"{what}: {answer.status} by {answer.asked}: {answer.message}")


class Calls(Load):
    name = CALLS

    def __init__(self, cluster: Cluster, journal: Journal, user: str):
        super().__init__(cluster, journal, f"calls of {user}")
        self.token = TOKENS[user]

    def step(self):
        unique = f"{self.random.getrandbits(64):x}"
        tool, arguments, expected = self.random.choice([
            ("steady_echo", {"message": unique}, {unique}),
            ("everything_greet", {"name": unique}, {f"Hello, {unique}!"}),
            ("versioned_version", {}, {"1", "2"}),
        ])
        start = now()
        answer = self.answered(lambda: self.way.call(self.token, tool, arguments))
        if answer is None:
            return
        # A node that starts between the replacement of a file and its approval has neither version.
        if tool == "versioned_version" and answer.reason == "tool_not_found" and self.started_meanwhile(answer, start):
            self.journal.count(self.name, "held until approved")
            return
        self.judge(answer, expected, tool)

    def started_meanwhile(self, answer: Answer, start: float) -> bool:
        starts = {"killed", "terminated", REPLACED}
        faults = self.journal.faults(self.nodes_of(answer.asked), start - 10, now())
        return any(window.kind in starts for window in faults)


class Sessions(Load):
    name = SESSIONS

    def __init__(self, cluster: Cluster, journal: Journal, user: str):
        super().__init__(cluster, journal, f"sessions of {user}")
        self.token, self.id = TOKENS[user], None
        # Which node has it, since when, and since when it does not answer.
        self.owner: set[str] = set()
        self.opened, self.silent = 0.0, None

    def send(self, message: dict):
        headers = {"MCP-Protocol-Version": "2025-11-25"} | ({"Mcp-Session-Id": self.id} if self.id else {})
        return self.answered(lambda: self.way.post(self.token, message, headers), self.owner)

    def open(self):
        self.owner, self.silent, self.opened = set(), None, now()
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "nodes", "version": "1"}}
        answer = self.send(request("initialize", client))
        if answer is None:
            return
        if answer.status != 200 or not answer.session:
            self.journal.fails(self.name, f"initialize: {answer}")
            return
        self.id, self.owner = answer.session, self.nodes_of(answer.asked) or set()
        self.journal.count(self.name, "opened")
        message = request("notifications/initialized", {})
        del message["id"]
        if (answer := self.send(message)) and answer.status == 404:
            self.ended(answer)

    def step(self):
        if self.id is None:
            self.open()
            return
        unique = f"{self.random.getrandbits(64):x}"
        answer = self.send(request("tools/call", {"name": "steady_echo", "arguments": {"message": unique}}))
        if answer is None:
            self.silent = self.silent or now()
        elif answer.status == 404:
            self.ended(answer)
        else:
            self.silent = None
            self.judge(answer, {unique}, "steady_echo")
        # As clients do that leave.
        if self.id and self.random.random() < 0.02:
            self.id = None

    def ended(self, answer: Answer):
        """The client starts again, as it must."""
        if self.journal.faults(self.owner, self.opened, now()):
            self.journal.count(self.name, "ended with their node")
            self.journal.took("until a client learns that its session has ended", now() - self.silent if self.silent else 0.0)
        else:
            self.journal.count(self.name, "failed wrongly")
            self.journal.fails(self.name, f"the session of {self.owner} is not found, and nothing was done to it: {answer.asked}")
        self.id = None
