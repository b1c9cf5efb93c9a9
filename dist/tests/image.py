"""Checks the image: by skopeo and umoci, and started by runc as a user without rights, on a read-only root."""

import filecmp
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import rpc
from checking import PLUGINS, Checks, Failed, free_port, missing, run, version, want
from packages.image import ARCHITECTURES

# Without the libraries of a dynamic program, which are in it only here.
LIMIT = 40_000_000


def inspect(checks: Checks, layout: Path, *options: str) -> dict:
    """What skopeo reports of the image for the target."""
    architecture = ARCHITECTURES[checks.target.split("-")[0]]
    command = ["skopeo", "inspect", "--override-arch", architecture, *options]
    return json.loads(run([*command, f"oci:{layout}:{version()}"]).stdout)


def main() -> None:
    checks = Checks()
    install = "apt-get install --no-install-recommends -y skopeo umoci runc"
    for tool in ("skopeo", "umoci", "runc"):
        missing(tool, install)
    [layout] = checks.package("image")
    bundle = checks.folder / "bundle"
    token = secrets.token_hex(32)

    def same() -> None:
        [second] = checks.package("image", out=checks.folder / "again")
        compared = filecmp.dircmp(layout, second)
        files = [str(path.relative_to(layout)) for path in sorted(layout.rglob("*")) if path.is_file()]
        want((compared.left_only, compared.right_only), ([], []), "files of one run only")
        want(filecmp.cmpfiles(layout, second, files, shallow=False)[1:], ([], []), "different files")

    def platforms() -> None:
        """Another platform joins the same index. Its binary is of this one: nothing starts it here."""
        both = checks.folder / "both"
        other = checks.target.replace("x86_64", "aarch64") if "x86_64" in checks.target else checks.target.replace("aarch64", "x86_64")
        for target in (other, checks.target):
            [joint] = checks.package("image", out=both, target=target)
        names = []
        for each in ("amd64", "arm64"):
            found = run(["skopeo", "inspect", "--override-arch", each, f"oci:{joint}:{version()}"])
            names.append(json.loads(found.stdout)["Architecture"])
        want(names, ["amd64", "arm64"], "the platforms")
        run(["skopeo", "copy", "--quiet", "--all", f"oci:{joint}:{version()}", f"dir:{checks.folder / 'copied'}"])

    def described() -> None:
        found = inspect(checks, layout)
        want(found["Labels"]["org.opencontainers.image.version"], version(), "the label of the version")
        config = inspect(checks, layout, "--config")["config"]
        want(config["User"], "65532:65532", "the user")
        want(config["Entrypoint"], ["/usr/bin/wharf"], "the program")

    def unpacked() -> None:
        run(["umoci", "unpack", "--image", f"{layout}:{version()}", bundle])
        root = bundle / "rootfs"
        programs = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and os.access(path, os.X_OK) and path.stat().st_mode & 0o111)
        want(programs, ["usr/bin/wharf", "usr/bin/wharf-mcp"], "the programs, of which none is a shell")
        libraries = subprocess.run(["ldd", root / "usr/bin/wharf"], capture_output=True, text=True)
        if libraries.returncode == 0 and "=>" in libraries.stdout:
            print("the binary is dynamic: its libraries are added for this check, and its size is not checked")
            for path in re.findall(r"(/\S+) \(0x", libraries.stdout):
                to = root / path.lstrip("/")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        else:
            size = sum(file.stat().st_size for file in layout.rglob("*") if file.is_file())
            want(size < LIMIT, True, f"whether {size} bytes are fewer than {LIMIT}")

    def container(name: str, arguments: list[str], environment: list[str], plugins: Path):
        """Configured as Kubernetes would with the manifests: read-only, without capabilities."""
        spec = json.loads((bundle / "config.json").read_text())
        state = checks.folder / f"{name}-state"
        state.mkdir(mode=0o700, exist_ok=True)
        os.chown(state, 65532, 65532)
        process = spec["process"]
        process |= {"terminal": False, "noNewPrivileges": True}
        process["args"] = ["/usr/bin/wharf", *arguments]
        process["env"] = [*process["env"], *environment]
        process["capabilities"] = {kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")}
        spec["root"] = {"path": str(bundle / "rootfs"), "readonly": True}
        spec["mounts"] = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]},
            {"destination": "/plugins", "type": "bind", "source": str(plugins), "options": ["bind", "ro"]},
            {"destination": "/var/lib/wharf", "type": "bind", "source": str(state), "options": ["bind", "rw"]},
        ]
        # The network is that of this machine, to reach it; there are no control groups to write.
        spec["linux"] = {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]}
        folder = checks.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(spec))
        return ["runc", "--root", checks.folder / "runc", "run", "--bundle", folder, f"wharf-{os.getpid()}-{name}"]

    def refuses_without_token() -> None:
        command = container("tokenless", spec_command(free_port()), [], PLUGINS)
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
        want(done.returncode, 2, f"the exit code without WHARF_TOKEN: {done.stderr}")
        want("WHARF_TOKEN" in done.stderr, True, f"whether the variable is named in {done.stderr!r}")

    def spec_command(port: int) -> list[str]:
        """The command of the image, on a free port."""
        config = inspect(checks, layout, "--config")["config"]
        return [word.replace("8080", str(port)) for word in config["Cmd"]]

    def serves() -> None:
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        command = container("serving", spec_command(port), [f"WHARF_TOKEN={token}"], PLUGINS)
        log = (checks.folder / "serving.log").open("w+")
        server = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def log() -> str:
            return (checks.folder / "serving.log").read_text()

        def until(what: str, ready) -> None:
            deadline = time.monotonic() + 120
            while not ready():
                if server.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"{what}: {log()}")
                time.sleep(0.1)

        try:
            until("it is not ready", lambda: rpc.status(f"{address}/readyz") == 200)
            want(rpc.status(f"{address}/mcp"), 401, "the status without a token")
            approve = ["runc", "--root", checks.folder / "runc", "exec", f"wharf-{os.getpid()}-serving"]
            run([*approve, "/usr/bin/wharf", "approve", "--all", "--yes", "/plugins"])
            until("nothing is loaded", lambda: "loaded plugin=text" in re.sub(r"\x1b\[[\d;]*m", "", log()))
            rpc.over_http(f"{address}/mcp", token)
            want("no OS sandbox" in log(), checks.is_emulated, f"a warning of the OS sandbox: {log()}")
        finally:
            run(["runc", "--root", checks.folder / "runc", "kill", f"wharf-{os.getpid()}-serving", "TERM"])
            want(server.wait(timeout=30), 0, f"the exit code after SIGTERM: {log()}")

    def stdio() -> None:
        """As a client starts it: docker run -i IMAGE serve /plugins."""
        rpc.over_stdio(container("stdio", ["serve", "/plugins"], [], PLUGINS), stderr=subprocess.DEVNULL)

    checks.finish({
        "built twice, the same bytes": same,
        "two platforms in one index": platforms,
        "labels, user and program": described,
        "unpacked by umoci: no shell, small": unpacked,
        "refuses to listen without a token": refuses_without_token,
        "serves over HTTP with a read-only root": serves,
        "serves over stdio": stdio,
    })


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
