"""`server.json`: the entry in the MCP registry, which names the packages of a release.

The bundles of the release must be in the folder of packages: the entry has their checksums. The environment variable
WHARF_IMAGE is the name under which the image is published, without a tag.
"""

import hashlib
import os
from pathlib import Path

from packages import mcpb, texts
from packages.context import Context, PackageError
from packages.targets import shorts

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def build(context: Context) -> list[Path]:
    name = texts.server_name(context)
    if not name:
        raise PackageError(f"the entry needs --repository https://github.com/OWNER/NAME, not {context.repository!r}")
    plugins = {
        "type": "positional",
        "valueHint": "plugins",
        "description": "The folder of .wasm files whose tools are served",
        "format": "filepath",
        "default": "~/.local/share/wharf/plugins",
    }
    serve = [{"type": "positional", "value": "serve"}, plugins]
    stdio = {"transport": {"type": "stdio"}}
    packages = [
        {"registryType": "npm", "identifier": texts.NAME, "version": context.version, "runtimeHint": "npx"}
        | {"packageArguments": serve}
        | stdio,
        {"registryType": "pypi", "identifier": texts.NAME, "version": context.version, "runtimeHint": "uvx"}
        | {"packageArguments": serve}
        | stdio,
    ]
    if image := os.environ.get("WHARF_IMAGE", "").lower():
        mount = {"type": "named", "name": "--mount", "value": "type=bind,src={plugins},dst=/plugins,readonly"}
        mount["variables"] = {"plugins": {key: plugins[key] for key in ("description", "format")} | {"isRequired": True}}
        packages.append(
            {"registryType": "oci", "identifier": f"{image}:{context.version}", "runtimeHint": "docker"}
            | {"runtimeArguments": [mount]}
            # The image serves over HTTP unless it is told otherwise.
            | {"packageArguments": [serve[0], {"type": "positional", "value": "/plugins"}]}
            | stdio
        )
    for short in shorts():
        bundle = context.out / mcpb.name(context, short)
        if not bundle.is_file():
            raise PackageError(f"there is no {bundle}; `python3 dist/package.py mcpb --target TARGET` makes it")
        digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
        packages.append(
            {"registryType": "mcpb", "identifier": texts.download(context, bundle.name), "fileSha256": digest} | stdio
        )
    entry = {
        "$schema": SCHEMA,
        "name": name,
        "title": "Wharf",
        "description": texts.description(context),
        "version": context.version,
        "websiteUrl": context.repository,
        "repository": {"url": context.repository, "source": "github"},
        "packages": packages,
    }
    path = context.out / "server.json"
    path.write_text(texts.json_text(entry))
    return [path]
