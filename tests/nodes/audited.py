"""The audit logs of all nodes together: each call that was answered is in one of them, and none was made twice."""

import json
from collections import Counter

from client import USERS
from cluster import Cluster
from journal import Journal

RECORDED, ONCE = "answered calls are in the audit log", "no call is made twice"
# Of tasks there are more records than one.
TOOLS = {"steady_echo", "everything_greet", "versioned_version"}


def made(cluster: Cluster) -> Counter:
    """How often each request was carried out, by its id."""
    times = Counter()
    for node in cluster.nodes:
        for file in node.home.glob(".local/state/wharf/audit.jsonl*"):
            for line in file.read_text(errors="replace").splitlines():
                try:
                    record = json.loads(line)
                except ValueError:
                    # The last line of a node that was killed.
                    continue
                is_of_load = record.get("principal") in USERS and record.get("tool") in TOOLS
                if record["event"] == "call" and record.get("code") == "ok" and is_of_load:
                    times[int(str(record["id"]).strip('"'))] += 1
    return times


def check(cluster: Cluster, journal: Journal):
    times = made(cluster)
    journal.count("audit logs", "calls", len(times))
    journal.count("audit logs", "calls without an answer", len(times.keys() - journal.answered))
    for number in sorted(journal.answered - times.keys()):
        journal.fails(RECORDED, f"request {number}")
    for number, count in times.items():
        if count > 1:
            journal.fails(ONCE, f"request {number}: {count} times")
