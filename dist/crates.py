"""Makes the crates that are published: python3 dist/crates.py [--out DIR] [--verify CRATE]… [--publish].

A crate cannot have files from outside of its folder, nor other crates inside. So the crates are copied into a
folder, each with what it reads of the repository: the interface, and what `wharf new` writes. Without options,
the crates are packed and not compiled.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# In the order of their dependencies.
CRATES = {"wharf-report": "host/report", "wharf-dev": "host/dev", "wharf-mcp": "host", "wharf-plugin": "plugin-sdk"}
# Macros that read the interface, by a path from the folder of their crate.
READS_WIT = ("host/src/plugin/abi/v0_1.rs", "host/src/plugin/imports/keyvalue/bindings.rs")


def stage(to: Path) -> None:
    """Writes the crates into a workspace of their own."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    manifest = (ROOT / "Cargo.toml").read_text()
    members = ", ".join(f'"{folder}"' for folder in CRATES.values())
    manifest = re.sub(r"(?s)members = \[.*?\]", f"members = [{members}]", manifest, count=1)
    manifest = re.sub(r"(?s)default-members = \[.*?\]\n", "", manifest, count=1)
    if repository := os.environ.get("WHARF_REPOSITORY"):
        manifest = manifest.replace("[workspace.package]\n", f'[workspace.package]\nrepository = "{repository}"\n')
    (to / "Cargo.toml").write_text(manifest)
    shutil.copy(ROOT / "Cargo.lock", to)
    for name, folder in CRATES.items():
        for part in ("Cargo.toml", "build.rs", "src"):
            if (source := ROOT / folder / part).exists():
                copy = shutil.copytree if source.is_dir() else shutil.copy
                (to / folder).mkdir(parents=True, exist_ok=True)
                copy(source, to / folder / part)
        shutil.copy(ROOT / "LICENSE", to / folder)
        shutil.copy(ROOT / f"dist/files/crates/{name}.md", to / folder / "README.md")
        if repository:
            own = to / folder / "Cargo.toml"
            own.write_text(own.read_text().replace("license.workspace", "repository.workspace = true\nlicense.workspace"))
    for folder in ("host", "plugin-sdk"):
        shutil.copytree(ROOT / "wit", to / folder / "wit")
    for path in READS_WIT:
        text = (to / path).read_text()
        if '"../wit' not in text:
            sys.exit(f"error: {path} does not read ../wit; correct READS_WIT in {Path(__file__).name}")
        (to / path).write_text(text.replace('"../wit', '"wit'))
    _embed(to / "host/dev/embedded")


def _embed(to: Path) -> None:
    """What the build script of wharf-dev finds in the repository, under numbers: cargo leaves out folders with a manifest."""
    to.mkdir()
    command = ["cargo", "check", "--locked", "--package", "wharf-dev", "--message-format", "json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    messages = map(json.loads, done.stdout.splitlines())
    out = next(m["out_dir"] for m in messages if m.get("out_dir") and "wharf-dev" in m["package_id"])
    shutil.copy(Path(out) / "paths", to)
    for number, path in enumerate((to / "paths").read_text().splitlines()):
        shutil.copyfile(ROOT / path, to / str(number))


def _run(command: list, **options) -> None:
    done = subprocess.run([str(word) for word in command], **options)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the crates that are published.")
    parser.add_argument("--out", type=Path, default=ROOT / "target/dist/crates", metavar="DIR")
    parser.add_argument("--verify", action="append", default=[], choices=CRATES, help="compile this one as it is packed")
    parser.add_argument("--publish", action="store_true", help="publish all, in the order of their dependencies")
    options = parser.parse_args()
    to = options.out.resolve()
    stage(to)
    # Drops from the lock file what only other members of the repository's workspace use.
    _run(["cargo", "update", "--quiet", "--workspace", "--offline"], cwd=to)
    target = ["--target-dir", ROOT / "target/crates", "--locked"]
    if options.publish:
        _run(["cargo", "publish", "--workspace", "--allow-dirty", *target], cwd=to)
        return
    _run(["cargo", "package", "--workspace", "--no-verify", "--allow-dirty", *target], cwd=to)
    for name in options.verify:
        _run(["cargo", "package", "--package", name, "--allow-dirty", *target], cwd=to)
    for path in sorted((ROOT / "target/crates/package").glob("*.crate")):
        print(path)


if __name__ == "__main__":
    main()
