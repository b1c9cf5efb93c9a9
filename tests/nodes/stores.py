"""The server of the store, in a machine of its own: NATS or PostgreSQL of this system's packages."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

from network import STORE, Machine

PASSWORD = "hunter2"
PATIENCE = 60


class StoreServer:
    port: int

    def __init__(self, root: Path):
        self.root = root / "store"
        self.root.mkdir(mode=0o755)
        self.machine = Machine("store", 30, [STORE])
        self.log = open(self.root / "log", "ab")
        self.process: subprocess.Popen | None = None

    def url(self) -> str:
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        raise NotImplementedError

    def start(self):
        """Returns when it answers."""
        until = time.monotonic() + PATIENCE
        while True:
            command = self.machine.inside(*self.command())
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
            while self.process.poll() is None:
                if self.is_ready():
                    return
                assert time.monotonic() < until, f"the store does not answer: {self.root}/log"
                time.sleep(0.05)
            # Processes of the one before may be there still.
            assert time.monotonic() < until, f"the store does not start: {self.root}/log"
            time.sleep(0.1)

    def stop(self, how: int):
        assert self.process
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.process.send_signal(how)
        if how == signal.SIGKILL:
            for child in children:
                try:
                    os.kill(int(child), how)
                except ProcessLookupError:
                    pass
        self.process.wait(PATIENCE)


class Nats(StoreServer):
    port = 4222

    def __init__(self, root: Path):
        super().__init__(root)
        text = (f'listen: "0.0.0.0:{self.port}"\njetstream {{ store_dir: "{self.root}/data" }}\n'
                f"authorization {{ users: [{{ user: wharf, password: {PASSWORD} }}] }}\n")
        (self.root / "nats.conf").write_text(text)

    def url(self) -> str:
        # Nobody else can read this network.
        return f"nats://wharf@{self.machine.address(STORE)}:{self.port}/wharf?tls=off"

    def command(self) -> list[str]:
        return ["nats-server", "-c", f"{self.root}/nats.conf"]

    def is_ready(self) -> bool:
        return self.in_machine("import socket,sys; s=socket.create_connection(('127.0.0.1', 4222), 2); "
                               "s.settimeout(2); sys.exit(not s.recv(5).startswith(b'INFO '))")

    def in_machine(self, script: str) -> bool:
        command = self.machine.inside("python3", "-S", "-c", script)
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


class Postgres(StoreServer):
    port = 5432

    def __init__(self, root: Path):
        super().__init__(root)
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        found = shutil.which("initdb")
        self.bin = versions[-1] if versions else Path(found).parent
        # It does not run as root.
        self.user = next(name for name in ["postgres", "nobody"] if name in {user.pw_name for user in pwd.getpwall()})
        ids = pwd.getpwnam(self.user)
        (self.root / "password").write_text(PASSWORD)
        for path in [self.root, self.root / "password"]:
            os.chown(path, ids.pw_uid, ids.pw_gid)
        initdb = [*self.as_user("initdb"), "--username", "wharf", "--auth", "scram-sha-256", "--pwfile",
                  f"{self.root}/password", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--pgdata",
                  f"{self.root}/data"]
        done = subprocess.run(initdb, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.root)
        assert done.returncode == 0, done.stderr
        with open(self.root / "data/pg_hba.conf", "a") as rules:
            rules.write("host all all 10.78.0.0/16 scram-sha-256\n")

    def as_user(self, program: str) -> list[str]:
        ids = pwd.getpwnam(self.user)
        return ["setpriv", f"--reuid={ids.pw_uid}", f"--regid={ids.pw_gid}", "--clear-groups", str(self.bin / program)]

    def url(self) -> str:
        return f"postgres://wharf@{self.machine.address(STORE)}:{self.port}/postgres?sslmode=disable"

    def command(self) -> list[str]:
        return [*self.as_user("postgres"), "-D", f"{self.root}/data", "-k", str(self.root), "-h", "*",
                "-p", str(self.port)]

    def is_ready(self) -> bool:
        command = [str(self.bin / "pg_isready"), "--quiet", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(self.machine.inside(*command), stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


ENGINES = {"nats": Nats, "postgres": Postgres}
