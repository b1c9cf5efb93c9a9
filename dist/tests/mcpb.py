"""Checks the MCPB bundle with the official tool, and starts the server as its manifest says."""

import getpass
import json
from pathlib import Path

from checking import PLUGINS, Checks, answers, node_tools, run, version, want

checks = Checks()
tools = node_tools()
mcpb = ["node", tools / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"]
folder = checks.folder / "unpacked"


def unpack(bundle: Path) -> None:
    run([*mcpb, "unpack", bundle, folder])
    run([*mcpb, "validate", folder / "manifest.json"])
    want(json.loads((folder / "manifest.json").read_text())["version"], version(), "the version")


def start(home: dict[str, str], plugins: str | None) -> list[str]:
    """The command of the manifest, with its variables replaced; `plugins` is the user's choice."""
    manifest = json.loads((folder / "manifest.json").read_text())
    config = manifest["server"]["mcp_config"]
    chosen = plugins or manifest["user_config"]["plugins"]["default"]
    of_user = f"C:\\users\\{getpass.getuser()}" if checks.exe else home["HOME"]
    values = {"${user_config.plugins}": chosen, "${__dirname}": str(folder), "${HOME}": of_user}
    words = checks.start(config["command"]) + config["args"]
    for name, value in values.items():
        words = [word.replace(name, value) for word in words]
    want([word for word in words if "${" in word], [], "variables that are left")
    return words


def with_default() -> None:
    """The folder of a user who has none yet is created, and its plugins are served."""
    home = checks.home("default")
    run(start(home, None), env=home)
    if checks.exe:
        plugins = Path(home["WINEPREFIX"], "drive_c/users", getpass.getuser(), "AppData/Roaming/wharf/plugins")
    else:
        plugins = Path(home["HOME"]) / ".local/share/wharf/plugins"
    want(plugins.is_dir(), True, f"{plugins} exists")
    for plugin in PLUGINS.glob("*.wasm"):
        (plugins / plugin.name).write_bytes(plugin.read_bytes())
    answers(start(home, None), ["node", tools / "call.mjs"], env=home)


def with_folder() -> None:
    home = checks.home("chosen")
    answers(start(home, str(PLUGINS)), ["node", tools / "call.mjs"], env=home)


for bundle in checks.twice("mcpb"):
    checks.check("mcpb unpack, mcpb validate", lambda: unpack(bundle))
checks.check("the default folder", with_default)
checks.check("a folder that the user chose", with_folder)
checks.check("mcpb pack", lambda: run([*mcpb, "pack", folder, checks.folder / "packed.mcpb"]))
checks.finish()
