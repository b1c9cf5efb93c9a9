"""Follows docs/team.md from top to bottom, its files and commands as they are, with a systemd that is booted in
namespaces (boot.sh). Must be run as root, with a network of its own, since it uses the ports of the page.

    unshare --net python3 booted.py BINARY
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from checks import Results, Team, each
from client import HELLO, NAME, Way, wait
from page import ROOT, Page, with_settings

LOG = "var/lib/wharf/.local/state/wharf/audit.jsonl"
TEAM = Path(__file__).resolve().parent


class Machine(Team):
    """The booted system. Its files are seen through the root of its first process."""

    def __init__(self, folder: Path, binary: Path):
        self.page, self.source = Page(), folder / "source"
        for path in ["target/release", "plugins/prebuilt"]:
            (self.source / path).mkdir(parents=True)
        shutil.copy(binary, self.source / "target/release/wharf")
        for plugin in (ROOT / "plugins/prebuilt").glob("*.wasm"):
            shutil.copy(plugin, self.source / "plugins/prebuilt")
        (folder / "machine").mkdir()
        unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--uts"]
        boot = ["bash", str(TEAM / "boot.sh"), str(folder / "machine"), str(self.source)]
        self.process = subprocess.Popen([*unshare, *boot], stdin=subprocess.DEVNULL)
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        wait(lambda: children.read_text().strip(), "the namespaces")
        self.init = children.read_text().strip()
        self.root = Path(f"/proc/{self.init}/root")
        try:
            wait(self.has_booted, "systemd to boot", 60)
        except BaseException:
            self.stop()
            raise
        self.plugins, self.config = self.root / "srv/wharf/plugins", self.root / "etc/wharf/wharf.toml"

    def has_booted(self) -> bool:
        assert self.process.poll() is None, "systemd has ended"
        if not (self.root / "run/systemd/private").exists():
            return False
        return "running" in self.command("systemctl is-system-running 2>&1 || true")

    def command(self, command: str) -> str:
        """Runs a command of the page in the folder of the sources."""
        enter = ["nsenter", "--target", self.init, "--mount", "--pid", "--cgroup", "--uts"]
        shell = [*enter, "env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-ec"]
        done = subprocess.run([*shell, f"cd /team\n{command}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120, cwd="/")
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def follow(self, heading: str, block: int = 0) -> str:
        return self.command(self.page.commands[heading][block])

    def put(self, path: str):
        (self.root / path[1:]).write_text(self.page.files[path])

    def new_token(self, name: str):
        block = self.page.commands["A token for each person"][0]
        self.command(block.splitlines()[0].replace("tokens/ada", f"tokens/{name}"))

    def reload(self):
        self.follow("Rotating and removing a token")

    def approve(self):
        [status, approve] = self.page.commands["Approving plugins"][0].splitlines()
        # It exits with 1 while something is held.
        self.command(f"{status} || [ $? = 1 ]")
        # Nobody is there to answer its question.
        self.command(f"{approve} --yes")

    def stop(self):
        os.kill(int(self.init), signal.SIGKILL)
        self.process.wait()


def is_set_up(machine: Machine):
    machine.follow("The user and the folders")
    machine.follow("A token for each person")
    machine.put("/etc/wharf/wharf.toml")
    machine.put("/etc/systemd/system/wharf.service")
    # It answers 503 until its plugins are loaded.
    block = machine.page.commands["The service"][0].replace("curl ", "curl --retry 30 --retry-delay 1 ")
    machine.command(block)
    assert "active" in machine.command("systemctl is-active wharf")


def is_hardened(machine: Machine):
    log = machine.command("journalctl -u wharf")
    assert "listening on" in log and "OS sandbox" not in log, log
    status = machine.command("cat /proc/$(systemctl show -p MainPID --value wharf)/status")
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status and "CapEff:\t0000000000000000" in status, status
    limits = machine.command("cat /proc/$(systemctl show -p MainPID --value wharf)/limits")
    assert "8192                 8192" in limits, limits
    written = machine.command("find / -xdev -user wharf -not -path '/proc/*' -not -path '/var/lib/wharf*' -not -path '/run/*' || true")
    assert not written.strip(), written


def nothing_runs_unapproved(machine: Machine):
    assert "held" in machine.command("journalctl -u wharf")
    machine.approve()
    wait(lambda: "loaded plugin=text" in machine.command("journalctl -u wharf"), "an approved plugin")


def grants(machine: Machine, way: Way):
    machine.command(machine.page.commands["Approving plugins"][1].replace("--config", "--yes --config"))
    note = {"name": "notes_add", "arguments": {"title": "A title", "text": "A text"}}
    wait(lambda: "result" in way.stateless(machine.token("ada"), "tools/call", note)[2], "a plugin with a grant")
    answer = way.stateless(machine.token("ada"), "tools/call", note)[2]
    assert not answer["result"].get("isError"), answer


def is_restored(machine: Machine, way: Way):
    """After a loss of the tokens, the plugins, the approvals and the stored values."""
    machine.follow("Backup", 0)
    machine.command("systemctl stop wharf; rm -r /etc/wharf/tokens /srv/wharf/plugins /var/lib/wharf/.local")
    block = machine.page.commands["Backup"][1].replace("curl ", "curl --retry 30 --retry-delay 1 --retry-all-errors ")
    print(machine.command(block).strip())
    listed = {"name": "notes_list", "arguments": {}}
    answer = way.stateless(machine.token("ada"), "tools/call", listed)[2]
    assert "A title" in str(answer), answer


def cannot_deny_machine_code(machine: Machine):
    """The page says why the service has no MemoryDenyWriteExecute."""
    folder = machine.root / "etc/systemd/system/wharf.service.d"
    folder.mkdir()
    (folder / "deny.conf").write_text("[Service]\nMemoryDenyWriteExecute=yes\n")
    machine.command("systemctl daemon-reload; systemctl restart wharf; sleep 5")
    log = machine.command("journalctl -u wharf --since -6s")
    print(log)
    assert "loaded plugin=text" not in log, "it works with MemoryDenyWriteExecute: say so in the page"
    (folder / "deny.conf").unlink()
    machine.command("systemctl daemon-reload; systemctl restart wharf")


def certificate(machine: Machine):
    machine.command(f"mkdir -p /etc/ssl/{NAME}; openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={NAME} "
                    f"-addext subjectAltName=DNS:{NAME} -keyout /etc/ssl/{NAME}/key.pem -out /etc/ssl/{NAME}/cert.pem 2>&1")
    return str(machine.root / f"etc/ssl/{NAME}/cert.pem")


def nginx(machine: Machine, way: Way):
    machine.command("systemctl start nginx")
    machine.put("/etc/nginx/conf.d/wharf.conf")
    machine.follow("nginx")
    # It opens its new ports after the command.
    wait(lambda: is_open(way), "nginx")


def is_open(way: Way) -> bool:
    try:
        return way.status(None) == 401
    except OSError:
        return False


def caddy(machine: Machine, way: Way):
    """With its own authority instead of a public one."""
    machine.command("systemctl stop nginx")
    machine.put("/etc/caddy/Caddyfile")
    file = machine.root / "etc/caddy/Caddyfile"
    tls = f"tls /etc/ssl/{NAME}/cert.pem /etc/ssl/{NAME}/key.pem"
    machine.command(f"chown -R caddy /etc/ssl/{NAME}")
    file.write_text(file.read_text().replace(f"{NAME} {{\n", f"{NAME} {{\n    {tls}\n"))
    machine.command("systemctl start caddy")
    machine.follow("Caddy")
    wait(lambda: is_open(way), "Caddy")


def calls_survive(machine: Machine, way: Way):
    """Calls are made all the time while the server is replaced. What the page allows: a connection is closed
    before its request was read. The audit log shows that no such call was carried out."""
    heading = "Upgrading while people work"
    machine.put("/etc/systemd/system/wharf.socket")
    machine.config.write_text(with_settings(machine.config.read_text(), 'address = "systemd"'))
    machine.follow(heading, 0)
    token, statuses, stopped = machine.token("ada"), [], threading.Event()
    call = {"name": "text_hash", "arguments": {"text": "hi"}}

    def repeat():
        while not stopped.is_set():
            try:
                status, _, answer = way.stateless(token, "tools/call", call)
                statuses.append(status if status != 200 or HELLO in str(answer) else str(answer))
            except ConnectionError:
                statuses.append("closed")
            except Exception as error:
                statuses.append(repr(error))

    recorded = calls_of_ada(machine)
    callers = [threading.Thread(target=repeat) for _ in range(4)]
    before = machine.command("systemctl show -p MainPID --value wharf")
    for caller in callers:
        caller.start()
    for _ in range(3):
        time.sleep(1)
        machine.follow(heading, 1)
    time.sleep(2)
    stopped.set()
    for caller in callers:
        caller.join()
    assert machine.command("systemctl show -p MainPID --value wharf") != before
    done, closed = statuses.count(200), statuses.count("closed")
    other = [status for status in statuses if status not in (200, "closed")]
    print(f"{done} calls, {closed} connections closed, {other[:3]}")
    assert not other and done > 20 and closed * 100 < done
    assert calls_of_ada(machine) - recorded == done


def calls_of_ada(machine: Machine) -> int:
    lines = (machine.root / LOG).read_text().splitlines()
    return sum('"event":"call"' in line and '"principal":"ada"' in line for line in lines)


def audited(machine: Machine):
    log = (machine.root / LOG).read_text()
    assert '"principal":"ada"' in log and '"principal":"bob"' in log
    print(machine.follow("The audit log").strip())


def main() -> int:
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder), Path(sys.argv[1]).resolve())
        try:
            check = results.check
            check("booted: the user, the folders, the tokens and the service", is_set_up, machine)
            check("booted: the service is hardened, with Wharf's own OS sandbox", is_hardened, machine)
            check("booted: nothing runs before it is approved", nothing_runs_unapproved, machine)
            check("booted: a plugin is added and granted something", grants, machine, Way("booted", 8080))
            authority = certificate(machine)
            for proxy in [nginx, caddy]:
                way = Way(f"booted-{proxy.__name__}", 443, authority)
                check(f"{way.name}: starts", proxy, machine, way)
                each(results, machine, way)
            check("booted: restored from a backup", is_restored, machine, Way("booted", 8080))
            check("booted: calls during upgrades", calls_survive, machine, Way("booted", 8080))
            check("booted: MemoryDenyWriteExecute", cannot_deny_machine_code, machine)
            check("booted: the audit log", audited, machine)
            if results.failed:
                print(machine.command("systemctl --failed --no-pager; journalctl --no-pager | tail -n 80"))
        finally:
            machine.stop()
    return results.conclude()


if __name__ == "__main__":
    sys.exit(main())
