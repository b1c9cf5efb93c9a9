"""What was done to the cluster and when, what came of each request, and what is wrong."""

import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

now = time.monotonic
STARTED = now()
# A node is left out by the balancer, stopped, and started again, as docs/scale.md has it.
REPLACED = "replaced"
NO_SESSION = "calls of 2026-07-28"
NO_GAP = "no call without a session is lost when a node is replaced"
# Lines that are printed of each kind of failure.
MOST = 20
LONGEST = 400


@dataclass
class Window:
    """A fault, from its beginning until what it touched works again."""

    kind: str
    targets: set[str]
    start: float
    # When it was repaired, and when what it touched was well again.
    repaired: float | None = None
    end: float | None = None

    def overlaps(self, start: float, end: float) -> bool:
        return self.start <= end and (self.end is None or self.end >= start)

    def lasted_until(self, time: float) -> bool:
        return self.repaired is None or self.repaired >= time


@dataclass
class Journal:
    windows: list[Window] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    # Requests that got no answer, by the fault.
    lost: Counter = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    # The numbers of requests that were answered as they should.
    answered: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, kind: str, targets: set[str]) -> Window:
        window = Window(kind, targets, now())
        with self.lock:
            self.windows.append(window)
        return window

    def faults(self, targets: set[str] | None, start: float, end: float) -> list[Window]:
        """Those that touched one of these in that time; `None`: any."""
        with self.lock:
            return [window for window in self.windows
                    if window.overlaps(start, end) and (targets is None or window.targets & targets)]

    def count(self, load: str, what: str, number: int = 1):
        with self.lock:
            self.counts[load, what] += number

    def took(self, what: str, seconds: float):
        with self.lock:
            self.times[what].append(seconds)

    def fails(self, check: str, text: str):
        with self.lock:
            self.wrong[check].append(text)
            number = len(self.wrong[check])
        if number <= MOST:
            say(f"WRONG {check}: {text[:LONGEST]}")

    def is_lost(self, load: str, check: str, targets: set[str] | None, start: float, text: str) -> bool:
        """A request that began then got no answer. That is no failure if a fault touched who had it."""
        faults = self.faults(targets, start, now())
        if not faults:
            self.count(load, "failed wrongly")
            self.fails(check, f"{text}; nothing was done to {', '.join(sorted(targets or {'any node'}))}")
            return False
        if load == NO_SESSION and all(window.kind == REPLACED for window in faults):
            self.fails(NO_GAP, text)
        self.count(load, "lost with their node")
        with self.lock:
            self.lost[load, faults[-1].kind] += 1
        return True


def say(text: str):
    # In one piece, since several threads do.
    sys.stdout.write(f"{now() - STARTED:7.1f} {text}\n")
    sys.stdout.flush()
