"""An MCPB bundle: the program with a manifest, for clients such as Claude Desktop that install servers from one file."""

from pathlib import Path

from packages import texts, third_party
from packages.context import Context
from packages.files import File, Files, zipped
from packages.targets import target

# The folders that `wharf serve` serves by itself, and creates; Claude Desktop replaces ${HOME}.
FOLDERS = {
    "linux": "${HOME}/.local/share/wharf/plugins",
    "darwin": "${HOME}/.local/share/wharf/plugins",
    "win32": "${HOME}\\AppData\\Roaming\\wharf\\plugins",
}


def name(context: Context, short: str) -> str:
    """The name of the bundle's file."""
    return f"{texts.NAME}-{context.version}-{short}.mcpb"


def build(context: Context) -> list[Path]:
    to = target(context.target)
    program = context.binary("wharf")
    content: Files = {
        "manifest.json": File(texts.json_text(manifest(context, to.os, program.name)).encode()),
        "LICENSE": File((context.root / "LICENSE").read_bytes()),
        "README.md": File(texts.readme(context).encode()),
        third_party.FILE: File(third_party.text(context, "wharf").encode()),
        f"server/{program.name}": File(program.read_bytes(), 0o755),
    }
    path = context.out / name(context, to.short)
    path.write_bytes(zipped(content, context.epoch))
    return [path]


def manifest(context: Context, os: str, program: str) -> dict:
    """The manifest, as version 0.3 of the format has it."""
    about = {
        "manifest_version": "0.3",
        "name": texts.NAME,
        "display_name": "Wharf",
        "version": context.version,
        "description": texts.description(context),
        "long_description": (
            "Put a `.wasm` file into the plugin folder, and its tools appear. Plugins cannot access each "
            "other, or your files and the network, unless you grant that in Wharf's configuration."
        ),
        "author": {"name": "The Wharf authors"},
        "license": texts.license(context),
        "keywords": ["wasm", "webassembly", "sandbox", "plugins"],
        "server": {
            "type": "binary",
            "entry_point": f"server/{program}",
            "mcp_config": {
                "command": f"${{__dirname}}/server/{program}",
                "args": ["serve", "${user_config.plugins}"],
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "plugins": {
                "type": "directory",
                "title": "Plugin folder",
                "description": "The folder of .wasm files whose tools are served",
                "default": FOLDERS[os],
                "required": True,
            }
        },
        "compatibility": {"platforms": [os]},
    }
    if context.repository:
        about["repository"] = {"type": "git", "url": context.repository}
    return about
