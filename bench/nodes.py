"""What nodes ask of the store that they share, by how many they are: NATS of this system. Python's standard library alone.

    python3 bench/nodes.py [WHARF [COMPONENTS [NODES…]]]
    python3 bench/nodes.py --calls [WHARF [COMPONENTS [NODES…]]]

All of it is on this machine: look at messages, and with --calls at the processor time of a call, not at times.
"""

import http.client
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

OF_CALLS = "--calls" in sys.argv
GIVEN = [word for word in sys.argv[1:] if word != "--calls"]
WHARF = os.path.abspath(GIVEN[0] if GIVEN else "target/release/wharf")
COMPONENTS = GIVEN[1] if len(GIVEN) > 1 else "target/guests/components"
NODES = [int(count) for count in GIVEN[2:]] or ([1, 2, 3] if OF_CALLS else [1, 2, 3, 5, 10])
# Clients, each with connections that it keeps, and the calls of each of them.
CLIENTS, CALLS = 4, 5000
# Seconds that are counted, and before them.
COUNTED, SETTLING = 20, 8
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
SETTINGS = """
[server.http]
address = "127.0.0.1:0"
[server.http.nodes]
address = "127.0.0.1:0"
[store]
url = "nats://127.0.0.1:{port}/wharf"
[[budgets]]
name = "calls"
calls = 1000000
window = "1h"
"""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Nats:
    def __init__(self, root):
        self.port, self.monitor = free_port(), free_port()
        config = Path(root, "nats.conf")
        config.write_text(f'listen: "127.0.0.1:{self.port}"\nhttp: "127.0.0.1:{self.monitor}"\n'
                          f'jetstream {{ store_dir: "{root}/nats" }}\n')
        self.process = subprocess.Popen(["nats-server", "-c", config], stderr=subprocess.DEVNULL)
        while True:
            try:
                self.counts()
                return
            except OSError:
                assert self.process.poll() is None, "nats-server does not start"
                time.sleep(0.05)

    def counts(self):
        """Messages from the nodes, and to them."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/varz") as answer:
            found = json.load(answer)
        return found["in_msgs"], found["out_msgs"]


class Node:
    def __init__(self, root, number, plugins, port):
        home = Path(root, str(number))
        for name in ("config/wharf", "data", "state", "cache"):
            (home / name).mkdir(parents=True)
        (home / "config/wharf/wharf.toml").write_text(SETTINGS.format(port=port))
        env = {"PATH": os.environ["PATH"], "HOME": str(home)}
        env |= {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.process = subprocess.Popen([WHARF, "serve", plugins], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, env=env)
        for line in self.process.stderr:
            if "listening on http" in line:
                self.address = line.split("//")[1].split("/")[0].strip()
                break
        else:
            raise SystemExit("a node does not start")
        # Whatever else it says must not fill the pipe.
        subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def processor_time(self):
        """Seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def call(self, connection=None):
        kept, connection = connection, connection or http.client.HTTPConnection(self.address, timeout=30)
        params = {"name": "echo", "arguments": {"text": "a"}, "_meta": META}
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
                   "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        connection.request("POST", "/mcp", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200 and b'"result"' in text, text
        if not kept:
            connection.close()


def counted(nats, nodes, calls):
    """Messages per second from the nodes and to them, while each node has so many calls in a second."""
    for node in nodes if calls else []:
        node.call()
    time.sleep(SETTLING)
    before, began = nats.counts(), time.monotonic()
    while time.monotonic() < began + COUNTED:
        for node in nodes if calls else []:
            for _ in range(calls):
                node.call()
        time.sleep(max(0, 1 - (time.monotonic() - began) % 1))
    took, after = time.monotonic() - began, nats.counts()
    return [(after[way] - before[way]) / took for way in (0, 1)]


def called(nodes):
    """Calls in a second of all nodes together, and the processor time of one in microseconds."""
    for node in nodes:
        for _ in range(200):
            node.call()

    def client():
        kept = [(node, http.client.HTTPConnection(node.address, timeout=30)) for node in nodes]
        for number in range(CALLS):
            node, connection = kept[number % len(kept)]
            node.call(connection)

    before, began = sum(node.processor_time() for node in nodes), time.monotonic()
    clients = [multiprocessing.get_context("fork").Process(target=client) for _ in range(CLIENTS)]
    for process in clients:
        process.start()
    for process in clients:
        process.join()
        assert process.exitcode == 0, "a client failed"
    took = time.monotonic() - began
    spent = sum(node.processor_time() for node in nodes) - before
    return CLIENTS * CALLS / took, spent / (CLIENTS * CALLS) * 1e6


def main():
    if OF_CALLS:
        print("| nodes | calls a second, with their clients on the same machine | processor time of a call |\n|---:|---:|---:|")
    else:
        print("| nodes | at rest: messages a second, to the store and from it | 10 calls a second on each |\n"
              "|---:|---:|---:|")
    for count in NODES:
        with tempfile.TemporaryDirectory() as root:
            plugins = f"{root}/plugins"
            os.mkdir(plugins)
            shutil.copy(f"{COMPONENTS}/echo.wasm", plugins)
            nats, nodes = Nats(root), []
            try:
                for number in range(count):
                    nodes.append(Node(root, number, plugins, nats.port))
                if OF_CALLS:
                    rate, spent = called(nodes)
                    print(f"| {count} | {rate:,.0f} | {spent:,.0f} µs |", flush=True)
                    continue
                rest, busy = counted(nats, nodes, 0), counted(nats, nodes, 10)
                shown = [" and ".join(f"{value:,.1f}" for value in both) for both in (rest, busy)]
                print(f"| {count} | {shown[0]} | {shown[1]} |", flush=True)
            finally:
                for process in [*(node.process for node in nodes), nats.process]:
                    process.send_signal(signal.SIGTERM)
                    process.wait()


main()
