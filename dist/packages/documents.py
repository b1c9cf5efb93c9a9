"""Shell completions and manual pages, which the program itself prints: they are the same for all targets."""

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from packages.context import Context, PackageError

# The file of each shell, as its own folder of completions wants it.
SHELLS = {
    "bash": "wharf",
    "zsh": "_wharf",
    "fish": "wharf.fish",
    "powershell": "_wharf.ps1",
    "elvish": "wharf.elv",
}
TIME_LIMIT = 60


def completions(context: Context) -> dict[str, bytes]:
    """A script for each shell."""
    return {shell: _run(_program(context), "completions", shell) for shell in SHELLS}


def man_pages(context: Context) -> dict[str, bytes]:
    """By their names."""
    with tempfile.TemporaryDirectory() as folder:
        _run(_program(context), "man-pages", folder)
        return {page.name: page.read_bytes() for page in sorted(Path(folder).iterdir())}


def _program(context: Context) -> Path:
    """A full program of this version that runs here: that of the target, or that of another."""
    return _runnable(context.bin, context.version)


@cache
def _runnable(folder: Path, version: str) -> Path:
    if given := os.environ.get("WHARF"):
        return Path(given).resolve()
    for program in [folder / "wharf", *sorted(folder.parent.glob("*/wharf"))]:
        try:
            if _run(program, "--version").decode().split() == ["wharf", version]:
                return program
        except PackageError:
            continue
    raise PackageError(
        f"no wharf {version} in {folder} and beside it runs here, which prints completions and manual pages;"
        " compile one for this machine with dist/compile.sh, or name one in the variable WHARF"
    )


def _run(program: Path, *arguments: str) -> bytes:
    # What the person who makes a package has configured is no part of it.
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    try:
        done = subprocess.run([program, *arguments], env=environment, capture_output=True, timeout=TIME_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PackageError(f"{program} does not run: {error}") from error
    if done.returncode != 0:
        raise PackageError(f"{program} {' '.join(arguments)} failed: {done.stderr.decode(errors='replace')}")
    return done.stdout
