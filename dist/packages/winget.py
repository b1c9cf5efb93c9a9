"""The manifests for winget of the release's archive for Windows, which must be in the folder of packages."""

from pathlib import Path

from packages import texts
from packages.context import Context, PackageError

TARGETS = ("x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu")
FILES = ("Wharf.Wharf.yaml", "Wharf.Wharf.installer.yaml", "Wharf.Wharf.locale.en-US.yaml")


def build(context: Context) -> list[Path]:
    file, digest = _archive(context)
    values = {
        "repository": texts.repository(context),
        "url": texts.download(context, file),
        "sha256": digest.upper(),
        "folder": file.removesuffix(".zip"),
        "license": texts.license(context),
    }
    made = []
    for name in FILES:
        path = context.out / name
        path.write_text(texts.fill(context, f"winget/{name}", **values))
        made.append(path)
    return made


def _archive(context: Context) -> tuple[str, str]:
    """That of the toolchain that the release used."""
    missing = None
    for target in TARGETS:
        try:
            return texts.archive(context, target, "zip")
        except PackageError as error:
            missing = missing or error
    raise missing
