"""A package for Debian, Ubuntu and what is derived from them."""

import hashlib
import lzma
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from string import Template

from packages import files, system
from packages.context import Context, PackageError
from packages.files import File, Files

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SCRIPTS = ("postinst", "prerm", "postrm")


def build(context: Context) -> list[Path]:
    architecture = ARCHITECTURES.get(context.target.split("-")[0])
    if architecture is None:
        known = ", ".join(ARCHITECTURES)
        raise PackageError(f"Debian's name of the architecture of {context.target} is unknown; known are {known}")
    content = _content(context)
    path = context.out / f"{system.NAME}_{system.version(context)}_{architecture}.deb"
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": _packed(_control(context, content, architecture), context),
        "data.tar.xz": _packed(content, context),
    }
    path.write_bytes(_ar(members, context.epoch))
    return [path]


def _content(context: Context) -> Files:
    content = system.content(context)
    folder = f"usr/share/doc/{system.NAME}"
    # Debian has the text of the licence itself.
    _, _, exceptions = content.pop(f"{folder}/LICENSE").content.decode().partition("\n--- LLVM Exceptions")
    if not exceptions:
        raise PackageError("LICENSE has no LLVM exceptions any more; correct dist/files/deb/copyright")
    lines = f"--- LLVM Exceptions{exceptions}".strip().splitlines()
    indented = "\n".join(f" {line}" if line.strip() else " ." for line in lines)
    year = str(datetime.fromtimestamp(context.epoch, UTC).year)
    content[f"{folder}/copyright"] = File(_filled(context, "copyright", exceptions=indented, year=year).encode())
    third = content.pop(f"{folder}/THIRD-PARTY.txt").content
    content[f"{folder}/THIRD-PARTY.txt.gz"] = File(files.gzipped(third))
    content[f"{folder}/changelog.gz"] = File(files.gzipped(_changelog(context).encode()))
    return content


def _changelog(context: Context) -> str:
    date = formatdate(context.epoch, localtime=False).replace("-0000", "+0000")
    return (
        f"{system.NAME} ({system.version(context)}) unstable; urgency=medium\n\n"
        f"  * Version {context.version}.\n\n"
        f" -- {system.maintainer(context)}  {date}\n"
    )


def _control(context: Context, content: Files, architecture: str) -> Files:
    regular = {path: file for path, file in content.items() if isinstance(file, File) and not file.link}
    glibc = system.glibc(context)
    libraries = [f"libc6 (>= {glibc})", "libgcc-s1"] if glibc else []
    control = _filled(
        context,
        "control",
        name=system.NAME,
        version=system.version(context),
        architecture=architecture,
        maintainer=system.maintainer(context),
        # In KiB, each file and folder at least one.
        size=str(sum(-(-len(file.content) // 1024) if isinstance(file, File) else 1 for _, file in files.with_folders(content))),
        depends=", ".join([*libraries, "init-system-helpers (>= 1.54)", "passwd"]),
        homepage=f"Homepage: {context.repository}\n" if context.repository else "",
    )
    sums = "".join(f"{hashlib.md5(file.content).hexdigest()}  {path}\n" for path, file in sorted(regular.items()))
    made: Files = {
        "control": File(control.encode()),
        "conffiles": File(f"/{system.CONFIGURATION}\n".encode()),
        "md5sums": File(sums.encode()),
    }
    install = "\n".join(f"    {line}" if line else "" for line in system.install_script(context).splitlines())
    for script in SCRIPTS:
        text = (context.root / "dist/files/deb" / script).read_text()
        if script == "postinst":
            text = Template(text).substitute(install=install)
        made[script] = File(text.encode(), 0o755)
    return made


def _filled(context: Context, file: str, **values: str) -> str:
    text = (context.root / "dist/files/deb" / file).read_text()
    return Template(text).substitute(values)


def _packed(content: Files, context: Context) -> bytes:
    return lzma.compress(files.tar(content, context.epoch, prefix="./"), preset=6)


def _ar(members: dict[str, bytes], epoch: int) -> bytes:
    packed = b"!<arch>\n"
    for name, content in members.items():
        packed += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        packed += content + b"\n" * (len(content) % 2)
    return packed
