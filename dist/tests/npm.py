"""Checks the npm packages: installed from a local registry as on a system of the target, started with its Node, and
called with the official client."""

import json
import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from checking import (
    LIMIT, PLUGINS, ROOT, Checks, Failed, answers, background, free_port, listens, missing, node_tools, run, version, want,
)
from packages.targets import TARGETS

checks = Checks()
missing("npm", "apt-get install --no-install-recommends -y nodejs npm")
tools = node_tools()
call = [shutil.which("node"), tools / "call.mjs"]
port = free_port()
registry = f"http://127.0.0.1:{port}/"
launcher_path = Path("node_modules/wharf-mcp/bin/wharf.js")
system = checks.system
# For which system npm installs.
CHOSEN = {"npm_config_os": system.os, "npm_config_cpu": system.cpu} | ({"npm_config_libc": system.libc} if system.libc else {})
platform_package = f"wharf-mcp-{system.short}"
# No package has Node for musl, which reports no version of glibc.
MUSL = """
const report = process.report.getReport;
process.report.getReport = () => {
  const found = report.call(process.report);
  delete found.header.glibcVersionRuntime;
  return found;
};
"""


def npm(*arguments: object, home: dict[str, str], folder: Path, code: int = 0) -> subprocess.CompletedProcess:
    return run(["npm", *arguments, "--registry", registry, "--no-audit", "--no-fund"], env=home, cwd=folder, code=code)


def serve_registry() -> list:
    """The command of a registry that knows no other one."""
    config = checks.folder / "verdaccio.yaml"
    config.write_text(
        f"storage: {checks.folder}/storage\n"
        "packages: {'**': {access: $all, publish: $all}}\n"
        "max_body_size: 200mb\n"
        "log: {type: stdout, level: warn}\n"
    )
    return [tools / "node_modules/.bin/verdaccio", "--config", config, "--listen", f"127.0.0.1:{port}"]


def user(name: str) -> dict[str, str]:
    """The environment of a user of a system of the target."""
    # wine 8 tells Node that it is an older Windows.
    return checks.home(name) | CHOSEN | {"NODE_SKIP_PLATFORM_CHECK": "1"}


def with_node(home: dict[str, str]) -> dict[str, str]:
    """The environment in which scripts find Node for the target. Those on Linux cannot use that for Windows."""
    if checks.exe:
        return home
    bin = Path(home["HOME"]) / "bin"
    bin.mkdir(exist_ok=True)
    (bin / "node").write_text(f'#!/bin/sh\nexec {shlex.join(str(word) for word in node)} "$@"\n')
    (bin / "node").chmod(0o755)
    return home | {"PATH": f"{bin}:{home['PATH']}"}


def project(name: str, *options: str) -> tuple[Path, dict[str, str]]:
    """A folder with the package installed, and the environment of its user."""
    home = user(name)
    folder = Path(home["HOME"]) / "project"
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    npm("install", "wharf-mcp", *options, home=home, folder=folder)
    return folder, home


def publish(path: Path) -> None:
    home = checks.home("publisher")
    # The registry lets everyone publish, but npm wants a token for it.
    (Path(home["HOME"]) / ".npmrc").write_text(f"//127.0.0.1:{port}/:_authToken=none\n")
    npm("publish", path, home=home, folder=checks.folder)


def others() -> list[Path]:
    """The packages of other platforms, with no program."""
    found = {}
    for other in TARGETS:
        if other.short == system.short or other.short in found:
            continue
        bin = checks.folder / "bin" / other.name
        bin.mkdir(parents=True)
        (bin / ("wharf.exe" if other.os == "win32" else "wharf")).write_text("no program")
        command = ["python3", ROOT / "dist/package.py", "npm", "--target", other.name, "--bin", bin]
        done = run([*command, "--out", checks.folder / "others"])
        found[other.short] = Path(done.stdout.splitlines()[0])
    return list(found.values())


def only_this_platform(folder: Path) -> None:
    installed = sorted(path.name for path in (folder / "node_modules").iterdir() if path.is_dir() and path.name[0] != ".")
    want(installed, ["wharf-mcp", platform_package], "the installed packages")


def exit_codes(node: list, folder: Path, home: dict[str, str]) -> None:
    launcher = [*node, folder / launcher_path]
    want(run([*launcher, "--version"], env=home).stdout.split(), ["wharf", version()], "the version")
    run([*launcher, "list", "no such folder"], env=home, code=2)


def commands(folder: Path) -> dict[str, list]:
    """What an installation has made. On Windows that would be scripts, which start the launcher too."""
    if checks.exe:
        return {"wharf.js": [*node, folder / launcher_path]}
    return {name: [folder / "node_modules/.bin" / name] for name in ("wharf", "wharf-mcp")}


def serves(command: list, home: dict[str, str]) -> None:
    answers([*command, "serve", PLUGINS], call, env=with_node(home))


def pass_through(node: list, folder: Path, home: dict[str, str]) -> None:
    """Streams and signals are the program's."""
    launcher = [*node, folder / launcher_path]
    for sent in (signal.SIGTERM, signal.SIGINT, None):
        with subprocess.Popen(
            [str(word) for word in [*launcher, "serve", PLUGINS]],
            env=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            ask = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            process.stdin.write(json.dumps(ask).encode() + b"\n")
            process.stdin.flush()
            want(b'"id":1' in process.stdout.readline(), True, "an answer")
            if sent:
                process.send_signal(sent)
            else:
                process.stdin.close()
            want(process.wait(LIMIT), 0, f"the exit code after {sent or 'the end of stdin'}")
            left = process.stdout.read()
            want(left, b"", "what it wrote after the answer")


def killed(node: list, folder: Path, home: dict[str, str]) -> None:
    """If the program is killed, so is the launcher, or it is the program."""
    with subprocess.Popen(
        [str(word) for word in [*node, folder / launcher_path, "serve", PLUGINS]],
        env=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        # Not the running file, which may be that of qemu.
        programs = [child for child in children if "/bin/wharf\0" in Path(f"/proc/{child}/cmdline").read_text()]
        os.kill(int(programs[0]) if programs else process.pid, signal.SIGKILL)
        want(process.wait(LIMIT), -signal.SIGKILL, "the exit code of the launcher")


def refused(command: list, home: dict[str, str]) -> str:
    """The error of a command that cannot start. It is written to a file: under wine, Node writes to no pipe."""
    with (checks.folder / "error").open("w+") as file:
        words = [str(word) for word in command]
        done = subprocess.run(words, env=home, stdin=subprocess.DEVNULL, stderr=file, timeout=LIMIT)
        want(done.returncode, 2, f"the exit code of {shlex.join(words)}")
        file.seek(0)
        return file.read()


def without_program(folder: Path, home: dict[str, str]) -> None:
    reported = refused([*node, folder / launcher_path, "serve"], home)
    hint = f"npm install {platform_package}@{version()}"
    if "is not installed" not in reported or hint not in reported:
        raise Failed(f"the error does not say what to do: {reported}")
    # npm compares what is named with Node's processor and with this machine's system and C library.
    npm(*hint.split()[1:], *([] if system.libc == "glibc" else ["--force"]), home=with_node(home), folder=folder)
    serves(next(iter(commands(folder).values())), home)


def without_build(folder: Path, home: dict[str, str]) -> None:
    """A platform that there is no build for."""
    preload = folder / "other.cjs"
    preload.write_text('Object.defineProperty(process, "arch", { value: "riscv64" });')
    reported = refused([*node, "--require", preload, folder / launcher_path], home)
    if f"there is no build for {system.os}-riscv64" not in reported or "hint: build it from source" not in reported:
        raise Failed(f"the error does not say what to do: {reported}")


def uninstalled(folder: Path, home: dict[str, str]) -> None:
    npm("uninstall", "wharf-mcp", home=home, folder=folder)
    left = [path.name for path in (folder / "node_modules").rglob("*wharf*")]
    want(left, [], "what is left")


def nodes() -> dict[str, list]:
    """Node for the target: the machine's, one that can replace itself, and the oldest that the package allows."""
    found = {"node": [shutil.which("node")]} if checks.is_native else {}
    preload = checks.folder / "musl.cjs"
    preload.write_text(MUSL)
    # wine 8 does not start newer ones.
    for major in (18,) if checks.exe else (24, 18):
        name = f"node-{'win' if checks.exe else 'linux'}-{system.cpu}"
        folder = tools.parent / f"{name}-{major}"
        program = folder / f"node_modules/{name}/bin/node{checks.exe}"
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            # Forced, since it is of another system.
            run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--force", f"{name}@{major}"])
        found[f"node {major}"] = [*checks.start(program), *(["--require", preload] if system.libc == "musl" else [])]
    return found


packages = checks.twice("npm")
nodes = nodes()
node = next(iter(nodes.values()))
with background(serve_registry(), lambda: listens(port)):
    for path in [*others(), *packages]:
        checks.check(f"npm publish {path.name}", lambda path=path: publish(path))
    if not checks.exe:
        home = with_node(user("npx")) | {"npm_config_registry": registry}
        checks.check("npx -y wharf-mcp serve", lambda: answers(["npx", "-y", "wharf-mcp", "serve", PLUGINS], call, env=home))
    folder, home = project("scripts", "--ignore-scripts")
    checks.check("one program is installed", lambda: only_this_platform(folder))
    for name, command in commands(folder).items():
        checks.check(f"npm install --ignore-scripts, {name}", lambda command=command: serves(command, home))
    for name, each in nodes.items():
        checks.check(f"{name}: exit codes", lambda each=each: exit_codes(each, folder, home))
        # Windows has no signals.
        if not checks.exe:
            checks.check(f"{name}: streams, signals", lambda each=each: pass_through(each, folder, home))
            checks.check(f"{name}: a killed program", lambda each=each: killed(each, folder, home))
    checks.check("a platform without a build", lambda: without_build(folder, home))
    checks.check("npm uninstall", lambda: uninstalled(folder, home))
    folder, home = project("omitted", "--omit=optional")
    checks.check("npm install --omit=optional", lambda: without_program(folder, home))
checks.finish()
