"""THIRD-PARTY.txt: the licences of all that is linked into the programs and the prebuilt plugins."""

import re
from pathlib import Path

from packages import crates
from packages.context import Context, PackageError
from packages.crates import Crate

FILE = "THIRD-PARTY.txt"
# Names of files with licences and notices in the sources of crates.
LICENCE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicen[cs]e|patents|authors)", re.IGNORECASE)
# More than the longest, of crates that list the licences of others.
LIMIT = 1 << 20
RULE = "=" * 80
INTRODUCTION = """\
What is linked into Wharf, and the licences of it. Wharf's own licence is in LICENSE.

The programs are written in Rust, so the Rust standard library is part of them: it is under
MIT OR Apache-2.0, copyright The Rust Project Contributors.
"""
MUSL = """\
They are linked with musl, the C library: MIT, copyright (c) 2005-2020 Rich Felker and others.
"""


def build(context: Context) -> list[Path]:
    """THIRD-PARTY.txt of the full program and of the server alone."""
    made = []
    for name in ("wharf", "wharf-server"):
        path = context.out / f"{name}-{context.version}-{context.target}.THIRD-PARTY.txt"
        path.write_text(text(context, name), encoding="utf-8")
        made.append(path)
    return made


def text(context: Context, name: str) -> str:
    """For packages with the binary `wharf` or `wharf-server`, and the prebuilt plugins."""
    all = {*crates.server(context, name), *crates.plugins(context)}
    linked = sorted(crate for crate in all if not crate.is_own)
    # Many have the same text, but for its line breaks; it is printed once, with all of them before it.
    texts: dict[str, tuple[str, list[Crate]]] = {}
    for crate in linked:
        for found in _texts(context, crate):
            texts.setdefault(" ".join(found.split()), (found, []))[1].append(crate)
    parts = [INTRODUCTION]
    if "-musl" in context.target:
        parts.append(MUSL)
    parts += ["\n", *(f"{crate.name} {crate.version}: {crate.license}\n" for crate in linked)]
    for found, users in texts.values():
        names = ", ".join(f"{crate.name} {crate.version}" for crate in users)
        parts.append(f"\n{RULE}\n{names}\n{RULE}\n\n{found}\n")
    return "".join(parts)


def _texts(context: Context, crate: Crate) -> list[str]:
    files = sorted(file for file in crate.folder.iterdir() if LICENCE.match(file.name) and file.is_file())
    found = [_clean(file) for file in files if file.suffix not in (".rs", ".toml")]
    if found:
        return found
    # Some crates are published without a text. Of several licences the first that is here is chosen.
    for licence in crate.license.split(" OR "):
        if licence.strip("() ").startswith("Apache-2.0"):
            return [_clean(context.root / "LICENSE")]
        if licence.strip("() ") == "MIT":
            authors = ", ".join(crate.authors) or f"the authors of {crate.name}"
            return [f"Copyright (c) {authors}\n\n{_clean(context.root / 'dist/files/licenses/MIT.txt')}"]
    raise PackageError(f"{crate.name} {crate.version} has no text of its licence, {crate.license}")


def _clean(file: Path) -> str:
    if file.stat().st_size > LIMIT:
        raise PackageError(f"the licence is longer than {LIMIT} bytes: {file}")
    content = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").replace("\f", "\n")
    return "\n".join(line.rstrip() for line in content.lstrip("\ufeff").splitlines()).strip("\n")
