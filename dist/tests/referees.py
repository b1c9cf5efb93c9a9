"""The referees of the list of dependencies and of the manifests for Kubernetes, which are packages for Python."""

import os
import sys
from pathlib import Path

from checking import virtual_environment


def with_referees() -> Path:
    """Starts this program again with a Python that has them; returns their folder of programs."""
    programs = virtual_environment("referees", "referees.txt")
    if Path(sys.prefix) != programs.parent:
        os.execv(programs / "python", [programs / "python", *sys.argv])
    return programs
