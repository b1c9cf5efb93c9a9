"""Makes one package of compiled binaries: python3 dist/package.py KIND --target TARGET.

Each kind is a module of dist/packages/. The same commit and binaries make the same bytes.
"""

import argparse
import importlib
import sys
from pathlib import Path

from packages.context import Context, PackageError

ROOT = Path(__file__).resolve().parent.parent
# Modules that other modules use, and that make no package.
SHARED = {"__init__", "context"}


def kinds() -> list[str]:
    """The kinds of packages: modules that have a function `build`."""
    modules = (Path(__file__).parent / "packages").glob("*.py")
    return sorted(m.stem for m in modules if m.stem not in SHARED and "\ndef build(" in m.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes one package of compiled binaries.")
    parser.add_argument("kind", choices=kinds(), metavar="KIND", help=", ".join(kinds()))
    parser.add_argument("--target", required=True, help="the Rust target that the binaries are for")
    parser.add_argument("--bin", type=Path, metavar="DIR", help="default: target/dist/bin/TARGET")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: target/dist/packages")
    parser.add_argument("--repository", metavar="URL", help="where releases are published")
    options = parser.parse_args()
    try:
        context = Context.of(ROOT, options.target, options.bin, options.out, options.repository)
        context.out.mkdir(parents=True, exist_ok=True)
        for path in importlib.import_module(f"packages.{options.kind}").build(context):
            print(path)
    except PackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
