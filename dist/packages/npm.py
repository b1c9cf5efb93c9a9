"""npm: a package with a launcher, and one with the program for each platform, of which npm installs one.

Nothing runs or is downloaded when they are installed.
"""

from pathlib import Path

from packages import files, texts, third_party
from packages.context import Context
from packages.files import File, Files
from packages.targets import shorts, target


def build(context: Context) -> list[Path]:
    return [_platform(context), _launcher(context)]


def _manifest(context: Context, name: str, about: str) -> dict:
    manifest = {
        "name": name,
        "version": context.version,
        "description": about,
        "license": texts.license(context),
        "engines": {"node": ">=18"},
    }
    if context.repository:
        # npm compares it with the repository that publishes.
        manifest["repository"] = {"type": "git", "url": f"git+{context.repository}.git"}
        manifest["homepage"] = f"{context.repository}#readme"
    return manifest


def _launcher(context: Context) -> Path:
    manifest = _manifest(context, texts.NAME, texts.description(context)) | {
        "keywords": ["mcp", "mcp-server", "wasm", "webassembly", "sandbox", "plugins"],
        "bin": {"wharf": "bin/wharf.js", "wharf-mcp": "bin/wharf.js"},
        "optionalDependencies": {f"{texts.NAME}-{short}": context.version for short in shorts()},
    }
    if name := texts.server_name(context):
        manifest["mcpName"] = name
    content: Files = {
        "package.json": File(texts.json_text(manifest).encode()),
        "README.md": File(texts.readme(context).encode()),
        "LICENSE": File((context.root / "LICENSE").read_bytes()),
        "bin/wharf.js": File((context.root / "dist/files/npm/wharf.js").read_bytes(), 0o755),
    }
    return _pack(context, texts.NAME, content)


def _platform(context: Context) -> Path:
    to = target(context.target)
    name = f"{texts.NAME}-{to.short}"
    about = f"Wharf for {to.short}: the program that the package {texts.NAME} starts"
    manifest = _manifest(context, name, about) | {"os": [to.os], "cpu": [to.cpu]}
    if to.libc:
        manifest["libc"] = [to.libc]
    # Yarn would keep the program in a ZIP file, where it cannot be started.
    manifest["preferUnplugged"] = True
    program = context.binary("wharf")
    content: Files = {
        "package.json": File(texts.json_text(manifest).encode()),
        "README.md": File(f"# {name}\n\n{about}.\n".encode()),
        third_party.FILE: File(third_party.text(context, "wharf").encode()),
        "LICENSE": File((context.root / "LICENSE").read_bytes()),
        f"bin/{program.name}": File(program.read_bytes(), 0o755),
    }
    return _pack(context, name, content)


def _pack(context: Context, name: str, content: Files) -> Path:
    """What `npm pack` writes, without its files of the user and of the time."""
    path = context.out / f"{name}-{context.version}.tgz"
    path.write_bytes(files.gzipped(files.tar(content, context.epoch, "package/")))
    return path
