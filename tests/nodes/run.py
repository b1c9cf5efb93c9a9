"""Three nodes behind nginx with one store, under load, while nodes, cables, store and balancer fail.

    run.py ENGINE FAULTS SEED BINARY FOLDER

A program of tests/nodes.sh, in namespaces of its own.
"""

import re
import signal
import sys
from pathlib import Path

import audited
import network
from calls import Calls, Sessions
from changes import Changes
from client import USERS
from cluster import Cluster
from faults import Faults
from journal import Journal, now, say
from officials import Official
from report import report
from stores import ENGINES
from tasks import FOUND, Ended, Tasks

# For tasks that have begun before the last fault, and their nodes.
PATIENCE = 150


def settle(cluster: Cluster, loads: list[Tasks], ended: Ended, journal: Journal):
    """Every task that was acknowledged has ended, and each node has it so."""
    for load in loads:
        load.thread.join(PATIENCE)
        if load.open:
            journal.fails(FOUND, f"{load.open.tool} {load.open.id} has not ended")
    say(f"each node is asked for {len(ended.all)} tasks")
    for task in ended.all:
        for node in cluster.nodes:
            loads[0].look_again(task, node.watch)
            journal.count("tasks", "asked for at the end, of each node")


def panics(cluster: Cluster, journal: Journal):
    for node in cluster.nodes:
        text = node.log.read_text(errors="replace")
        if found := re.search(r".*(panicked|internal error).*", text):
            journal.fails("the log has no panic", f"{node.name}: {found[0]}")


def main(engine: str, number: int, seed: str, binary: Path, root: Path) -> int:
    # The first process of a namespace is not ended by signals that it does not handle.
    for name in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(name, lambda *_: sys.exit(1))
    network.build()
    journal = Journal()
    store = ENGINES[engine](root)
    cluster = Cluster(root, binary, store)
    cluster.start()
    say(f"three nodes with {engine}, {number} faults, seed {seed}")
    ended = Ended()
    working = [Tasks(cluster, journal, user, number, ended) for user in USERS for number in (1, 2)]
    changing = Changes(cluster, journal)
    loads = [*(Calls(cluster, journal, user) for user in USERS[:2]), *(Sessions(cluster, journal, user) for user in USERS),
             *working, changing]
    officials = [Official(cluster, journal, version, root) for version in (1, 2)]
    for load in loads:
        load.thread.start()
    faults = Faults(cluster, journal, f"{engine} {seed}")
    faults.cause(number)
    say("no more faults")
    # All is well for a while, so that what is wrong now has no excuse.
    changing.stop.wait(5)
    for load in loads:
        load.stop.set()
    settle(cluster, working, ended, journal)
    for load in loads:
        load.thread.join(PATIENCE)
    for client in officials:
        client.stop()
    cluster.stop()
    panics(cluster, journal)
    audited.check(cluster, journal)
    say(f"{now() - faults.journal.windows[0].start:.0f} s after the first fault")
    return report(engine, seed, journal) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5])))
