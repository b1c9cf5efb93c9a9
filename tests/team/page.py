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
        text = (ROOT / "docs/team.md").read_text()
        heading = ""
        for found in re.finditer(r"^#+ (?P<heading>.*)$|^(?P<before>.*)\n\n```(?P<kind>\w+)\n(?P<text>.*?)^```$|^```(?P<next>\w+)\n(?P<more>.*?)^```$", text, re.M | re.S):
            if found["heading"]:
                heading = found["heading"]
                continue
            kind, block = found["kind"] or found["next"], found["text"] or found["more"]
            path = re.search(r"`(/etc/[^`]+)`:$", found["before"] or "")
            if path:
                self.files[path[1]] = block
            elif kind == "sh":
                self.commands.setdefault(heading, []).append(block)
            else:
                self.fragments.setdefault(heading, []).append(block)


def with_settings(config: str, settings: str) -> str:
    """The configuration with these lines in `[server.http]`, in place of those of the same keys."""
    for line in settings.strip().splitlines():
        key = line.split(" = ")[0]
        config = re.sub(rf"^{key} = .*\n", "", config, flags=re.M)
        config = config.replace("[server.http]\n", f"[server.http]\n{line}\n")
    return config
