"""The files and commands of docs/team.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Page:
    """`files` by their path, from blocks after a line that ends with the path and a colon; `commands`, the
    shell blocks by heading; `fragments`, the other blocks of settings by heading."""

    def __init__(self):
        self.files: dict[str, str] = {}
        self.commands: dict[str, list[str]] = {}
        self.fragments: dict[str, list[str]] = {}
        heading = before = kind = ""
        block: list[str] = []
        for line in (ROOT / "docs/team.md").read_text().splitlines():
            if kind and line == "```":
                self.add(kind, heading, before, "".join(f"{part}\n" for part in block))
                kind, block = "", []
            elif kind:
                block.append(line)
            elif line.startswith("```"):
                kind = line[3:]
            elif line.startswith("#"):
                heading, before = line.lstrip("# "), ""
            elif line:
                before = line

    def add(self, kind: str, heading: str, before: str, block: str):
        path = re.search(r"`(/etc/[^`]+)`:$", before)
        if kind == "sh":
            self.commands.setdefault(heading, []).append(block)
        elif path:
            self.files[path[1]] = block
        else:
            self.fragments.setdefault(heading, []).append(block)


def with_settings(config: str, settings: str) -> str:
    """The configuration with these lines in `[server.http]`, in place of those of the same keys."""
    for line in settings.strip().splitlines():
        key = line.split(" = ")[0]
        config = re.sub(rf"^{key} = .*\n", "", config, flags=re.M)
        config = config.replace("[server.http]\n", f"[server.http]\n{line}\n")
    return config
