"""Makes the crates that are published: python3 dist/crates.py [--out DIR] [--verify CRATE]… [--publish].

A crate cannot have files from outside of its folder, nor other crates inside. So the crates are copied into a
folder, each with what it reads of the repository: the interface, and what `wharf new` writes. Without options,
the crates are packed and not compiled.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
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
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "build"
        _run(["rustc", "--edition", "2024", "-o", script, ROOT / "host/dev/build.rs"])
        environment = os.environ | {"CARGO_MANIFEST_DIR": str(ROOT / "host/dev"), "OUT_DIR": folder}
        subprocess.run([script], check=True, env=environment, stdout=subprocess.DEVNULL)
        table = (Path(folder) / "embedded.rs").read_text()
    lines = []
    for number, (path, file) in enumerate(re.findall(r'\("([^"]+)", include_bytes!\("([^"]+)"\)\)', table)):
        shutil.copyfile(file, to / str(number))
        lines.append(f'    ("{path}", include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/embedded/{number}"))),\n')
    if len(lines) != table.count("include_bytes!"):
        sys.exit("error: the table of host/dev/build.rs has lines that are not understood")
    (to / "table.rs").write_text(f"&[\n{''.join(lines)}]\n")


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
