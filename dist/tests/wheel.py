"""Checks the wheel: by its referees, installed by pip and by uv from local indexes, and called with the official client.

For a system that is not this one it is installed as pip and uv do it for another system.
"""

import functools
import hashlib
import http.server
import shutil
import sys
import threading
from pathlib import Path

import checking
from checking import PLUGINS, Checks, Failed, answers, python_tools, run, version, want

checks = Checks()
tools = python_tools()
system = checks.system
call = [tools / "python", checking.ROOT / "dist/tests/tools/call.py"]
# dist/package.py needs the package wheel.
sys.executable = str(tools / "python")


def index(wheels: list[Path]) -> Path:
    """The files of a simple index."""
    root = checks.folder / "index"
    page = root / "simple/wharf-mcp"
    page.mkdir(parents=True)
    links = []
    for wheel in wheels:
        shutil.copy(wheel, page)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        links.append(f'<a href="{wheel.name}#sha256={digest}" data-requires-python="&gt;=3.8">{wheel.name}</a>')
    (page / "index.html").write_text("<!DOCTYPE html>\n" + "\n".join(links) + "\n")
    return root


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def venv(name: str) -> Path:
    folder = checks.folder / name
    run([tools / "python", "-m", "venv", folder])
    return folder / "bin"


def platform_tag(wheel: Path) -> None:
    """The tag is one that the binaries can be used on."""
    reported = run([tools / "auditwheel", "show", wheel]).stdout.replace("\n", " ")
    tag = wheel.stem.rsplit("-", 1)[1]
    if f'platform tag: "{tag}"' not in reported:
        # A tag of a newer system than needed is true too.
        found = reported.split('platform tag: "', 1)[1].split('"', 1)[0]
        newer = found.startswith("manylinux_2_") and int(found.split("_")[2]) <= int(tag.split("_")[2])
        want(newer, True, f"{tag} is true of binaries that are for {found}")


def pip_installs() -> None:
    home = checks.home("pip-home")
    if checks.is_native:
        bin, options = venv("pip"), []
    else:
        # pip puts the programs into bin/, whatever the system is.
        bin = checks.folder / "pip/bin"
        options = ["--platform", wheels[0].stem.rsplit("-", 1)[1], "--only-binary=:all:", "--target", bin.parent]
    pip = bin / "pip" if checks.is_native else tools / "pip"
    run([pip, "install", "--no-index", "--find-links", checks.out, *options, "wharf-mcp"], env=home)
    for name in ("wharf", "wharf-mcp"):
        program = checks.start(bin / f"{name}{checks.exe}")
        want(run([*program, "--version"], env=home).stdout.split(), ["wharf", version()], name)
        answers([*program, "serve", PLUGINS], call, env=home)
    if checks.is_native:
        run([pip, "uninstall", "--yes", "wharf-mcp"], env=home)
        left = [path.name for path in bin.parent.rglob("*wharf*")]
        want(left, [], "what is left")


def uv(name: str) -> tuple[dict[str, str], list[str]]:
    """The environment of a user of uv, and the options."""
    options = ["--index-url", f"http://127.0.0.1:{server.server_port}/simple"]
    if not checks.is_native:
        options += ["--python-platform", "windows" if checks.exe else checks.target]
    return checks.home(name) | {"UV_PYTHON_DOWNLOADS": "never"}, options


def uvx_starts() -> None:
    home, options = uv("uvx-home")
    answers([tools / "uvx", *options, "wharf-mcp", "serve", PLUGINS], call, env=home)


def uv_installs() -> None:
    home, options = uv("uv-home")
    run([tools / "uv", "tool", "install", *options, "wharf-mcp"], env=home)
    command = Path(home["HOME"]) / ".local/bin/wharf"
    answers([command, "serve", PLUGINS], call, env=home)
    run([tools / "uv", "tool", "uninstall", "wharf-mcp"], env=home)
    if command.exists():
        raise Failed(f"{command} is left")


def contents(wheel: Path) -> None:
    # It has programs alone, and no library.
    run([tools / "check-wheel-contents", "--ignore", "W007", wheel])


wheels = checks.twice("wheel")
for wheel in wheels:
    checks.check("twine check --strict", lambda: run([tools / "twine", "check", "--strict", wheel]))
    if system.libc == "glibc":
        checks.check("auditwheel show", lambda: platform_tag(wheel))
    checks.check("check-wheel-contents", lambda: contents(wheel))
handler = functools.partial(Quiet, directory=index(wheels))
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    checks.check("pip install --no-index --find-links", pip_installs)
    # For Windows uv would look for the programs under their names of Linux.
    if not checks.exe:
        checks.check("uvx wharf-mcp serve", uvx_starts)
        checks.check("uv tool install", uv_installs)
    server.shutdown()
checks.finish()
