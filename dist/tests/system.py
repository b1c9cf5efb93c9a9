"""What the checks of packages for whole systems share: a systemd is booted in namespaces, where it sees a
copy-on-write view of this system, and the package is installed, upgraded and removed there."""

import dataclasses
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "dist"), str(ROOT / "tests/team")]

import checking
import rpc
from booted import Machine
from checking import Checks, Failed, missing, options, want
from client import wait
from packages import third_party
from packages.context import Context
from page import Page

SOCKET = "http://127.0.0.1:8080"
# Of 100, as for the service of docs/team.md.
EXPOSURE = 25
README = "/usr/share/doc/wharf-mcp/README.md"
NEXT = "9.9.9"
# What referees of each format find, and the reason.
ACCEPTED = {
    "unstripped-binary-or-object": "a binary for development",
    "statically-linked-binary": "the build with musl",
}
# Packing takes minutes on a busy machine.
checking.LIMIT = 600


def main(kind: str, tools: dict[str, str], steps: Callable[["System"], None]) -> None:
    """`tools` are the needed commands with their packages of Debian."""
    for tool, package in {**tools, "curl": "curl", "sudo": "sudo", "systemd-analyze": "systemd"}.items():
        missing(tool, f"apt-get install --no-install-recommends -y {package}")
    # With the ports of the service, and no others of this machine.
    if os.environ.get("WHARF_CHECK") != "unshared":
        if os.geteuid() != 0:
            sys.exit("this check boots a system in namespaces; run it as root")
        # Without a network, cargo has what it knows.
        third_party.text(Context.of(ROOT, options().target, None, None, None), "wharf")
        command = ["unshare", "--net", sys.executable, *sys.argv]
        os.execvpe("unshare", command, os.environ | {"WHARF_CHECK": "unshared"})
    system = System(kind)
    try:
        steps(system)
    finally:
        system.stop()
    system.checks.finish()


class System:
    def __init__(self, kind: str):
        self.kind, self.checks = kind, Checks()
        [self.package] = self.checks.twice(kind)
        self.folder = tempfile.TemporaryDirectory(prefix="wharf-system-", ignore_cleanup_errors=True)
        self.machine = Machine(Path(self.folder.name), self.checks.bin / "wharf")
        self.run = self.machine.command
        self.check = self.checks.check
        # Systems in containers forbid packages to touch services; the booted one is no container.
        self.run("rm -f /usr/sbin/policy-rc.d")

    def stop(self) -> None:
        self.machine.stop()
        self.folder.cleanup()

    def put(self, package: Path) -> str:
        """Copies a package to where the booted system sees it."""
        shutil.copy(package, self.machine.source)
        return f"/team/{package.name}"

    def next_version(self) -> Path:
        """A package of a later version with the same binaries."""
        context = Context.of(ROOT, self.checks.target, self.checks.bin, self.checks.folder / "next", None)
        context.out.mkdir()
        os.environ["WHARF"] = str(context.bin / "wharf")
        build = importlib.import_module(f"packages.{self.kind}").build
        [made] = build(dataclasses.replace(context, version=NEXT))
        return made

    def serves_until_upgraded(self, install: str, upgrade: str) -> None:
        """What holds for each format, from the installation to the activation by a socket. Both commands end with the
        package."""
        package = self.put(self.package)
        self.check("installed", lambda: self.run(f"{install} {package}"))
        self.check("the service waits for a decision", self.is_installed)
        self.check("the units are valid and hardened", self.units_are_valid)
        self.check("the units are those of docs/team.md", self.units_are_those_of_the_page)
        self.check("its page starts the service", self.serves)
        self.check("a grant is given", self.grants)
        self.check("upgraded while it runs", lambda: self.survives_upgrade(upgrade))
        self.check("socket activation", self.serves_by_socket)

    def fails(self, command: str) -> None:
        self.run(f"! {command}")

    def is_installed(self) -> None:
        """The program works; the service is there, and waits for a decision."""
        want(self.run("wharf --version"), self.run("wharf-mcp --version"), "the version of the second command")
        self.fails("systemctl is-enabled --quiet wharf.service wharf.socket")
        self.fails("systemctl is-active --quiet wharf.service")
        modes = self.run("stat -c '%a %U:%G %n' /etc/wharf /etc/wharf/tokens /etc/wharf/wharf.toml /var/lib/wharf /srv/wharf/plugins")
        wanted = [
            "2750 root:wharf /etc/wharf",
            "2750 root:wharf /etc/wharf/tokens",
            "644 root:wharf /etc/wharf/wharf.toml",
            "700 wharf:wharf /var/lib/wharf",
            "755 root:root /srv/wharf/plugins",
        ]
        want(modes.splitlines(), wanted, "modes and owners")
        want(self.run("ls /usr/share/wharf/plugins | wc -l").strip(), "5", "the number of prebuilt plugins")
        self.run("man -w wharf-serve wharf-mcp; bash -n /usr/share/bash-completion/completions/wharf")

    def units_are_valid(self) -> None:
        self.run("systemd-analyze verify --man=no wharf.service wharf.socket")
        self.run(f"systemd-analyze security --no-pager --threshold={EXPOSURE} wharf.service")

    def units_are_those_of_the_page(self) -> None:
        page = Page()
        for unit in ("wharf.service", "wharf.socket"):
            of_page = page.files[f"/etc/systemd/system/{unit}"].replace("/usr/local/bin/", "/usr/bin/")
            want(self.run(f"cat /usr/lib/systemd/system/{unit}"), of_page, unit)

    def serves(self) -> None:
        """The commands of the package's own page."""
        self.follow(0)
        self.run("systemctl is-active --quiet wharf")
        wait(lambda: "loaded plugin=text" in self.run("journalctl -u wharf"), "an approved plugin", 120)
        rpc.over_http(f"{SOCKET}/mcp")

    def grants(self) -> None:
        """A file that root edits can still be read by the server."""
        self.run("install -m 644 /usr/share/wharf/plugins/notes.wasm /srv/wharf/plugins")
        self.run("wharf grant notes /srv/wharf/plugins keyvalue --yes --config /etc/wharf/wharf.toml")
        self.run("sudo -u wharf -H wharf approve notes /srv/wharf/plugins --yes --config /etc/wharf/wharf.toml")
        wait(lambda: "loaded plugin=notes" in self.run("journalctl -u wharf"), "a plugin with a grant", 120)
        self.run("sudo -u wharf -H wharf doctor --config /etc/wharf/wharf.toml /srv/wharf/plugins || [ $? = 1 ]")

    def survives_upgrade(self, upgrade: str) -> None:
        before = self.run("systemctl show -p MainPID --value wharf")
        edited = self.run("cat /etc/wharf/wharf.toml")
        self.run(f"{upgrade} {self.put(self.next_version())}")
        after = self.run("systemctl show -p MainPID --value wharf")
        want(after in (before, "0\n"), False, "whether the old process still runs")
        want(self.run("cat /etc/wharf/wharf.toml"), edited, "the edited configuration")
        wait(lambda: rpc.status(f"{SOCKET}/readyz") == 200, "readiness after the upgrade", 120)
        rpc.over_http(f"{SOCKET}/mcp")

    def serves_by_socket(self) -> None:
        self.run("sed -i 's/^address = .*/address = \"systemd\"/' /etc/wharf/wharf.toml")
        self.follow(1)
        wait(lambda: rpc.status(f"{SOCKET}/readyz") == 200, "readiness by the socket", 120)
        rpc.over_http(f"{SOCKET}/mcp")

    def is_removed(self, remove: str) -> None:
        """What the service has stored stays."""
        self.run(remove)
        want(rpc.status(f"{SOCKET}/healthz"), 0, "the status after the removal")
        self.fails("test -e /usr/bin/wharf -o -L /usr/bin/wharf-mcp -o -e /usr/share/wharf")
        links = self.run("find /etc/systemd -name 'wharf.*'")
        want(links, "", "links of units that are gone")
        self.run("test -d /var/lib/wharf/.local/state/wharf -a -f /srv/wharf/plugins/text.wasm")

    def follow(self, block: int) -> None:
        """A block of commands of the package's page."""
        text = self.run(f"cat {README}").split("```sh\n")[1 + block].split("```")[0]
        if not text:
            raise Failed(f"{README} has no block {block}")
        # Nobody is there to answer, and it answers 503 until its plugins are loaded.
        self.run(text.replace("approve --all", "approve --all --yes").replace("curl ", "curl --retry 60 --retry-delay 1 "))


def lint(command: list, accepted: dict[str, str]) -> None:
    """Runs a referee whose lines begin with `E:` or `W:`. `accepted` are words of more lines than those of
    every format, each with its reason."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if " E: " in f" {line}" or " W: " in f" {line}"]
    want([line for line in lines if not any(word in line for word in accepted | ACCEPTED)], [], f"what {command[0]} finds")
