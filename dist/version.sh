#!/usr/bin/env bash
# The version of Wharf and of its libraries, which is in several files.
#
#   bash dist/version.sh 0.2.0     raises it everywhere, and begins its section of CHANGELOG.md
#   bash dist/version.sh --check   tells whether all files have the same one
#
# The plugin interface (wit/) has a version of its own, and so do the plugins.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 - "$@" <<'EOF'
import datetime
import re
import sys
import tomllib
from pathlib import Path

VERSION = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?"
# Each pattern has the version as its group; it is found once or more in the file.
PLACES = [
    ("Cargo.toml", rf'\[workspace\.package\]\nversion = "({VERSION})"'),
    ("host/Cargo.toml", rf'wharf-(?:dev|report) = {{ version = "({VERSION})"'),
    ("host/dev/Cargo.toml", rf'wharf-report = {{ version = "({VERSION})"'),
    ("plugin-sdk/python/pyproject.toml", rf'\[project\]\nname = "wharf-plugin"\nversion = "({VERSION})"'),
    ("plugin-sdk/typescript/package.json", rf'"name": "wharf-plugin",\n  "version": "({VERSION})"'),
    *(
        (f"plugin-sdk/templates/{name}/package-lock.json", rf'"name": "wharf-plugin",\n      "version": "({VERSION})"')
        for name in ("javascript", "typescript")
    ),
]


def fail(what):
    sys.exit(f"error: failed to {what}")


def members():
    """The crates of the workspace that have its version."""
    for folder in tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["members"]:
        package = tomllib.loads(Path(folder, "Cargo.toml").read_text())["package"]
        if package.get("version") == {"workspace": True}:
            yield package["name"]


places = PLACES + [("Cargo.lock", rf'name = "{name}"\nversion = "({VERSION})"\n(?!source)') for name in members()]
found = [
    (path, match.span(1), match[1])
    for path, pattern in places
    for match in list(re.finditer(pattern, Path(path).read_text())) or fail(f"find a version: {path}: {pattern}")
]
wanted = sys.argv[1] if len(sys.argv) == 2 else fail("read the arguments\nhint: bash dist/version.sh 0.2.0, or --check")
if wanted == "--check":
    version = found[0][2]
    wrong = [f"{path}: {other}" for path, _, other in found if other != version]
    if wrong:
        fail(f"find {version} in all files\n" + "\n".join(wrong) + f"\nhint: bash dist/version.sh {version}")
    print(f"{version} in {len(found)} places")
    sys.exit()
if not re.fullmatch(VERSION, wanted):
    fail(f"use the version {wanted}\nhint: three numbers, as in 0.2.0")
# From the end of each file, so that the places before it stay where they are.
for path, (start, end), _ in sorted(found, key=lambda place: place[1], reverse=True):
    text = Path(path).read_text()
    Path(path).write_text(text[:start] + wanted + text[end:])
changes = Path("CHANGELOG.md")
text = changes.read_text()
if f"## {wanted} " not in text:
    heading = f"## Unreleased\n\n## {wanted} – {datetime.date.today()}\n"
    changes.write_text(text.replace("## Unreleased\n", heading, 1))
print(f"{wanted} in {len(found)} places")
EOF
