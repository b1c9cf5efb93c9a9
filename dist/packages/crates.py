"""The crates that are linked into a program of this repository, from cargo."""

import json
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from packages.context import Context, PackageError


@dataclass(frozen=True, order=True)
class Crate:
    """One crate, as it is linked."""

    name: str
    version: str
    # An SPDX expression.
    license: str
    authors: tuple[str, ...]
    about: str
    # The folder of its sources.
    folder: Path
    # SHA-256 of the file in the registry; empty for crates of this repository.
    sha256: str
    is_own: bool
    # Cargo's names of it and of the crates that it uses, which differ between targets.
    id: str = field(compare=False)
    uses: tuple[str, ...] = field(compare=False)

    @property
    def purl(self) -> str:
        return f"pkg:cargo/{self.name}@{self.version}"


def server(context: Context, name: str) -> list[Crate]:
    """The crates in the binary `wharf` or `wharf-server`, with those of this repository."""
    package = tomllib.loads((context.root / "host/Cargo.toml").read_text())["package"]["name"]
    features = ["--no-default-features", "--features", "metrics,nats,page,postgres,telemetry"] if name == "wharf-server" else []
    return _linked(context.root, context.target, ("--package", package, *features))


def plugins(context: Context) -> list[Crate]:
    """The crates in the prebuilt plugins."""
    names = sorted(file.stem for file in (context.root / "plugins/prebuilt").glob("*.wasm"))
    packages = [word for name in names for word in ("--package", f"{name}-rust")]
    return _linked(context.root, "wasm32-wasip2", tuple(packages))


@cache
def _linked(root: Path, target: str, options: tuple[str, ...]) -> list[Crate]:
    # `cargo metadata` also has crates that no feature enables; `cargo tree` does not.
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    tree = _cargo(root, "tree", "--target", target, *edges, *options)
    named = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    return sorted(crate for crate in _crates(root, target) if (crate.name, f"v{crate.version}") in named)


@cache
def _crates(root: Path, target: str) -> list[Crate]:
    metadata = json.loads(_cargo(root, "metadata", "--format-version", "1", "--filter-platform", target))
    uses = {node["id"]: tuple(sorted(node["dependencies"])) for node in metadata["resolve"]["nodes"]}
    locked = tomllib.loads((root / "Cargo.lock").read_text())["package"]
    sums = {(package["name"], package["version"]): package.get("checksum", "") for package in locked}
    return [
        Crate(
            name=package["name"],
            version=package["version"],
            license=_expression(package["license"] or ""),
            # Their addresses are nobody's business here.
            authors=tuple(re.sub(r"\s*<[^>]*>", "", author) for author in package["authors"]),
            about=" ".join((package["description"] or "").split()),
            folder=Path(package["manifest_path"]).parent,
            sha256=sums.get((package["name"], package["version"]), ""),
            is_own=not package["source"],
            id=package["id"],
            uses=uses.get(package["id"], ()),
        )
        for package in metadata["packages"]
    ]


def _expression(license: str) -> str:
    """An SPDX expression; `/` is an older spelling of `OR`."""
    return re.sub(r"\s*/\s*", " OR ", license)


def _cargo(root: Path, command: str, *options: str) -> str:
    try:
        done = subprocess.run(
            ["cargo", command, "--locked", *options], cwd=root, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise PackageError("cargo is missing, which knows the dependencies; install Rust") from error
    if done.returncode != 0:
        raise PackageError(f"cargo {command} failed: {done.stderr.strip()}")
    return done.stdout
