"""Compiles the programs of a target again, from a clone of the last commit in another folder and with another home of
cargo, and compares the bytes with those that dist/compile.sh has made here."""

import filecmp
import os
import subprocess
from pathlib import Path

from checking import ROOT, Checks, Failed, run, want

checks = Checks()
clone = checks.folder / "elsewhere"
home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))


def compiled() -> None:
    changed = run(["git", "-C", ROOT, "status", "--porcelain"]).stdout
    want(changed, "", "what is not committed, and so not in the clone")
    run(["git", "clone", "--quiet", ROOT, clone])
    # Its downloaded sources are the same.
    other = checks.folder / "cargo"
    other.mkdir()
    for entry in home.iterdir():
        (other / entry.name).symlink_to(entry)
    command = ["bash", "dist/compile.sh", checks.target]
    done = subprocess.run(command, cwd=clone, env=os.environ | {"CARGO_HOME": str(other)}, check=False)
    want(done.returncode, 0, "the exit code of dist/compile.sh")


def same(name: str) -> None:
    first, second = (folder / name for folder in (checks.bin, clone / "target/dist/bin" / checks.target))
    if not filecmp.cmp(first, second, shallow=False):
        kept = checks.bin.with_name(f"{checks.target}-again")
        kept.mkdir(exist_ok=True)
        second.rename(kept / name)
        raise Failed(f"other bytes, which are kept: cmp {first} {kept / name}")


checks.check("compiled again", compiled)
checks.finish({f"{name}: the same bytes": lambda name=name: same(f"{name}{checks.exe}") for name in ("wharf", "wharf-server", "wharf-mcp")})
