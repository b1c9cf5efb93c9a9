"""Files of a package, and archives of them that are the same for the same files."""

import gzip
import io
import stat
import tarfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class File:
    """A regular file, or a link if it has a target."""

    content: bytes = b""
    mode: int = 0o644
    link: str = ""


@dataclass(frozen=True)
class Folder:
    mode: int = 0o755
    # The number of its user and group.
    owner: int = 0


# By paths, which are relative and have `/`.
Files = dict[str, File | Folder]


def with_folders(files: Files) -> Iterator[tuple[str, File | Folder]]:
    """All files in order, each after the folders that it is in."""
    all: Files = {}
    for path, file in files.items():
        for parent in PurePosixPath(path).parents:
            if str(parent) != ".":
                all.setdefault(str(parent), Folder())
        all[path] = file
    yield from sorted(all.items())


def tar(files: Files, epoch: int, prefix: str = "") -> bytes:
    """An uncompressed tar file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, file in with_folders(files):
            entry = tarfile.TarInfo(prefix + path)
            entry.mtime = epoch
            entry.uname = entry.gname = "root"
            match file:
                case Folder(mode, owner):
                    entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
                    if owner:
                        entry.uname = entry.gname = ""
                case File(link=link) if link:
                    entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, link
                case File(content, mode):
                    entry.mode, entry.size = mode, len(content)
            archive.addfile(entry, io.BytesIO(file.content) if isinstance(file, File) and not file.link else None)
    return packed.getvalue()


def gzipped(content: bytes) -> bytes:
    """Without a name and a time, which gzip would add."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def zipped(files: Files, epoch: int) -> bytes:
    packed = io.BytesIO()
    # The format has no time before 1980.
    date = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, file in sorted(files.items()):
            assert isinstance(file, File) and not file.link, f"{path}: zip files have only regular files here"
            entry = zipfile.ZipInfo(path, date)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | file.mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.content)
    return packed.getvalue()


def write(files: Files, folder: Path, epoch: int) -> None:
    """Writes them to a folder, with their modes and times."""
    import os

    for path, file in with_folders(files):
        to = folder / path
        match file:
            case Folder(mode):
                to.mkdir(mode, parents=True, exist_ok=True)
                to.chmod(mode)
            case File(link=link) if link:
                to.symlink_to(link)
            case File(content, mode):
                to.write_bytes(content)
                to.chmod(mode)
        os.utime(to, (epoch, epoch), follow_symlinks=False)
