"""Three nodes of one server, each with a home of its own, and nginx before them as docs/scale.md has it."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from client import TOKENS, Way, request
from network import CABLES, FRONT, NODES, STORE, WATCH, Machine
from stores import PASSWORD, StoreServer

ROOT = Path(__file__).resolve().parents[2]
COMPONENTS = Path(os.environ.get("WHARF_TEST_COMPONENTS", ROOT / "target/guests/components"))
NAME = "tools.example"
PORT, OF_NODES = 7400, 7420
PATIENCE = 120
# What is served, and from which component. `versioned` is replaced, `hello` is revoked, and the others stay.
PLUGINS = {"steady": "echo", "everything": "everything", "versioned": "echo-v1", "hello": "hello"}


def wait(condition, what: str, seconds: float = PATIENCE):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)


class Plugins:
    """The folder that all nodes have under the same path."""

    def __init__(self, root: Path):
        self.folder = root / "plugins"
        self.folder.mkdir()
        for name, component in PLUGINS.items():
            self.put(name, component)

    def put(self, name: str, component: str):
        part = self.folder / f"{name}.part"
        shutil.copyfile(COMPONENTS / f"{component}.wasm", part)
        part.rename(self.folder / f"{name}.wasm")


class Node:
    def __init__(self, number: int, root: Path, binary: Path, plugins: Plugins, store: StoreServer):
        self.name, self.binary, self.plugins = f"node{number}", binary, plugins
        self.machine = Machine(self.name, 10 + number, [*CABLES, WATCH])
        self.home = root / self.name
        (self.home / "tokens").mkdir(parents=True)
        self.config, self.log = self.home / "wharf.toml", self.home / "log"
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TMPDIR": str(root)}
        for name, token in TOKENS.items():
            self.secret(f"tokens/{name}", token)
        self.secret("store-password", PASSWORD)
        hosts = [NAME, *(f"{self.machine.address(network)}:{PORT}" for network in [FRONT, WATCH])]
        tokens = ", ".join(f"{{ name = '{name}', file = 'tokens/{name}' }}" for name in TOKENS)
        self.config.write_text(f"""
[server]
trust = "strict"
first-list = "30s"
[server.http]
address = "0.0.0.0:{PORT}"
allowed-hosts = {hosts}
connections-per-address = 512
tokens = [{tokens}]
[server.http.nodes]
address = "{self.machine.address(NODES)}:{OF_NODES}"
[store]
url = "{store.url()}"
password = {{ file = "store-password" }}
[tasks]
after = "100ms"
[audit]
enabled = true
[plugins.everything.grants]
elicit = true
# What it lists differs each time.
change-lists = true
""")
        self.watch = Way(self.machine.address(WATCH), PORT)
        self.front = f"{self.machine.address(FRONT)}:{PORT}"
        self.process: subprocess.Popen | None = None

    def secret(self, name: str, text: str):
        (self.home / name).write_text(f"{text}\n")
        (self.home / name).chmod(0o600)

    def start(self):
        command = self.machine.inside(str(self.binary), "serve", str(self.plugins.folder), "--config", str(self.config))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number: int):
        assert self.process
        self.process.send_signal(number)

    def end(self, number: int):
        """Returns when it has ended. One that is terminated ends with success."""
        self.signal(number)
        code = self.process.wait(PATIENCE)
        assert code == (-number if number == signal.SIGKILL else 0), f"{self.name} ended with {code}"

    def is_well(self) -> bool:
        """All plugins are in service or held, and the store answers it: that knows no such task."""
        try:
            if self.watch.get("/readyz") != 200:
                return False
            answer = self.watch.stateless(TOKENS["watch"], "tasks/get", {"taskId": "0" * 32}, patience=3)
        except OSError:
            return False
        return answer.status == 200 and answer.reason not in (None, "host_error")

    def makes_tasks(self) -> bool:
        """For that it needs more of the store than for the state of one."""
        try:
            answer = self.watch.call(TOKENS["watch"], "everything_slow_again", {"seconds": 0.3}, patience=15)
        except OSError:
            return False
        return (answer.result or {}).get("resultType") == "task"

    def session(self) -> str | None:
        """The id of a new session of this node."""
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "watch", "version": "1"}}
        try:
            return self.watch.post(TOKENS["watch"], request("initialize", client), {}, patience=3).session
        except OSError:
            return None

    def finds(self, session: str) -> bool:
        """Whether this node gets an answer in a session of another one."""
        headers = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session}
        try:
            return self.watch.post(TOKENS["watch"], request("ping", {}), headers, patience=5).status == 200
        except OSError:
            return False

    def wharf(self, *arguments: str) -> tuple[int, str]:
        """A command of an operator on this machine."""
        command = self.machine.inside(str(self.binary), *arguments, "--config", str(self.config))
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout


class Balancer:
    """The page's configuration with the addresses of these nodes. Its answers name the node that gave them."""

    def __init__(self, root: Path, nodes: list[Node]):
        self.root, self.machine = root / "balancer", Machine("balancer", 20, [FRONT])
        self.root.mkdir()
        text = (ROOT / "docs/scale.md").read_text()
        block = re.search(r"```nginx\n(.*?)```", text, re.S)[1]
        for number, node in enumerate(nodes, 1):
            block = block.replace(f"10.0.0.1{number}:8080", node.front)
        assert "10.0.0" not in block, "the page has other nodes"
        block = block.replace("location = /mcp {", "location = /mcp {\n        add_header X-Node $upstream_addr always;")
        temporary = " ".join(f"{kind}_temp_path {self.root}/{kind};"
                             for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        self.config = self.root / "nginx.conf"
        self.lock, self.left_out = threading.Lock(), set()
        self.text = (f"user root; worker_processes 1; daemon off; pid {self.root}/pid; error_log {self.root}/log;\n"
                     f"events {{}}\nhttp {{ {temporary} access_log off;\n{block}}}\n")
        self.config.write_text(self.text)
        self.way = Way(self.machine.address(FRONT), 80, host=NAME)
        self.process = subprocess.Popen(
            self.machine.inside(shutil.which("nginx"), "-p", str(self.root), "-c", str(self.config)),
            stdin=subprocess.DEVNULL)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def leave_out(self, node: Node):
        """No request that comes now gets there."""
        self.configure(lambda: self.left_out.add(node.front))
        wait(lambda: all(node.front not in self.asked() for _ in range(8)), f"requests that do not get to {node.name}")

    def take_in(self, node: Node):
        self.configure(lambda: self.left_out.discard(node.front))

    def configure(self, change):
        with self.lock:
            change()
            text = self.text
            for server in self.left_out:
                text = re.sub(rf"(server {re.escape(server)}) [^;]*;", r"\1 down;", text)
            self.config.write_text(text)
            self.reload()

    def asked(self) -> list[str]:
        try:
            return self.way.stateless(TOKENS["watch"], "tools/list", {}, patience=5).asked
        except OSError:
            return []


class Cluster:
    def __init__(self, root: Path, binary: Path, store: StoreServer):
        self.store, self.plugins = store, Plugins(root)
        self.nodes = [Node(number, root, binary, self.plugins, store) for number in (1, 2, 3)]
        self.by_front = {node.front: node.name for node in self.nodes}
        self.balancer = Balancer(root, self.nodes)

    def start(self):
        """All nodes, with everything approved on the first one."""
        self.store.start()
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            wait(node.is_well, f"{node.name}: {node.log}")
        # What is compiled once is taken from the cache of its node later.
        for versioned in ["echo-v2", "echo-v1"]:
            self.plugins.put("versioned", versioned)
            for name in PLUGINS:
                code, said = self.nodes[0].wharf("approve", name, "--yes", str(self.plugins.folder))
                assert code == 0, said
            for node in self.nodes:
                wait(lambda: self.serves_all(node, versioned[-1]), f"the plugins of {node.name}")

    @staticmethod
    def serves_all(node: Node, version: str) -> bool:
        served = {tool.split("_")[0] for tool in node.watch.tools(TOKENS["watch"])}
        return served == set(PLUGINS) and node.watch.call(TOKENS["watch"], "versioned_version", {}).text == version

    def stop(self):
        for node in self.nodes:
            node.end(signal.SIGTERM)
