"""What the checks of packages share: counting, running commands, the tools of the registries."""

import argparse
import contextlib
import filecmp
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Resolved: programs of a virtual environment have its path in them, and clones may share one target folder.
TOOLS = (ROOT / "target").resolve() / "dist/tools"
PLUGINS = ROOT / "plugins/prebuilt"
# SHA-256 of "hi", in the answer of the tool text_hash.
HASH = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
LIMIT = 360
sys.path.append(str(ROOT / "dist"))

from packages.targets import Target, target


class Failed(Exception):
    """A check found something else than it wanted."""


def options() -> argparse.Namespace:
    """The options that every check has."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, metavar="DIR", help="default: target/dist/bin/TARGET")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keeps the packages there")
    parser.add_argument("--target", default="x86_64-unknown-linux-gnu")
    return parser.parse_args()


class Checks:
    """The checks of one kind of package. Each goes on after another has failed."""

    def __init__(self) -> None:
        given = options()
        self.target: str = given.target
        self.system: Target = target(self.target)
        self.exe = ".exe" if self.system.os == "win32" else ""
        self.bin: Path = (given.bin or ROOT / "target/dist/bin" / self.target).resolve()
        self._folder = tempfile.TemporaryDirectory(prefix="wharf-dist-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.out: Path = (given.out or self.folder / "packages").resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.passed = self.failed = 0
        if self.exe:
            import wine

            wine.begin(self.folder / "wine")

    def check(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            self.failed += 1
            print(f"failed: {name}: {error}", flush=True)
            if not isinstance(error, Failed):
                traceback.print_exc()
        else:
            self.passed += 1
            print(f"ok: {name}", flush=True)

    def finish(self, rest: dict[str, Callable[[], object]] | None = None) -> None:
        """Runs the rest of the checks by their names, and ends the program."""
        for name, work in (rest or {}).items():
            self.check(name, work)
        if self.exe:
            import wine

            wine.end()
        self._folder.cleanup()
        print(f"tests: {self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)

    @property
    def is_native(self) -> bool:
        """Whether pip and npm take this machine for a system of the target. They do not if it is emulated, or has
        another C library."""
        return self.target == f"{platform.machine()}-unknown-linux-gnu"

    @property
    def is_emulated(self) -> bool:
        """Whether qemu runs the programs of the target, which knows nothing of landlock."""
        return self.target.split("-")[0] != platform.machine()

    def start(self, program: Path | str) -> list:
        """The command that starts a program of the target. Linux starts those of other processors by itself, once
        dist/test.sh has told it how."""
        return ["wine", program] if self.exe else [program]

    def package(self, kind: str, *options: str, out: Path | None = None, target: str = "") -> list[Path]:
        """The packages that dist/package.py makes."""
        command = [sys.executable, ROOT / "dist/package.py", kind, "--target", target or self.target]
        done = run([*command, "--bin", self.bin, "--out", out or self.out, *options])
        return [Path(line) for line in done.stdout.splitlines()]

    def twice(self, kind: str, *options: str) -> list[Path]:
        """As `package`; checks that a second run makes the same bytes."""
        made = self.package(kind, *options)

        def same() -> None:
            again = self.package(kind, *options, out=self.folder / "again")
            want([path.name for path in again], [path.name for path in made], "the names of the packages")
            for first, second in zip(made, again, strict=True):
                if not filecmp.cmp(first, second, shallow=False):
                    raise Failed(f"a second run makes other bytes: {first.name}")

        self.check("built twice, the same bytes", same)
        return made

    def home(self, name: str) -> dict[str, str]:
        """The environment of a user who has nothing."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        names = ("PATH", "LANG", "TMPDIR", "WINEPREFIX", "WINEDEBUG")
        kept = {key: os.environ[key] for key in names if key in os.environ}
        return kept | {"HOME": str(home), "npm_config_update_notifier": "false"}


def want(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise Failed(f"{what}: {found!r}, not {wanted!r}")


def run(command: list, *, code: int = 0, **options) -> subprocess.CompletedProcess:
    """Runs a command that must end with that exit code."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, **options
        )
    except FileNotFoundError as error:
        raise Failed(f"{words[0]} is missing") from error
    if done.returncode != code:
        shown = " ".join(words)
        raise Failed(f"exit code {done.returncode}, not {code}: {shown}\n{done.stdout}{done.stderr}")
    return done


def answers(command: list, client: list, **options) -> None:
    """Starts a server with an official client, which lists its tools and calls one."""
    if command[0] == "wine":
        # These clients give a server a socket as its stdin, which wine does not read. And a compiler that the server
        # ends just after its start stays under wine 8, and so do its clients: there must be nothing left to compile.
        run([*command[: command.index("serve")], "list", command[-1]], **options)
        command = ["sh", "-c", 'cat | "$@"', "sh", *command]
    found = json.loads(run([*client, *command], **options).stdout)
    want((found["name"], found["version"]), ("wharf", version()), "the server")
    want(found["tools"] > 10, True, "the tools of the prebuilt plugins")
    want(HASH in found["text"], True, f"the answer of text_hash, {found['text']!r}, has {HASH}")


def version() -> str:
    import tomllib

    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def missing(command: str, install: str) -> None:
    if shutil.which(command) is None:
        print(f"{command} is missing; install it: {install}")
        sys.exit(1)


def node_tools() -> Path:
    """The folder of the tools for Node, which are installed at the first use."""
    missing("npm", "apt-get install --no-install-recommends -y nodejs npm")
    folder, wanted = TOOLS / "node", ROOT / "dist/tests/tools/package.json"
    folder.mkdir(parents=True, exist_ok=True)
    for client in (ROOT / "dist/tests/tools").glob("*.mjs"):
        shutil.copy(client, folder)
    installed = folder / "installed.json"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        shutil.copy(wanted, folder / "package.json")
        # One of them would download a program of another origin in its script.
        run(["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"])
        shutil.copy(wanted, installed)
    return folder


def python_tools() -> Path:
    """The folder of programs of a virtual environment with the tools for Python."""
    return virtual_environment("python", "requirements.txt")


def virtual_environment(name: str, requirements: str) -> Path:
    """The folder of programs of a virtual environment with these packages."""
    folder, wanted = TOOLS / name, ROOT / "dist/tests/tools" / requirements
    installed, state = folder / "installed.txt", f"# {folder}\n{wanted.read_text()}"
    if not installed.exists() or installed.read_text() != state:
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin/pip", "install", "--quiet", "--requirement", wanted])
        installed.write_text(state)
    return folder / "bin"


@contextlib.contextmanager
def background(command: list, ready: Callable[[], bool], **options) -> Iterator[subprocess.Popen]:
    """Runs a server until the block ends."""
    import time

    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    try:
        deadline = time.monotonic() + LIMIT
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise Failed(f"{command[0]} does not start: {process.communicate()[0].decode()}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.communicate()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
