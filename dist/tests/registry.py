"""Checks server.json against the official schema, and with a linter that knows the rules of the MCP registry."""

import json
import os
from pathlib import Path

from checking import ROOT, Checks, python_tools, run, version, want

checks = Checks()
tools = python_tools()
REPOSITORY = "https://github.com/example/wharf"
TARGETS = (
    "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin", "aarch64-apple-darwin", "x86_64-pc-windows-gnu",
)  # fmt: skip
os.environ["WHARF_IMAGE"] = "registry.example/example/wharf"


def bundles() -> None:
    """Of small programs: what matters here are their names and checksums."""
    real = checks.bin
    for target in TARGETS:
        checks.bin = checks.folder / "bin" / target
        checks.bin.mkdir(parents=True)
        (checks.bin / ("wharf.exe" if "windows" in target else "wharf")).write_text(target)
        checks.package("mcpb", target=target)
    checks.bin = real


def against_schema() -> None:
    # The official schemas are part of this package.
    find = "import skillsaw, pathlib; print(pathlib.Path(skillsaw.__file__).parent)"
    folder = Path(run([tools / "python", "-c", find]).stdout.strip())
    schema = folder / "schemas/mcp_registry/v2025_12_11/server.schema.json"
    want(json.loads(schema.read_text())["$id"], json.loads(entry.read_text())["$schema"], "the schema's name")
    validate = (
        "import json, sys, jsonschema; schema, entry = (json.load(open(path)) for path in sys.argv[1:]);"
        "jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(entry)"
    )
    run([tools / "python", "-c", validate, schema, entry])
    wrong = json.loads(entry.read_text())
    wrong["packages"][-1]["fileSha256"] = "none"
    (checks.folder / "wrong.json").write_text(json.dumps(wrong))
    run([tools / "python", "-c", validate, schema, checks.folder / "wrong.json"], code=1)


def lint() -> None:
    folder = checks.folder / "lint"
    folder.mkdir()
    (folder / "server.json").write_text(entry.read_text())
    run([tools / "skillsaw", "lint", "--strict", folder], cwd=folder)


def names() -> None:
    packages = json.loads(entry.read_text())["packages"]
    kinds = [package["registryType"] for package in packages]
    want(kinds, ["npm", "pypi", "oci"] + ["mcpb"] * len(TARGETS), "the kinds of packages")
    want(packages[2]["identifier"], f"registry.example/example/wharf:{version()}", "the image")
    want(packages[3]["identifier"].startswith(f"{REPOSITORY}/releases/download/v{version()}/wharf-mcp-"), True, "an address")


def without_repository() -> None:
    command = ["python3", ROOT / "dist/package.py", "registry", "--target", checks.target]
    reported = run([*command, "--out", checks.folder / "none"], code=1).stderr
    want("--repository" in reported, True, f"the error names the option: {reported}")


bundles()
(checks.folder / "again").mkdir()
for bundle in checks.out.glob("*.mcpb"):
    (checks.folder / "again" / bundle.name).write_bytes(bundle.read_bytes())
[entry] = checks.twice("registry", "--repository", REPOSITORY)
checks.check("the official schema", against_schema)
checks.check("skillsaw lint", lint)
checks.check("the packages of the release", names)
checks.check("no repository", without_repository)
checks.finish()
