"""Texts that packages of different kinds share."""

import hashlib
import json
import re
import tomllib
from functools import cache
from pathlib import Path
from string import Template

from packages.context import Context, PackageError

NAME = "wharf-mcp"


@cache
def _host(root: Path) -> dict:
    return tomllib.loads((root / "host/Cargo.toml").read_text())["package"]


def description(context: Context) -> str:
    return _host(context.root)["description"]


def license(context: Context) -> str:
    """The SPDX expression."""
    return tomllib.loads((context.root / "Cargo.toml").read_text())["workspace"]["package"]["license"]


def repository(context: Context) -> str:
    """The address of the repository, for a package that cannot be made without."""
    if not context.repository:
        raise PackageError("this package has addresses of a release; give --repository URL")
    return context.repository


def download(context: Context, file: str) -> str:
    """The address of one file of the release."""
    return f"{repository(context)}/releases/download/v{context.version}/{file}"


def archive(context: Context, target: str, suffix: str) -> tuple[str, str]:
    """The name of a target's archive, which must have been made, and its SHA-256."""
    path = context.out / f"wharf-{context.version}-{target}.{suffix}"
    if not path.is_file():
        raise PackageError(f"there is no {path}; `python3 dist/package.py archive --target {target}` makes it")
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def server_name(context: Context) -> str:
    """The name in the MCP registry, which the owner of the repository may use; empty without one."""
    found = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+)", context.repository)
    return f"io.github.{found[1]}/{found[2]}" if found else ""


def fill(context: Context, path: str, **values: str) -> str:
    """A template of dist/files with its `${NAME}` replaced; a name without a value is an error."""
    text = (context.root / "dist/files" / path).read_text()
    try:
        return Template(text).substitute(version=context.version, description=description(context), **values)
    except (KeyError, ValueError) as error:
        raise PackageError(f"dist/files/{path}: {error} has no value") from error


def readme(context: Context) -> str:
    """The page of the package in a registry."""
    name = server_name(context)
    # The MCP registry finds in this line that the package belongs to its entry.
    mark = f"\n<!-- mcp-name: {name} -->\n" if name else ""
    return fill(context, "registry/README.md") + mark


def json_text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
