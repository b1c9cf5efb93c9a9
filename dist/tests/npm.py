"""Checks the npm packages: installed from a local registry, started, and called with the official client."""

import json
import os
import signal
import subprocess
from pathlib import Path

from checking import (
    LIMIT, PLUGINS, ROOT, Checks, Failed, answers, background, free_port, listens, missing, node_tools, run, version, want,
)

checks = Checks()
missing("npm", "apt-get install --no-install-recommends -y nodejs npm")
tools = node_tools()
call = ["node", tools / "call.mjs"]
port = free_port()
registry = f"http://127.0.0.1:{port}/"
launcher_path = Path("node_modules/wharf-mcp/bin/wharf.js")


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


def project(name: str, *options: str) -> tuple[Path, dict[str, str]]:
    """A folder with the package installed, and the environment of its user."""
    home = checks.home(name)
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
    """The packages of other platforms, whose programs cannot run here."""
    found = []
    for target, suffix in {
        "x86_64-unknown-linux-musl": "", "aarch64-unknown-linux-gnu": "", "aarch64-unknown-linux-musl": "",
        "x86_64-apple-darwin": "", "aarch64-apple-darwin": "", "x86_64-pc-windows-gnu": ".exe",
    }.items():  # fmt: skip
        bin = checks.folder / "bin" / target
        bin.mkdir(parents=True)
        (bin / f"wharf{suffix}").write_text("no program")
        command = ["python3", ROOT / "dist/package.py", "npm", "--target", target, "--bin", bin]
        done = run([*command, "--out", checks.folder / "others"])
        found.append(Path(done.stdout.splitlines()[0]))
    return found


def only_this_platform(folder: Path) -> None:
    installed = sorted(path.name for path in (folder / "node_modules").iterdir() if path.is_dir() and path.name[0] != ".")
    want(installed, ["wharf-mcp", "wharf-mcp-linux-x64-gnu"], "the installed packages")


def pass_through(node: list, folder: Path, home: dict[str, str]) -> None:
    """Exit codes, streams and signals are the program's."""
    launcher = [*node, folder / launcher_path]
    want(run([*launcher, "--version"], env=home).stdout, f"wharf {version()}\n", "the version")
    run([*launcher, "list", "no such folder"], env=home, code=2)
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
        programs = [child for child in children if os.readlink(f"/proc/{child}/exe").endswith("/bin/wharf")]
        os.kill(int(programs[0]) if programs else process.pid, signal.SIGKILL)
        want(process.wait(LIMIT), -signal.SIGKILL, "the exit code of the launcher")


def without_program(folder: Path, home: dict[str, str]) -> None:
    reported = run(["node", folder / launcher_path, "serve"], env=home, code=2).stderr
    hint = f"npm install wharf-mcp-linux-x64-gnu@{version()}"
    if "is not installed" not in reported or hint not in reported:
        raise Failed(f"the error does not say what to do: {reported}")
    npm(*hint.split()[1:], home=home, folder=folder)
    answers([folder / "node_modules/.bin/wharf", "serve", PLUGINS], call, env=home)


def without_build(folder: Path, home: dict[str, str]) -> None:
    """A platform that there is no build for."""
    preload = folder / "other.cjs"
    preload.write_text('Object.defineProperty(process, "arch", { value: "riscv64" });')
    reported = run(["node", "--require", preload, folder / launcher_path], env=home, code=2).stderr
    if "there is no build for linux-riscv64" not in reported or "hint: build it from source" not in reported:
        raise Failed(f"the error does not say what to do: {reported}")


def uninstalled(folder: Path, home: dict[str, str]) -> None:
    npm("uninstall", "wharf-mcp", home=home, folder=folder)
    left = [path.name for path in (folder / "node_modules").rglob("*wharf*")]
    want(left, [], "what is left")


def nodes() -> dict[str, list]:
    """The oldest Node that the package allows, the machine's, and one that can replace itself."""
    found = {"node": ["node"]}
    for major in (18, 24):
        folder = tools.parent / f"node-{major}"
        program = folder / "node_modules/node/bin/node"
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", f"node@{major}"])
        found[f"node {major}"] = [program]
    return found


packages = checks.twice("npm")
with background(serve_registry(), lambda: listens(port)):
    for path in [*others(), *packages]:
        checks.check(f"npm publish {path.name}", lambda path=path: publish(path))
    home = checks.home("npx")
    home["npm_config_registry"] = registry
    checks.check("npx -y wharf-mcp serve", lambda: answers(["npx", "-y", "wharf-mcp", "serve", PLUGINS], call, env=home))
    folder, home = project("scripts", "--ignore-scripts")
    checks.check("one program is installed", lambda: only_this_platform(folder))
    for name in ("wharf", "wharf-mcp"):
        command = [folder / "node_modules/.bin" / name, "serve", PLUGINS]
        checks.check(f"npm install --ignore-scripts, {name}", lambda command=command: answers(command, call, env=home))
    for name, node in nodes().items():
        checks.check(f"{name}: streams, exit codes, signals", lambda node=node: pass_through(node, folder, home))
        checks.check(f"{name}: a killed program", lambda node=node: killed(node, folder, home))
    checks.check("a platform without a build", lambda: without_build(folder, home))
    checks.check("npm uninstall", lambda: uninstalled(folder, home))
    folder, home = project("omitted", "--omit=optional")
    checks.check("npm install --omit=optional", lambda: without_program(folder, home))
checks.finish()
