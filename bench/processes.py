"""What a process for each plugin costs: calls by turns with the same plugin in the server's process, and with an async
function, which always has one. Python's standard library alone, on Linux.

    python3 bench/processes.py [WHARF [COMPONENTS]]
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

WHARF = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/wharf")
COMPONENTS = sys.argv[2] if len(sys.argv) > 2 else "target/guests/components"
ROUNDS = 10
CALLS = 1000
IN_FLIGHT = 64
RESTARTS = 20
PLUGINS = 10
# Of each server: its setting, the component of its plugins, and what is called.
ECHO = ("echo", {"message": "hello"})
SERVERS = {
    "shared": ("shared", "echo", *ECHO),
    "process": ("process", "echo", *ECHO),
    "async function": ("shared", "concurrent", "wait", {"milliseconds": 0}),
}
CLIENT = {"name": "bench", "version": "0"}


class Server:
    """A server on stdin and stdout, with copies of one plugin."""

    def __init__(self, home, isolation, component, tool, arguments):
        self.tool, self.arguments = tool, arguments
        plugins = f"{home}/plugins"
        os.makedirs(plugins)
        for number in range(PLUGINS):
            shutil.copy(f"{COMPONENTS}/{component}.wasm", f"{plugins}/p{number}.wasm")
        settings = f"{home}/wharf.toml"
        with open(settings, "w") as file:
            file.write(f'[server]\nfirst-list = "60s"\n[limits]\nconcurrency = 64\nisolation = "{isolation}"\n')
        env = {"PATH": os.environ["PATH"], "HOME": home, "XDG_CACHE_HOME": f"{home}/cache"}
        self.process = subprocess.Popen(
            [WHARF, "--config", settings, "serve", plugins],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        self.id = 0
        self.answer(self.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}))
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.answer(self.send("tools/list", {}))
        for number in range(PLUGINS):
            self.call(number)

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, params):
        self.id += 1
        self.write({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        return self.id

    def answer(self, wanted=None):
        while True:
            message = json.loads(self.process.stdout.readline())
            if wanted is None and "id" in message or message.get("id") == wanted:
                return message

    def begin(self, number=0):
        return self.send("tools/call", {"name": f"p{number}_{self.tool}", "arguments": self.arguments})

    def call(self, number=0):
        return self.answer(self.begin(number))["result"]

    def one_at_a_time(self):
        times = []
        for _ in range(CALLS):
            began = time.perf_counter()
            self.call()
            times.append(time.perf_counter() - began)
        return times

    def in_flight(self):
        began = time.perf_counter()
        for _ in range(IN_FLIGHT):
            self.begin()
        for _ in range(CALLS):
            self.answer()
            self.begin()
        for _ in range(IN_FLIGHT):
            self.answer()
        return (CALLS + IN_FLIGHT) / (time.perf_counter() - began)

    def workers(self):
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout
        return [int(child) for child in children.split()]

    def restart(self):
        """From the end of a process to the next result."""
        [worker] = [child for child in self.workers() if self.serves(child)]
        os.kill(worker, signal.SIGKILL)
        began = time.perf_counter()
        while self.call().get("isError"):
            pass
        return time.perf_counter() - began

    def serves(self, worker):
        before = cpu(worker)
        for _ in range(300):
            self.call()
        return cpu(worker) > before

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def cpu(process):
    """Ticks of the clock."""
    fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def memory(process):
    """MiB, with a share of what it shares with others."""
    lines = open(f"/proc/{process}/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def main():
    folder = tempfile.mkdtemp()
    servers = {name: Server(f"{folder}/{at}", *how) for at, (name, how) in enumerate(SERVERS.items())}
    times = {name: [] for name in servers}
    rates = {name: [] for name in servers}
    for _ in range(ROUNDS):
        for name, server in servers.items():
            times[name] += server.one_at_a_time()
            rates[name].append(server.in_flight())
    rows = [("Wharf only", *servers)]
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        cells = [f"{sorted(times[i])[int(len(times[i]) * part)] * 1e6:,.0f} µs" for i in servers]
        rows.append((f"a call, {name}", *cells))
    cells = [f"{statistics.median(rates[i]):,.0f} a second" for i in servers]
    rows.append((f"calls, {IN_FLIGHT} in flight", *cells))
    total = {i: sum(map(memory, [s.process.pid, *s.workers()])) for i, s in servers.items()}
    rows.append((f"memory of the server, {PLUGINS} plugins", *(f"{total[i]:.0f} MiB" for i in servers)))
    apart = list(servers)[1:]
    each = [f"{statistics.median(map(memory, servers[name].workers())):.1f} MiB" for name in apart]
    rows.append(("of that, a process", "", *each))
    restarts = [statistics.median(servers[name].restart() for _ in range(RESTARTS)) for name in apart]
    rows.append(("a process that was killed, until the next result", "", *(f"{time * 1e3:.0f} ms" for time in restarts)))
    for at, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if at == 0:
            print("|---|" + "---:|" * len(servers))
    for server in servers.values():
        server.end()
    shutil.rmtree(folder)


main()
