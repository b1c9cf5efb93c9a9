"""The tables at the end, and the verdict."""

from collections import defaultdict

import audited
import changes
import tasks
from calls import CALLS, SESSIONS
from journal import NO_GAP, Journal

OFFICIAL = ["official client, version 1", "official client, version 2"]
CHECKS = [CALLS, NO_GAP, SESSIONS, *OFFICIAL, tasks.TASKS, tasks.FOUND, tasks.STAYS, tasks.ANSWERS, tasks.ENDS, changes.OBEYED,
          changes.STAYS, changes.REACHES, changes.COMMANDS, "nodes are well again after each fault", "the loads run",
          "the log has no panic",
          audited.RECORDED, audited.ONCE]


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def report(engine: str, seed: str, journal: Journal) -> int:
    print(f"\n== {engine}, seed {seed}\n")
    faults = {what: number for (load, what), number in journal.counts.items() if load == "faults"}
    print(f"{sum(faults.values())} faults")
    for kind, number in sorted(faults.items()):
        print(f"  {number:6} {kind}")
    loads = defaultdict(dict)
    for (load, what), number in journal.counts.items():
        if load != "faults":
            loads[load][what] = number
    for load in sorted(loads):
        print(load)
        for what, number in sorted(loads[load].items()):
            print(f"  {number:6} {what}")
    print("requests without an answer, by the fault")
    for (load, kind), number in sorted(journal.lost.items()):
        print(f"  {number:6} {load}: {kind}")
    print(f"{'times in seconds':58} {'number':>6} {'p50':>6} {'p99':>6} {'most':>6}")
    for what, values in sorted(journal.times.items()):
        print(f"  {what:56} {len(values):6} {percentile(values, 0.5):6.2f} {percentile(values, 0.99):6.2f} {max(values):6.2f}")
    print()
    unknown = set(journal.wrong) - set(CHECKS)
    assert not unknown, unknown
    passed = 0
    for check in CHECKS:
        wrong = journal.wrong.get(check)
        passed += not wrong
        print(f"{'passed' if not wrong else 'failed'}: {engine}: {check}" + (f": {len(wrong)}, such as {wrong[0][:300]}" if wrong else ""))
    failed = len(CHECKS) - passed
    print(f"{passed} of {len(CHECKS)}")
    print(f"tests: {passed} passed, {failed} failed", flush=True)
    return failed
