"""The files of packages for a whole Linux system: /usr as in the archives, and the service."""

import re
import tomllib
from pathlib import PurePosixPath

from packages import archive, files
from packages.context import Context, PackageError
from packages.files import File, Files

NAME = "wharf-mcp"
CONFIGURATION = "etc/wharf/wharf.toml"


def content(context: Context) -> Files:
    """The files by their paths from the root, without what a format wants beside them."""
    if "-linux-" not in context.target:
        raise PackageError(f"a package of this kind is for Linux, not for {context.target}")
    own = context.root / "dist/files/system"
    usr = archive.unix(context, "wharf")
    # What is for every shell and manual is compressed or named as systems do it.
    tree: Files = {}
    for path, file in usr.items():
        to = PurePosixPath("usr") / path
        if to.parts[1:4] == ("share", "doc", "wharf"):
            to = PurePosixPath("usr/share/doc", NAME, to.name)
        elif "site-functions" in to.parts:
            to = PurePosixPath("usr/share/zsh/vendor-completions", to.name)
        elif to.parts[1:3] == ("share", "man"):
            to, file = PurePosixPath(f"{to}.gz"), File(files.gzipped(file.content))
        tree[str(to)] = file
    tree["usr/share/man/man1/wharf-mcp.1.gz"] = File(link="wharf.1.gz")
    tree[f"usr/share/doc/{NAME}/README.md"] = File((own / "README.md").read_bytes())
    for unit in ("wharf.service", "wharf.socket"):
        tree[f"usr/lib/systemd/system/{unit}"] = File((own / unit).read_bytes())
    tree[CONFIGURATION] = File((own / "wharf.toml").read_bytes())
    return tree


def install_script(context: Context) -> str:
    """What is run as root once the files are there."""
    return (context.root / "dist/files/system/install.sh").read_text().rstrip()


def glibc(context: Context) -> str | None:
    """The version of glibc that the program needs; none if it is static."""
    binary = context.binary("wharf").read_bytes()
    found = {tuple(map(int, match[1].split(b"."))) for match in re.finditer(rb"GLIBC_(\d+(?:\.\d+)+)\0", binary)}
    return ".".join(map(str, max(found))) if found else None


def maintainer(context: Context) -> str:
    """The first of the authors in Cargo.toml; packages must name an address."""
    workspace = tomllib.loads((context.root / "Cargo.toml").read_text())["workspace"]["package"]
    return next(iter(workspace.get("authors", [])), "The Wharf authors <wharf@localhost>")


def version(context: Context) -> str:
    """In both formats `~` sorts a version before the one without it."""
    return context.version.replace("-", "~", 1)
