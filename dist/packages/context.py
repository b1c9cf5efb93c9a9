"""What every package is made of: the version, the target, the binaries, the time."""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path


class PackageError(Exception):
    """A package cannot be made. The message says what is missing, and what to do."""


@dataclass(frozen=True)
class Context:
    """What one package is made of."""

    root: Path
    version: str
    target: str
    # The folder of `wharf`, `wharf-server` and `wharf-mcp`.
    bin: Path
    out: Path
    # The time of every file in a package, in seconds since 1970.
    epoch: int
    # The address of the repository whose releases are packaged; empty if it is not known.
    repository: str = ""

    @classmethod
    def of(
        cls, root: Path, target: str, bin: Path | None, out: Path | None, repository: str | None
    ) -> "Context":
        workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
        return cls(
            root=root,
            version=workspace["version"],
            target=target,
            bin=(bin or root / "target/dist/bin" / target).resolve(),
            out=(out or root / "target/dist/packages").resolve(),
            epoch=_epoch(root),
            repository=(repository or workspace.get("repository", "")).rstrip("/"),
        )

    @property
    def windows(self) -> bool:
        return "-windows-" in self.target

    def binary(self, name: str) -> Path:
        """One of the compiled binaries; `name` is without `.exe`."""
        path = self.bin / (f"{name}.exe" if self.windows else name)
        if not path.is_file():
            raise PackageError(f"there is no {path}; `bash dist/compile.sh {self.target}` makes it")
        return path


def _epoch(root: Path) -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        try:
            given = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise PackageError("the time of the last commit is unknown; set SOURCE_DATE_EPOCH") from error
    try:
        return int(given)
    except ValueError as error:
        raise PackageError(f"SOURCE_DATE_EPOCH is not a number of seconds: {given!r}") from error
