"""Archives: tar.gz for Unix, whose folders are those of /usr/local or ~/.local; zip for Windows.

Each with a file of its SHA-256 beside it.
"""

import hashlib
from pathlib import Path
from string import Template

from packages import documents, files, third_party
from packages.context import Context
from packages.files import File, Files


def build(context: Context) -> list[Path]:
    """The full program, and the server alone."""
    return [path for name in ("wharf", "wharf-server") for path in _archive(context, name)]


def _archive(context: Context, name: str) -> list[Path]:
    stem = f"{name}-{context.version}-{context.target}"
    if context.windows:
        path = context.out / f"{stem}.zip"
        content = {f"{stem}/{path}": file for path, file in _windows(context, name).items()}
        path.write_bytes(files.zipped(content, context.epoch))
    else:
        path = context.out / f"{stem}.tar.gz"
        content = {f"{stem}/{path}": file for path, file in unix(context, name).items()}
        path.write_bytes(files.gzipped(files.tar(content, context.epoch)))
    # What `sha256sum --check` reads.
    sums = path.with_name(f"{path.name}.sha256")
    sums.write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    return [path, sums]


def unix(context: Context, name: str) -> Files:
    """The files of `wharf` or `wharf-server` below /usr, /usr/local or ~/.local."""
    documentation = {
        "LICENSE": (context.root / "LICENSE").read_bytes(),
        "README.md": _readme(context, "unix"),
        third_party.FILE: third_party.text(context, name).encode(),
    }
    content: Files = {f"share/doc/wharf/{file}": File(text) for file, text in documentation.items()}
    # Both commands are the same program: clients start a package by its own name.
    content["bin/wharf"] = File(context.binary(name).read_bytes(), 0o755)
    content["bin/wharf-mcp"] = File(link="wharf")
    content |= {f"share/wharf/plugins/{file}": File(wasm) for file, wasm in plugins(context).items()}
    if name == "wharf":
        folders = {
            "bash": "share/bash-completion/completions",
            "zsh": "share/zsh/site-functions",
            "fish": "share/fish/vendor_completions.d",
            "powershell": "share/wharf/completions",
            "elvish": "share/wharf/completions",
        }
        for shell, script in documents.completions(context).items():
            content[f"{folders[shell]}/{documents.SHELLS[shell]}"] = File(script)
        content |= {f"share/man/man1/{page}": File(text) for page, text in documents.man_pages(context).items()}
    return content


def _windows(context: Context, name: str) -> Files:
    content: Files = {
        "LICENSE.txt": File((context.root / "LICENSE").read_bytes()),
        "README.md": File(_readme(context, "windows")),
        third_party.FILE: File(third_party.text(context, name).encode()),
        "wharf.exe": File(context.binary(name).read_bytes(), 0o755),
        "wharf-mcp.exe": File(context.binary("wharf-mcp").read_bytes(), 0o755),
    }
    content |= {f"plugins/{file}": File(wasm) for file, wasm in plugins(context).items()}
    if name == "wharf":
        script = documents.completions(context)["powershell"]
        content[f"completions/{documents.SHELLS['powershell']}"] = File(script)
    return content


def plugins(context: Context) -> dict[str, bytes]:
    """The prebuilt plugins."""
    return {file.name: file.read_bytes() for file in sorted((context.root / "plugins/prebuilt").glob("*.wasm"))}


def _readme(context: Context, system: str) -> bytes:
    text = Template((context.root / f"dist/files/archive/{system}.md").read_text())
    return text.substitute(version=context.version, target=context.target).encode()
