"""Files are replaced, approved and revoked, with the configuration of one node, and it is measured when all obey."""

import threading
import time

from calls import Load
from client import TOKENS
from cluster import Cluster, Node
from journal import Journal, now

OBEYED, STAYS, REACHES, COMMANDS = ("revocations hold within a second on nodes that are well", "what was revoked stays so",
                                    "each change reaches all nodes", "commands of the operator succeed")
PROMISED = 1.0
# From a change, or from the end of a fault.
PATIENCE = 30
TOKEN = TOKENS["watch"]


class Changes(Load):
    name = "changes"

    def __init__(self, cluster: Cluster, journal: Journal):
        super().__init__(cluster, journal, "changes")
        self.version = 1

    def step(self):
        if self.random.random() < 0.4:
            self.replace()
        else:
            self.revoke()
            self.approve()
        self.stop.wait(self.random.uniform(0.5, 1.5))

    def command(self, *words: str) -> float:
        """Runs it on a node that is well; repeated until it succeeds. When it returned."""
        while True:
            start = now()
            well = [node for node in self.cluster.nodes if not self.journal.faults({node.name}, start, start)]
            node = self.random.choice(well or self.cluster.nodes)
            code, said = node.wharf(*words, str(self.cluster.plugins.folder))
            returned = now()
            if code == 0:
                return returned
            if not self.journal.faults({node.name}, start, returned):
                self.journal.fails(COMMANDS, f"{words} on {node.name}: {said}")
            time.sleep(0.2)

    def revoke(self):
        returned = self.command("revoke", "hello")
        self.all_obey("revoke", returned, lambda node: greets(node) is False)
        # Nothing may take it up again, also not a node that starts.
        until = now() + self.random.uniform(0.5, 4)
        while now() < until and not self.stop.is_set():
            for node in self.cluster.nodes:
                start = now()
                if greets(node, 1) and not self.journal.faults({node.name}, start, now()):
                    self.journal.fails(STAYS, f"{node.name} serves it {start - returned:.1f} s after it was revoked")
            time.sleep(0.1)

    def approve(self):
        self.all_obey("approve", self.command("approve", "hello", "--yes"), lambda node: greets(node) is True)

    def replace(self):
        self.version = 3 - self.version
        self.cluster.plugins.put("versioned", f"echo-v{self.version}")
        wanted = str(self.version)
        returned = self.command("approve", "versioned", "--yes")
        self.all_obey("replace", returned, lambda node: says(node, "versioned_version", {}) == wanted)

    def all_obey(self, what: str, changed: float, obeys):
        """Looks at all nodes at once until each of them obeys."""
        obeyed: dict[str, float] = {}
        threads = [threading.Thread(target=self.until, args=[node, changed, obeys, obeyed]) for node in self.cluster.nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.journal.count(self.name, what)
        well = []
        for node in self.cluster.nodes:
            when = obeyed.get(node.name)
            if when is None:
                self.journal.fails(REACHES, f"{what}: {node.name} does not obey")
                continue
            faults = self.journal.faults({node.name}, changed, when)
            if faults:
                ends = max(window.end or when for window in faults)
                self.journal.took(f"{what}: nodes hit by a fault, from its end", max(0.0, when - ends))
                continue
            well.append(when - changed)
            self.journal.took(f"{what}: nodes that are well", when - changed)
            if what == "revoke" and when - changed > PROMISED:
                self.journal.fails(OBEYED, f"{node.name} took {when - changed:.2f} s")
        if len(well) == len(self.cluster.nodes):
            self.journal.took(f"{what}: all nodes", max(well))

    def until(self, node: Node, changed: float, obeys, obeyed: dict[str, float]):
        while True:
            start = now()
            if obeys(node):
                # What is answered was decided when it was asked, at the earliest.
                obeyed[node.name] = max(start, changed)
                return
            faults = self.journal.faults({node.name}, changed, now())
            since = max([changed, *(window.end or now() for window in faults)])
            if now() - since > PATIENCE:
                return
            time.sleep(0.03)


def says(node: Node, tool: str, arguments: dict, patience: float = 2) -> str | None:
    """What it answers; the reason of an error, and `None` without an answer."""
    try:
        answer = node.watch.call(TOKEN, tool, arguments, patience)
    except OSError:
        return None
    return answer.text if answer.text is not None else answer.reason


def greets(node: Node, patience: float = 2) -> bool | None:
    said = says(node, "hello_greet", {"name": "Ada"}, patience)
    return None if said is None else said == "Hello, Ada!"
