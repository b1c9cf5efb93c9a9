"""Manifests for Kubernetes, for kustomize: the same for all targets."""

from pathlib import Path
from string import Template

from packages import files
from packages.context import Context
from packages.files import File, Files


def build(context: Context) -> list[Path]:
    stem = f"wharf-kubernetes-{context.version}"
    content: Files = {f"{stem}/{file}": File(text.encode()) for file, text in manifests(context).items()}
    path = context.out / f"{stem}.tar.gz"
    path.write_bytes(files.gzipped(files.tar(content, context.epoch)))
    return [path]


def manifests(context: Context) -> dict[str, str]:
    """By their names."""
    folder = context.root / "dist/files/kubernetes"
    return {file.name: Template(file.read_text()).substitute(version=context.version) for file in sorted(folder.iterdir())}
