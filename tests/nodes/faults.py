"""What goes wrong: nodes, their cables, the store and the balancer, by random numbers of a seed."""

import random
import signal
import threading
import time

from cluster import Cluster, Node, wait
from journal import REPLACED, Journal, now, say
from network import CABLES, FRONT, NODES, STORE

CUTS = {"cut from the store": [STORE], "cut from the other nodes": [NODES], "cut from the balancer": [FRONT],
        "cut from everything": CABLES}
OF_A_NODE = ["killed", "terminated", REPLACED, "stopped", *CUTS]
STARTS = {"killed", "terminated", REPLACED}
OF_ALL = ["the store is killed", "the store is restarted", "the balancer is reloaded"]
# Two nodes at a time, so that one is well.
PAIRS = 0.25
PATIENCE = 60


class Faults:
    def __init__(self, cluster: Cluster, journal: Journal, seed: str):
        self.cluster, self.journal, self.random = cluster, journal, random.Random(seed)
        self.bag: list[str] = []

    def kind(self, kinds: list[str]) -> str:
        """Each kind comes as often as the others, in any order."""
        if not any(kind in kinds for kind in self.bag):
            more = OF_A_NODE + OF_ALL
            self.random.shuffle(more)
            self.bag += more
        kind = next(kind for kind in self.bag if kind in kinds)
        self.bag.remove(kind)
        return kind

    def cause(self, number: int):
        done = 0
        while done < number:
            time.sleep(self.random.uniform(0.2, 2))
            first = self.kind(OF_A_NODE + OF_ALL)
            if first in OF_ALL:
                self.of_all(first)
                done += 1
                continue
            nodes = self.random.sample(self.cluster.nodes, 2)
            pairs = [(nodes[0], first, self.seconds(first))]
            if done + 1 < number and self.random.random() < PAIRS:
                second = self.kind(OF_A_NODE)
                pairs.append((nodes[1], second, self.seconds(second)))
            threads = [threading.Thread(target=self.of_node, args=pair) for pair in pairs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            done += len(pairs)

    def seconds(self, kind: str) -> float:
        return self.random.uniform(0, 3) if kind in STARTS else self.random.uniform(1, 10)

    def of_node(self, node: Node, kind: str, seconds: float):
        window = self.journal.begin(kind, {node.name})
        self.journal.count("faults", kind)
        say(f"{node.name} is {kind}, for {seconds:.1f} s")
        try:
            if kind in CUTS:
                for cable in CUTS[kind]:
                    node.machine.pull(cable)
                time.sleep(seconds)
                for cable in CUTS[kind]:
                    node.machine.plug(cable)
            elif kind == "stopped":
                node.signal(signal.SIGSTOP)
                time.sleep(seconds)
                node.signal(signal.SIGCONT)
            else:
                if kind == REPLACED:
                    self.cluster.balancer.leave_out(node)
                node.end(signal.SIGKILL if kind == "killed" else signal.SIGTERM)
                time.sleep(seconds)
                node.start()
            window.repaired = now()
            self.wait_for(node, kind)
            if kind == REPLACED:
                self.cluster.balancer.take_in(node)
        except AssertionError as error:
            self.journal.fails("nodes are well again after each fault", str(error))
        else:
            window.end = now()
            self.journal.took(f"until a node is well that was {kind}", window.end - window.repaired)

    def wait_for(self, node: Node, kind: str):
        """Until it serves, its store answers, it makes tasks, and the other nodes find it."""
        wait(lambda: node.is_well() and answers(node), f"{node.name}, which was {kind}", PATIENCE)
        wait(node.makes_tasks, f"a task of {node.name}, which was {kind}", PATIENCE)
        hit = {name for window in self.journal.faults(None, now(), now()) if window.repaired is None for name in window.targets}
        others = [other for other in self.cluster.nodes if other is not node and other.name not in hit]
        wait(lambda: (session := node.session()) and all(other.finds(session) for other in others),
             f"{node.name}, which was {kind}, to be found by the others", PATIENCE)

    def of_all(self, kind: str):
        nodes = {node.name for node in self.cluster.nodes}
        window = self.journal.begin(kind, {"balancer"} if "balancer" in kind else nodes)
        self.journal.count("faults", kind)
        seconds = self.random.uniform(0, 4)
        say(kind + ("" if "balancer" in kind else f", for {seconds:.1f} s"))
        try:
            if "balancer" in kind:
                self.cluster.balancer.reload()
                window.repaired = now()
            else:
                self.cluster.store.stop(signal.SIGKILL if "killed" in kind else signal.SIGINT)
                time.sleep(seconds)
                self.cluster.store.start()
                window.repaired = now()
                for node in self.cluster.nodes:
                    self.wait_for(node, f"without a store: {kind}")
        except AssertionError as error:
            self.journal.fails("nodes are well again after each fault", str(error))
        else:
            window.end = now()
            if "balancer" not in kind:
                self.journal.took(f"until all nodes are well after {kind}", window.end - window.repaired)


def answers(node: Node) -> bool:
    """Where the balancer asks it."""
    host, port = node.front.split(":")
    try:
        return type(node.watch)(host, int(port)).get("/readyz") == 200
    except OSError:
        return False
