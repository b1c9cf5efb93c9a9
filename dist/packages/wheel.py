"""A wheel: the compiled programs as scripts, which pip and uv put into the folder of commands.

`maturin build` with `bindings = "bin"` has no way to take programs that are compiled already: it runs cargo
itself, which would make other bytes than those of the other packages. So the files are laid out here, and
`wheel pack` writes the archive and its record.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packages import texts, third_party
from packages.context import Context, PackageError
from packages.targets import target

DISTRIBUTION = texts.NAME.replace("-", "_")


def build(context: Context) -> list[Path]:
    tag = f"py3-none-{_platform(context)}"
    stem = f"{DISTRIBUTION}-{context.version}"
    context.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        scripts, about = root / f"{stem}.data/scripts", root / f"{stem}.dist-info"
        scripts.mkdir(parents=True)
        (about / "licenses").mkdir(parents=True)
        for name in ("wharf", "wharf-mcp"):
            program = context.binary(name)
            shutil.copyfile(program, scripts / program.name)
            (scripts / program.name).chmod(0o755)
        shutil.copyfile(context.root / "LICENSE", about / "licenses/LICENSE")
        (about / "licenses" / third_party.FILE).write_text(third_party.text(context, "wharf"), encoding="utf-8")
        (about / "METADATA").write_text(_metadata(context))
        (about / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: wharf ({context.version})\nRoot-Is-Purelib: false\nTag: {tag}\n"
        )
        for file in about.rglob("*"):
            file.chmod(0o755 if file.is_dir() else 0o644)
        _pack(root, context)
    return [context.out / f"{stem}-{tag}.whl"]


def _metadata(context: Context) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {texts.NAME}",
        f"Version: {context.version}",
        f"Summary: {texts.description(context)}",
        "Keywords: mcp,mcp-server,wasm,webassembly,sandbox,plugins",
        f"License-Expression: {texts.license(context)}",
        "License-File: LICENSE",
        f"License-File: {third_party.FILE}",
        "Requires-Python: >=3.8",
        "Classifier: Environment :: Console",
        "Classifier: Programming Language :: Rust",
        "Description-Content-Type: text/markdown",
    ]
    if context.repository:
        lines.append(f"Project-URL: Repository, {context.repository}")
    return "\n".join([*lines, "", texts.readme(context)])


def _platform(context: Context) -> str:
    """The platform tag: what the binaries need, and not what the release wants them to need."""
    tag = target(context.target).wheel
    found = re.fullmatch(r"manylinux_2_(\d+)_(.*)", tag)
    if not found:
        return tag
    binaries = [context.binary(name).read_bytes() for name in ("wharf", "wharf-mcp")]
    needed = {int(minor) for binary in binaries for minor in re.findall(rb"GLIBC_2\.(\d{1,3})\b", binary)}
    return f"manylinux_2_{max({int(found[1])} | needed)}_{found[2]}"


def _pack(root: Path, context: Context) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(context.epoch)}
    command = [sys.executable, "-m", "wheel", "pack", "--dest-dir", str(context.out), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if "No module named wheel" in done.stderr:
        raise PackageError(f"the package wheel is missing; install it: {sys.executable} -m pip install wheel")
    if done.returncode:
        raise PackageError(f"wheel pack: {done.stdout}{done.stderr}")
