"""Prints which requirement of tests/oauth/rows.txt holds, by the logs of its tests.

    table.py LOGS KIND…

LOGS is a folder with KIND.log of each kind of tests. Rows without tests of these kinds are left out. The exit code is 1
if a test has failed, or one that a row names did not run.
"""

import re
import sys
from pathlib import Path

# Of cargo's tests, of those in tests/clients, and of the fuzzer, which prints a line for each target that held.
LINES = re.compile(
    r"test (?P<test>\S+) \.\.\. (?P<result>ok|FAILED)"
    r"|(?P<mark>ok|FAIL) +(?P<check>.+?)(?:: \w*Error\b.*)?"
    r"|(?P<target>\w+): \d+ runs of seed \d+"
)


def results(log: Path) -> dict[str, bool]:
    found = {}
    for line in log.read_text().splitlines():
        if match := LINES.fullmatch(line):
            name = match["test"] or match["check"] or match["target"]
            held = match["result"] == "ok" or match["mark"] == "ok" or match["target"] is not None
            found[name] = found.get(name, True) and held
    return found


def rows(text: str):
    """Headings, with `None`, and requirements with their tests."""
    tests = []
    for line in text.split("\n\n", 1)[1].splitlines():
        if line.startswith("# "):
            yield line.removeprefix("# "), None
        elif line.startswith("  "):
            tests.append(tuple(line.split(maxsplit=1)))
        elif line:
            tests = []
            yield line, tests


def main(logs: str, *kinds: str) -> bool:
    known = {kind: results(Path(logs, f"{kind}.log")) for kind in kinds}
    held = counted = 0
    for text, tests in list(rows(Path(__file__).with_name("rows.txt").read_text())):
        if tests is None:
            heading = text
            continue
        if not tests:
            raise SystemExit(f"no test proves: {text}")
        own = [(kind, name) for kind, name in tests if kind in known]
        if not own:
            continue
        if heading:
            print(f"\n{heading}\n")
            heading = None
        states = {True: "holds", False: "FAILS", None: "DID NOT RUN"}
        outcomes = [known[kind].get(name) for kind, name in own]
        counted, held = counted + 1, held + all(outcomes)
        print(f"{'ok  ' if all(outcomes) else 'FAIL'}  {text}")
        for (kind, name), outcome in zip(own, outcomes):
            print(f"        {states[outcome]}: {kind} {name}")
    print(f"\ntests: {held} passed, {counted - held} failed\n{held} of {counted}")
    return held == counted > 0


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
