"""A Homebrew formula of the release's archives, which must be in the folder of packages."""

from pathlib import Path

from packages import texts
from packages.context import Context

TARGETS = (
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    # Static: whatever libraries the system has.
    "aarch64-unknown-linux-musl",
    "x86_64-unknown-linux-musl",
)


def build(context: Context) -> list[Path]:
    values = {"repository": texts.repository(context)}
    for target in TARGETS:
        file, digest = texts.archive(context, target, "tar.gz")
        key = target.replace("-", "_")
        values |= {f"url_{key}": texts.download(context, file), f"sha_{key}": digest}
    # The style of formulas: no article, no more than 80 characters.
    desc = "MCP server whose tools are sandboxed WebAssembly components"
    path = context.out / f"{texts.NAME}.rb"
    path.write_text(texts.fill(context, "homebrew/wharf-mcp.rb", desc=desc, **values))
    return [path]
