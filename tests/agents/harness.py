"""What each agent library in Python is asked to do: take all of Wharf's tools, convert them for a model, and call them.

The server's command line is in the arguments of the script, its environment is that of the script.
"""

import asyncio
import importlib.metadata
import inspect
import json
import re
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

CALLS = json.loads(Path(__file__).with_name("calls.json").read_text())
COMMAND, FOLDER = sys.argv[1:]
ARGUMENTS = ["serve", FOLDER]
NOTHING: Mapping[str, str] = {}


class Check:
    """The checks of one library."""

    def __init__(self, package: str):
        self.name = f"{package} {importlib.metadata.version(package)}"
        self.failed = False
        # This also compiles the plugins, so that no library waits for it.
        listed = subprocess.run([COMMAND, "list", FOLDER, "--json"], stdout=subprocess.PIPE, check=True)
        self.listed = {tool["name"]: tool["inputSchema"] for tool in json.loads(listed.stdout)["tools"]}

    def report(self, what: str, problem: str = "") -> None:
        print(f"{self.name}: {what}: {f'FAILED: {problem}' if problem else 'ok'}")
        self.failed |= bool(problem)

    def not_checked(self, what: str, reason: str) -> None:
        print(f"{self.name}: {what}: not checked: {reason}")

    def converted(self, form: str, schemas: dict[str, dict], without: Mapping[str, str] = NOTHING) -> None:
        """Checks all tools in the form for a model, as JSON Schema by tool. `without` has reasons by tool."""
        expected = self.listed.keys() - without.keys()
        problems = [f"{name} is missing" for name in expected - schemas.keys()]
        problems += [f"{name} is unexpected" for name in schemas.keys() - expected]
        for name in expected & schemas.keys():
            problems += [f"{name}: {problem}" for problem in compared(self.listed[name], schemas[name])]
        self.report(f"{len(schemas)} tools converted for {form}", "; ".join(sorted(problems)))
        for name, reason in without.items():
            self.not_checked(f"{name} for {form}", reason)

    async def call(self, call: Callable[[str, dict], Any], way: str = "", without: Mapping[str, str] = NOTHING) -> None:
        """Makes all calls with a function of the library, and compares its results as text."""
        for wanted in CALLS:
            what = f"{way}: {wanted['what']}" if way else wanted["what"]
            if reason := without.get(wanted["tool"]):
                self.not_checked(what, reason)
            else:
                self.report(what, await made(wanted, call))


async def made(wanted: dict, call: Callable[[str, dict], Any]) -> str:
    """What is wrong with the result of a call; empty if nothing."""
    for _ in range(wanted.get("times", 1)):
        try:
            result = call(wanted["tool"], dict(wanted["arguments"]))
            text = str(await result if inspect.isawaitable(result) else result)
        except Exception as error:
            traceback.print_exc()
            return f"{wanted['tool']}: {type(error).__name__}: {error}"
        if len(re.findall(wanted["expected"], text)) < wanted.get("occurrences", 1):
            return f"the result of {wanted['tool']} is {text}"
    return ""


def compared(listed: dict, shown: dict) -> list[str]:
    """How the parameters that a model is shown differ from those that Wharf lists."""
    if "properties" not in listed:
        return ["it is listed without properties"]
    wanted, given = listed["properties"], shown.get("properties") or {}
    if wanted.keys() != given.keys():
        return [f"its parameters are {sorted(given)}, listed are {sorted(wanted)}"]
    problems = []
    for name, parameter in wanted.items():
        types, values = alternatives(given[name])
        # A parameter of any type has none in the list.
        if isinstance(parameter.get("type"), list):
            problems.append(f"{name} is listed with the types {parameter['type']}")
        elif "type" in parameter and types - {"null"} != {parameter["type"]}:
            problems.append(f"{name} has the types {sorted(types)}, listed is {parameter['type']}")
        if values - {None} != set(parameter.get("enum", [])):
            problems.append(f"{name} has the values {values}, listed are {parameter.get('enum')}")
    return problems


def alternatives(schema: dict) -> tuple[set, set]:
    """The types and the constants of a parameter; the types of Gemini are in capitals."""
    types = schema.get("type") or []
    types = {str(kind).lower() for kind in (types if isinstance(types, list) else [types])}
    values = set(schema.get("enum") or [])
    for part in schema.get("anyOf") or schema.get("any_of") or []:
        more = alternatives(part)
        types, values = types | more[0], values | more[1]
    return types, values


def run(package: str, use: Callable[[Check], Awaitable[None]]) -> None:
    """Runs the checks of a library, prints a line for each; the exit code is 0 if all passed."""
    check = Check(package)
    try:
        asyncio.run(use(check))
    except Exception as error:
        traceback.print_exc()
        check.report("all tools taken", f"{type(error).__name__}: {error}")
    sys.exit(1 if check.failed else 0)
