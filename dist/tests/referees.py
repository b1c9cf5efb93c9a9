"""The referees of the list of dependencies and of the manifests for Kubernetes, which are packages for Python."""

import os
import shutil
import sys
from pathlib import Path

from checking import TOOLS, run

WANTED = Path(__file__).parent / "tools/referees.txt"


def with_referees() -> Path:
    """Starts this program again with a Python that has them; returns their folder of programs."""
    folder = TOOLS / "referees"
    python, installed = folder / "bin/python", folder / "installed.txt"
    if Path(sys.prefix) == folder:
        return folder / "bin"
    if not installed.exists() or installed.read_text() != WANTED.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin/pip", "install", "--quiet", "--requirement", WANTED])
        shutil.copy(WANTED, installed)
    os.execv(python, [python, *sys.argv])
