"""Runs the files of docs/team.md as ordinary processes: `wharf serve`, nginx, Caddy and systemd-socket-activate,
on free ports, with paths in a temporary folder.

    check.py BINARY
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import Results, Team, each, is_refused_without_token, serves
from client import NAME, Way, wait
from page import ROOT, Page, with_settings

# The exposure, of 100, that `systemd-analyze security` may find at most.
EXPOSURE = 25


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def run(*command: str, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}"
    return done.stdout


class Processes(Team):
    def __init__(self, root: Path, binary: Path):
        self.root, self.page, self.port = root, Page(), free_port()
        self.plugins, self.config = root / "srv/wharf/plugins", root / "etc/wharf/wharf.toml"
        self.paths = {"/usr/local/bin/wharf": str(binary), "/etc/": f"{root}/etc/", "/srv/": f"{root}/srv/"}
        self.environment = {"HOME": str(root / "home"), "PATH": os.environ["PATH"]}
        for folder in ["srv/wharf/plugins", "etc/wharf/tokens", "etc/wharf/tls", "etc/ssl/tools.example", "home", "nginx"]:
            (root / folder).mkdir(parents=True)
        for path in self.page.files:
            self.write(path, self.file(path))
        for name in ["ada", "bob"]:
            self.new_token(name)
        for plugin in ["text.wasm", "time.wasm"]:
            shutil.copy(ROOT / "plugins/prebuilt" / plugin, self.plugins)
        self.cert, key = root / "etc/ssl/tools.example/cert.pem", root / "etc/ssl/tools.example/key.pem"
        run(*f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={NAME}".split(), "-addext",
            f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(self.cert))
        for file in [self.cert, key]:
            shutil.copy(file, root / "etc/wharf/tls")
        self.server: subprocess.Popen

    def file(self, path: str) -> str:
        """A file of the page, with the temporary folder's paths and a free port."""
        return self.replaced(self.page.files[path]).replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")

    def replaced(self, text: str) -> str:
        for old, new in self.paths.items():
            text = re.sub(rf"(?<![\w.]){re.escape(old)}", new, text)
        return text

    def write(self, path: str, text: str):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def new_token(self, name: str):
        token = run("openssl", "rand", "-hex", "32")
        (self.config.parent / "tokens" / name).write_text(token)

    def command(self) -> list[str]:
        unit = self.file("/etc/systemd/system/wharf.service")
        return re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()

    @contextlib.contextmanager
    def process(self, name: str, command: list[str], way: Way | None = None):
        """A process and its log; with a way, once the server answers there."""
        with open(self.root / f"{name}.log", "ab") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        try:
            if way:
                wait(lambda: process.poll() is not None or answers(way), f"{name} to answer", 120)
            if process.poll() is not None:
                raise AssertionError(f"{name} has ended: {self.log(name)}")
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    @contextlib.contextmanager
    def serving(self, way: Way, *before: str):
        with self.process("wharf", [*before, *self.command()], way) as self.server:
            yield

    def log(self, name: str) -> str:
        return (self.root / f"{name}.log").read_text()

    def reload(self):
        self.server.send_signal(signal.SIGHUP)

    def wharf(self, *arguments: str) -> str:
        binary, config = self.command()[0], str(self.config)
        return run(binary, *arguments, "--config", config, env=self.environment)

    def approve(self):
        self.wharf("approve", "--all", "--yes", str(self.plugins))


def answers(way: Way) -> bool:
    try:
        return way.open("GET", "/readyz", None).status in (200, 404)
    except OSError:
        return False


def units_are_valid(team: Processes):
    units = [str(team.root / path[1:]) for path in team.page.files if path.startswith("/etc/systemd/")]
    assert len(units) == 2, units
    reported = run("systemd-analyze", "verify", "--man=no", *units)
    assert not reported.strip(), reported


def units_are_hardened(team: Processes):
    unit = str(team.root / "etc/systemd/system/wharf.service")
    reported = run("systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={EXPOSURE}", unit)
    print(reported.strip().splitlines()[-1])


def health(way: Way):
    for path in ["/healthz", "/readyz"]:
        assert way.open("GET", path, None).status == 200, path


def nothing_runs_unapproved(way: Way, team: Processes):
    status, _, answer = way.stateless(team.token("ada"), "tools/list", {})
    assert status == 200 and answer["result"]["tools"] == [], answer
    team.approve()
    wait(lambda: len(way.stateless(team.token("ada"), "tools/list", {})[2]["result"]["tools"]) > 5, "approved tools")
    run_command = [team.command()[0], "status", "--config", str(team.config), str(team.plugins)]
    run(*run_command, env=team.environment)


def other_names_are_refused(way: Way, team: Processes):
    other = Way("other", way.port, host="other.example")
    assert other.status(team.token("ada")) == 403


def only_mcp_is_forwarded(way: Way, team: Processes):
    # Wharf itself answers 401 to whatever else has no token.
    assert way.open("GET", "/other", None).status in (200, 404)
    assert Way("direct", team.port).open("GET", "/other", None).status == 401


def nginx(team: Processes):
    port, root = free_port(), team.root
    page = re.sub(r"listen ((?:\[::\]:)?)443 ssl", rf"listen \g<1>{port} ssl", team.file("/etc/nginx/conf.d/wharf.conf"))
    team.write("/etc/nginx/conf.d/wharf.conf", page)
    paths = " ".join(f"{kind}_temp_path {root}/nginx/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    user = "user root;" if os.getuid() == 0 else ""
    team.write("/etc/nginx/nginx.conf", f"{user} daemon off; pid {root}/nginx/pid; error_log stderr; events {{}}\n"
               f"http {{ {paths} access_log off; include {root}/etc/nginx/conf.d/wharf.conf; }}\n")
    command = [shutil.which("nginx") or "/usr/sbin/nginx", "-p", f"{root}/nginx", "-c", f"{root}/etc/nginx/nginx.conf"]
    return command, Way("nginx", port, str(team.cert))


def caddy(team: Processes):
    port, folder = free_port(), team.cert.parent
    # Its own certificates need the internet; the port for redirects may be taken; it would wait for open streams.
    page = team.file("/etc/caddy/Caddyfile")
    assert page.startswith(f"{NAME} {{\n")
    page = page.replace(f"{NAME} {{", f"{NAME}:{port} {{\n    tls {folder}/cert.pem {folder}/key.pem", 1)
    team.write("/etc/caddy/Caddyfile", f"{{\n    admin off\n    auto_https disable_redirects\n    grace_period 1s\n}}\n{page}")
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(team.root / "etc/caddy/Caddyfile")]
    return command, Way("caddy", port, str(team.cert))


def audit_log_names_people(team: Processes):
    log = (team.root / "home/.local/state/wharf/audit.jsonl").read_text()
    assert '"principal":"ada"' in log and '"principal":"bob"' in log, log[-1000:]
    team.wharf("audit", "verify")


def own_tls(team: Processes, results: Results):
    """Wharf with the page's lines for TLS without a proxy."""
    before, port = team.config.read_text(), free_port()
    [settings] = team.page.fragments["Wharf itself"]
    text = re.sub(r"^connections-per-address.*\n", "", before, flags=re.M)
    team.config.write_text(with_settings(text, settings).replace("8443", str(port)))
    way = Way("own-tls", port, str(team.cert), f"{NAME}:{port}")
    with team.serving(way):
        each(results, team, way)
    team.config.write_text(before)


def socket_activation(team: Processes):
    before, port = team.config.read_text(), team.port
    team.config.write_text(with_settings(before, 'address = "systemd"'))
    listen = re.search(r"^ListenStream=(.*)$", team.file("/etc/systemd/system/wharf.socket"), re.M)[1]
    way = Way("socket", port)
    activate = ["systemd-socket-activate", "-l", listen, "-E", f"HOME={team.environment['HOME']}"]
    with team.serving(way, *activate):
        is_refused_without_token(way)
        serves(way, team)
    team.config.write_text(before)


def main() -> int:
    results = Results()
    check = results.check
    with tempfile.TemporaryDirectory() as folder:
        team = Processes(Path(folder), Path(sys.argv[1]).resolve())
        check("systemd accepts the units", units_are_valid, team)
        check(f"the exposure of the service is at most {EXPOSURE / 10}", units_are_hardened, team)
        direct = Way("direct", team.port)
        with contextlib.ExitStack() as running:
            try:
                running.enter_context(team.serving(direct))
                check("/healthz and /readyz", health, direct)
                check("nothing runs before it is approved", nothing_runs_unapproved, direct, team)
                check("another Host is refused", other_names_are_refused, direct, team)
                each(results, team, direct)
                for proxy in [nginx, caddy]:
                    command, way = proxy(team)
                    with team.process(way.name, command, way):
                        each(results, team, way)
                        check(f"{way.name}: forwards only /mcp", only_mcp_is_forwarded, way, team)
                check("the audit log has the people's names", audit_log_names_people, team)
            except AssertionError as error:
                check("the processes run", lambda: (_ for _ in ()).throw(error))
        check("Wharf with its own TLS", own_tls, team, results)
        check("socket activation", socket_activation, team)
        if results.failed:
            for log in sorted(Path(folder).glob("*.log")):
                print(f"== {log.name}\n{log.read_text()[-4000:]}")
    return results.conclude()


if __name__ == "__main__":
    sys.exit(main())
