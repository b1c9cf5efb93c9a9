"""An OCI image of the server alone, in a layout that takes one platform after the other.

The index names all platforms whose images were made in the same folder, in the order of their names.
"""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from packages import archive, files, texts, third_party
from packages.context import Context, PackageError
from packages.files import File, Files, Folder

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Of no user of the machine, and a number so that Kubernetes sees that it is not root.
USER = 65532
HOME = "var/lib/wharf"
NAMES = "org.opencontainers.image"
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def build(context: Context) -> list[Path]:
    architecture = ARCHITECTURES.get(context.target.split("-")[0])
    if architecture is None or "-linux-" not in context.target:
        raise PackageError(f"images are for Linux on {' and '.join(ARCHITECTURES)}, not for {context.target}")
    layout = context.out / f"wharf-server-{context.version}.oci"
    (layout / "blobs/sha256").mkdir(parents=True, exist_ok=True)
    manifest = _image(context, layout, architecture)
    platforms = {architecture: manifest | {"platform": {"architecture": architecture, "os": "linux"}}}
    for other in _present(layout):
        platforms.setdefault(other["platform"]["architecture"], other)
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [platforms[name] for name in sorted(platforms)],
        "annotations": _annotations(context),
    }
    # Its name is the tag, as tools that copy layouts read it.
    named = _blob(layout, INDEX, _json(index)) | {"annotations": {f"{NAMES}.ref.name": context.version}}
    entry = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}
    (layout / "index.json").write_bytes(_json(entry))
    (layout / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    _sweep(layout)
    return [layout]


def content(context: Context) -> Files:
    """The files of the image: the program, and what it needs to run as a user of its own."""
    own = context.root / "dist/files/image"
    tree: Files = {
        "usr/bin/wharf": File(context.binary("wharf-server").read_bytes(), 0o755),
        "usr/bin/wharf-mcp": File(link="wharf"),
        "usr/share/doc/wharf/LICENSE": File((context.root / "LICENSE").read_bytes()),
        f"usr/share/doc/wharf/{third_party.FILE}": File(third_party.text(context, "wharf-server").encode()),
        "etc/passwd": File(f"wharf:x:{USER}:{USER}:Wharf:/{HOME}:/sbin/nologin\n".encode()),
        "etc/group": File(f"wharf:x:{USER}:\n".encode()),
        "etc/wharf/wharf.toml": File((own / "wharf.toml").read_bytes()),
        "plugins": Folder(),
        HOME: Folder(0o700, USER),
        "tmp": Folder(0o1777),
    }
    prebuilt = archive.plugins(context).items()
    return tree | {f"usr/share/wharf/plugins/{file}": File(wasm) for file, wasm in prebuilt}


def _image(context: Context, layout: Path, architecture: str) -> dict:
    packed = files.tar(content(context), context.epoch)
    layer = _blob(layout, LAYER, files.gzipped(packed))
    created = datetime.fromtimestamp(context.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"8080/tcp": {}},
            "Env": [f"HOME=/{HOME}", "PATH=/usr/bin", "WHARF_CONFIG=/etc/wharf/wharf.toml"],
            "Entrypoint": ["/usr/bin/wharf"],
            "Cmd": ["serve", "/plugins", "--http", "0.0.0.0:8080"],
            "WorkingDir": f"/{HOME}",
            "Labels": _annotations(context) | _labels(context),
            "StopSignal": "SIGTERM",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(packed).hexdigest()}"]},
        "history": [{"created": created, "created_by": "dist/package.py image"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _blob(layout, CONFIG, _json(config)),
        "layers": [layer],
        "annotations": _annotations(context),
    }
    return _blob(layout, MANIFEST, _json(manifest))


def _annotations(context: Context) -> dict[str, str]:
    about = {
        "title": "Wharf",
        "description": "An MCP server whose tools, prompts and resources are sandboxed WebAssembly components",
        "version": context.version,
        "licenses": "Apache-2.0 WITH LLVM-exception",
    }
    if context.repository:
        about |= {"source": context.repository, "url": context.repository}
    return {f"{NAMES}.{key}": value for key, value in sorted(about.items())}


def _labels(context: Context) -> dict[str, str]:
    """The MCP registry finds in this label that the image belongs to its entry."""
    name = texts.server_name(context)
    return {"io.modelcontextprotocol.server.name": name} if name else {}


def _blob(layout: Path, kind: str, content: bytes) -> dict:
    digest = hashlib.sha256(content).hexdigest()
    (layout / "blobs/sha256" / digest).write_bytes(content)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}


def _read(layout: Path, descriptor: dict) -> dict:
    path = layout / "blobs" / descriptor["digest"].replace(":", "/")
    return json.loads(path.read_bytes())


def _present(layout: Path) -> list[dict]:
    """The images of platforms that were made before."""
    entry = layout / "index.json"
    if not entry.exists():
        return []
    return [each for named in json.loads(entry.read_bytes())["manifests"] for each in _read(layout, named)["manifests"]]


def _sweep(layout: Path) -> None:
    """Removes what a newer image of the same platform has replaced."""
    used = set()
    for named in json.loads((layout / "index.json").read_bytes())["manifests"]:
        used.add(named["digest"])
        for each in _read(layout, named)["manifests"]:
            manifest = _read(layout, each)
            used |= {each["digest"], manifest["config"]["digest"], *(layer["digest"] for layer in manifest["layers"])}
    for blob in (layout / "blobs/sha256").iterdir():
        if f"sha256:{blob.name}" not in used:
            blob.unlink()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
