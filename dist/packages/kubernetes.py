"""Manifests for Kubernetes, for kustomize: the same for all targets. Of one pod, and of several with a store."""

from pathlib import Path
from string import Template

from packages import files
from packages.context import Context
from packages.files import File, Files

# What each has, in folders of dist/files: of two files of one name, the later one counts. What several nodes change of
# the StatefulSet is a patch.
SETS = {"wharf-kubernetes": ["kubernetes"], "wharf-kubernetes-nodes": ["kubernetes", "kubernetes-nodes"]}


def build(context: Context) -> list[Path]:
    return [packed(context, name, folders) for name, folders in SETS.items()]


def packed(context: Context, name: str, folders: list[str]) -> Path:
    stem = f"{name}-{context.version}"
    content: Files = {f"{stem}/{file}": File(text.encode()) for file, text in manifests(context, folders).items()}
    path = context.out / f"{stem}.tar.gz"
    path.write_bytes(files.gzipped(files.tar(content, context.epoch)))
    return path


def manifests(context: Context, folders: list[str]) -> dict[str, str]:
    """By their names."""
    found = {file.name: file for folder in folders for file in sorted((context.root / "dist/files" / folder).iterdir())}
    return {name: Template(file.read_text()).substitute(version=context.version) for name, file in found.items()}
