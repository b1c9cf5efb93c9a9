"""A package for Fedora, openSUSE, RHEL and what is derived from them. Needs rpmbuild."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from string import Template

from packages import files, system
from packages.context import Context, PackageError
from packages.files import File, Files


def build(context: Context) -> list[Path]:
    if shutil.which("rpmbuild") is None:
        raise PackageError("rpmbuild is missing; install it: apt-get install --no-install-recommends -y rpm")
    architecture = context.target.split("-")[0]
    content = _content(context)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        files.write(content, tree, context.epoch)
        spec = Path(folder, "wharf-mcp.spec")
        spec.write_text(_spec(context, content, tree))
        _rpmbuild(context, spec, Path(folder, "top"), architecture)
        path = context.out / f"{system.NAME}-{system.version(context)}-1.{architecture}.rpm"
        shutil.copy(Path(folder, "top/RPMS", architecture, path.name), path)
    return [path]


def _content(context: Context) -> Files:
    content = system.content(context)
    # Each system has its own folder for zsh.
    name = "usr/share/zsh/vendor-completions/_wharf"
    content["usr/share/zsh/site-functions/_wharf"] = content.pop(name)
    licence = f"usr/share/doc/{system.NAME}/LICENSE"
    content[f"usr/share/licenses/{system.NAME}/LICENSE"] = content.pop(licence)
    return content


def _spec(context: Context, content: Files, tree: Path) -> str:
    text = (context.root / "dist/files/rpm/wharf-mcp.spec").read_text()
    return Template(text).substitute(
        name=system.NAME,
        version=system.version(context),
        maintainer=system.maintainer(context),
        url=f"URL: {context.repository}" if context.repository else "",
        tree=str(tree),
        install=system.install_script(context),
        files="\n".join(_lines(content)),
    )


def _lines(content: Files) -> list[str]:
    """Each file as the section %files has it, and the folders that no other package has."""
    own = {str(parent) for path in content for parent in PurePosixPath(path).parents if parent.name in _OWN}
    lines = [f"%dir %attr(0755,root,root) /{folder}" for folder in sorted(own)]
    for path, file in sorted(content.items()):
        kind = ""
        if path == system.CONFIGURATION:
            kind = "%config(noreplace) "
        elif path.startswith("usr/share/licenses/"):
            kind = "%license "
        elif path.startswith(("usr/share/doc/", "usr/share/man/")):
            kind = "%doc "
        is_link = isinstance(file, File) and file.link
        mode = "-" if is_link else f"0{file.mode:o}"
        lines.append(f"{kind}%attr({mode},root,root) /{path}")
    return lines


_OWN = {"wharf", system.NAME}


def _rpmbuild(context: Context, spec: Path, top: Path, architecture: str) -> None:
    command = ["rpmbuild", "-bb", "--quiet", "--target", f"{architecture}-linux", "--define", f"_topdir {top}", spec]
    # What the person who makes a package has configured is no part of it.
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(top.parent),
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": str(context.epoch),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise PackageError(f"rpmbuild failed: {done.stdout}{done.stderr}")
