"""A list of what is linked into the programs, in CycloneDX's JSON, for each binary."""

import hashlib
import json
import uuid
from datetime import UTC, datetime
from pathlib import Path

from packages import crates
from packages.context import Context
from packages.crates import Crate

# Names the documents of this project; a document is the same for the same content.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_OID, "wharf")


def build(context: Context) -> list[Path]:
    made = []
    for name in ("wharf", "wharf-server"):
        path = context.out / f"{name}-{context.version}-{context.target}.cdx.json"
        path.write_text(json.dumps(document(context, name), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        made.append(path)
    return made


def document(context: Context, name: str) -> dict:
    all = crates.server(context, name)
    linked = [crate for crate in all if not crate.is_own]
    digest = hashlib.sha256(context.binary(name).read_bytes()).hexdigest()
    refs = {crate.id: crate.purl for crate in linked}
    # Crates of this repository are parts of the program: it uses what they use.
    direct = {refs[id] for crate in all if crate.is_own for id in crate.uses if id in refs}
    root = f"{name}@{context.version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": uuid.uuid5(NAMESPACE, f"{root} {context.target} {digest}").urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(context.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": name,
                "version": context.version,
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}],
                "properties": [{"name": "rust:target", "value": context.target}],
            },
        },
        "components": [_component(crate) for crate in linked],
        "dependencies": [
            {"ref": root, "dependsOn": sorted(direct)},
            *({"ref": crate.purl, "dependsOn": sorted(refs[id] for id in crate.uses if id in refs)} for crate in linked),
        ],
    }


def _component(crate: Crate) -> dict:
    component = {
        "type": "library",
        "bom-ref": crate.purl,
        "name": crate.name,
        "version": crate.version,
        "description": crate.about,
        "licenses": [{"expression": crate.license}],
        "purl": crate.purl,
    }
    if crate.sha256:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.sha256}]
    return component
