"""What tasks and values of plugins cost: making and finishing them, and many that are kept. Python's standard library alone.

    python3 bench/tasks.py [WHARF [COMPONENTS [URL]]]

Tasks beyond the limit of one caller are copies of a real one, written to the store between two runs of the server. With
the URL of a store on a server, only the cost of single tasks and values is measured.
"""

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

WHARF = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/wharf")
COMPONENTS = sys.argv[2] if len(sys.argv) > 2 else "target/guests/components"
URL = sys.argv[3] if len(sys.argv) > 3 else None
CALLS = 500
KEPT = 100_000
OPEN = 10_000
SETTINGS = """
[server]
first-list = "60s"
[tasks]
concurrency = 32
[plugins.everything.grants]
elicit = true
[plugins.notes.grants]
keyvalue = { quota = "64 MiB" }
"""
NOTE = {"name": "notes_add", "arguments": {"text": "milk"}}


class Server:
    """A server on stdin and stdout, with a session of 2025-11-25, in which the client says what becomes a task."""

    def __init__(self, home):
        self.env = {"PATH": os.environ["PATH"], "HOME": home}
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            self.env[f"XDG_{name}_HOME"] = f"{home}/{name.lower()}"
        self.plugins = f"{home}/plugins"
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [WHARF, "serve", self.plugins],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.env,
        )
        self.id = 0
        client = {"name": "bench", "version": "0"}
        capabilities = {"elicitation": {}}
        hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
        self.request("initialize", hello)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, *messages):
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.process.stdin.flush()

    def message(self, method, params):
        self.id += 1
        return {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}

    def answer(self):
        while True:
            message = json.loads(self.process.stdout.readline())
            if "id" in message and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"failed: {message['error']}")
                return message["result"]

    def request(self, method, params):
        self.write(self.message(method, params))
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def command(self, *arguments):
        return subprocess.run([WHARF, *arguments], env=self.env, capture_output=True, check=True).stdout


def call(seconds=0, tool="slow_again", **more):
    return {"name": f"everything_{tool}", "arguments": {"seconds": seconds, "filename": "a"}, **more}


def micros(server, count, *requests):
    """The median time of all requests together, each with the id of the task that the first one made."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        made = server.request(*requests[0])
        for method in requests[1:]:
            server.request(method, {"taskId": made["task"]["taskId"]})
        times.append((time.perf_counter() - began) * 1e6)
    return statistics.median(times)


def together(server, count, flight=32):
    """Tasks per second, made and fetched with so many in flight."""
    began = time.perf_counter()
    for _ in range(count // flight):
        server.write(*(server.message("tools/call", call(task={})) for _ in range(flight)))
        made = [server.answer()["task"]["taskId"] for _ in range(flight)]
        server.write(*(server.message("tasks/result", {"taskId": id}) for id in made))
        for _ in range(flight):
            server.answer()
    return count / (time.perf_counter() - began)


def copies(home, count, status):
    """Copies a task that stands so, under new ids."""
    store = sqlite3.connect(f"{home}/state/wharf/tasks.db")
    rows = store.execute("SELECT key, value FROM entry WHERE key LIKE '%/task/%'").fetchall()
    key, value = next((key, value) for key, value in rows if json.loads(value)["status"] == status)
    record = json.loads(value)
    prefix = key.rsplit("/", 1)[0]
    expires = record["created"] + record["ttl"]
    with store:
        (last,) = store.execute("SELECT version FROM last").fetchone()
        for number in range(count):
            record["id"] = f"{number:024d}"
            text = json.dumps(record).encode()
            row = (f"{prefix}/{record['id']}", last + number + 1, expires, len(prefix) + len(text) + 25, text)
            store.execute("INSERT INTO entry (key, version, expires, size, value) VALUES (?, ?, ?, ?, ?)", row)
        store.execute("UPDATE last SET version = version + ?", (count,))
    store.close()


def left(home):
    store = sqlite3.connect(f"{home}/state/wharf/tasks.db")
    (count,) = store.execute("SELECT count(*) FROM entry WHERE key LIKE '%/task/%'").fetchone()
    store.close()
    return count


def show(what, value, unit):
    print(f"| {what} | {value:,.0f} {unit} |", flush=True)


def prepared():
    home = tempfile.TemporaryDirectory()
    os.makedirs(f"{home.name}/plugins")
    os.makedirs(f"{home.name}/config/wharf")
    for plugin in ("everything", "notes"):
        shutil.copy(f"{COMPONENTS}/{plugin}.wasm", f"{home.name}/plugins")
    with open(f"{home.name}/config/wharf/wharf.toml", "w") as config:
        config.write(SETTINGS)
        if URL:
            config.write(f"[store]\nurl = {json.dumps(URL)}\n")
    return home


def main():
    print("| | |\n|---|---|")
    with prepared() as home:
        server = Server(home)
        for _ in range(20):
            server.request("tools/call", call())
        plain = micros(server, CALLS, ("tools/call", call()))
        show("a call, p50", plain, "µs")
        made = micros(server, CALLS // 4, ("tools/call", call(task={})))
        show("a call that becomes a task, until the client has its id, p50", made, "µs")
        fetched = micros(server, CALLS // 8, ("tools/call", call(task={})), "tasks/result")
        show("the same until it has the result, p50", fetched, "µs")
        stored = micros(server, CALLS // 5, ("tools/call", NOTE))
        show("a call that counts up a number, stores a value and lists all, p50", stored, "µs")
        read = micros(server, CALLS, ("resources/read", {"uri": "notes://1"}))
        show("a resource that is one value, p50", read, "µs")
        show("tasks made and fetched, 32 in flight", together(server, 640), "a second")
        server.close()
    if URL:
        return
    with prepared() as home:
        server = Server(home)
        made = server.request("tools/call", call(tool="confirm_delete", task={}))
        task = {"taskId": made["task"]["taskId"]}
        while server.request("tasks/get", task)["status"] != "input_required":
            time.sleep(0.1)
        server.close()
        copies(home, OPEN, "input_required")
        server = Server(home)
        server.request("tasks/get", task)
        took = (time.perf_counter() - server.began) * 1e3
        show(f"from the start of the server to `tasks/get`, with {OPEN:,} that ask", took, "ms")
        began = time.perf_counter()
        server.request("tasks/list", {})
        show("a page of `tasks/list` of them", (time.perf_counter() - began) * 1e3, "ms")
        server.close()
    with prepared() as home:
        server = Server(home)
        made = server.request("tools/call", call(task={}))
        server.request("tasks/result", {"taskId": made["task"]["taskId"]})
        server.close()
        copies(home, KEPT, "completed")
        began = time.perf_counter()
        listed = json.loads(server.command("tasks", server.plugins, "--json"))
        show(f"`wharf tasks` of {len(listed):,}", (time.perf_counter() - began) * 1e3, "ms")
        store = sqlite3.connect(f"{home}/state/wharf/tasks.db")
        with store:
            store.execute("UPDATE entry SET expires = 1 WHERE key LIKE '%/task/%'")
        store.close()
        server = Server(home)
        began = time.perf_counter()
        while left(home):
            time.sleep(0.05)
        show(f"until {KEPT:,} that have expired are gone", (time.perf_counter() - began) * 1e3, "ms")
        server.close()


main()
