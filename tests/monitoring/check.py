"""Prometheus scrapes a server as docs/operate.md says, and has an answer to each query of the dashboard."""

import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "scraper-0123456789abcdef"
PATIENCE = 60  # seconds

# What nothing in this test makes: requests that fail, and calls that wait, send HTTP or are refused.
MAY_BE_EMPTY = {"error_type", 'result!="ok"'}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what: str, done):
    """Asks again until there is an answer."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := done()):
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {PATIENCE} s")
        time.sleep(0.1)
    return answer


class Server:
    """`wharf serve` on stdio, with metrics and a budget."""

    def __init__(self, wharf: str, folder: Path) -> None:
        plugins, config = folder / "plugins", folder / "wharf.toml"
        plugins.mkdir()
        shutil.copy(ROOT / "target/guests/components/echo.wasm", plugins)
        (folder / "token").write_text(TOKEN)
        (folder / "token").chmod(0o600)
        config.write_text(
            "[metrics]\naddress = '127.0.0.1:0'\ntoken = { file = 'token' }\n"
            "[[budgets]]\nname = 'few'\ncalls = 1000\nwindow = '1h'\n"
        )
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [wharf, "serve", plugins, "--config", config],
                env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.number = 0

    def address(self) -> str:
        found = until("the address", lambda: re.search(r"metrics at http://(\S+)/metrics\n", self.log.read_text()))
        return found[1]

    def request(self, method: str, params: dict) -> dict:
        self.number += 1
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer


class Prometheus:
    def __init__(self, folder: Path, target: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        config = folder / "prometheus.yml"
        config.write_text(
            "global: { scrape_interval: 500ms, evaluation_interval: 500ms }\n"
            f"rule_files: ['{ROOT}/dist/monitoring/alerts.yml']\n"
            "scrape_configs:\n"
            "  - job_name: wharf\n"
            f"    authorization: {{ credentials_file: {folder}/token }}\n"
            f"    static_configs: [{{ targets: ['{target}'] }}]\n"
        )
        with (folder / "prometheus.log").open("w") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder}/data",
                    f"--web.listen-address={self.address}",
                ],
                stdout=log,
                stderr=log,
            )

    def get(self, path: str, **query: str):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None  # It is starting.
            sys.exit(f"{query}: {error.read().decode()}")
        except OSError:
            return None  # It does not listen yet.

    def query(self, query: str) -> list:
        return (self.get("query", query=query) or {"result": []})["result"]


def queries():
    """Of the dashboard, as Grafana would send them."""
    dashboard = json.loads((ROOT / "dist/monitoring/dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "30s").replace("$instance", ".*")
            yield panel["title"], query


def main() -> None:
    passed, failed = 0, []
    folder = Path(tempfile.mkdtemp())
    server = Server(sys.argv[1], folder)
    prometheus = None
    try:
        address = server.address()
        until("the plugin", lambda: server.request("tools/list", {})["result"]["tools"])
        prometheus = Prometheus(folder, address)
        until("a scrape", lambda: [s for s in prometheus.query("up") if s["value"][1] == "1"])
        for count in (1, 2):
            server.request("tools/call", {"name": "echo", "arguments": {"message": "hi"}})
            wanted = f"wharf_calls_total{{plugin='echo'}} >= {count}"
            until(wanted, lambda: prometheus.query(wanted))
        for title, query in queries():
            empty = any(part in query for part in MAY_BE_EMPTY)
            answer = prometheus.query(query) if empty else until(title, lambda: prometheus.query(query))
            print(f"{title}: {len(answer)} series")
            passed += 1
        rules = prometheus.get("rules")["groups"][0]["rules"]
        for rule in rules:
            if rule["health"] == "err":
                failed.append(f"{rule['name']}: {rule['lastError']}")
            passed += rule["health"] != "err"
    finally:
        for process in (server.process, prometheus and prometheus.process):
            if process:
                process.terminate()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    for line in failed:
        print(f"FAILED {line}")
    print(f"tests: {passed} passed, {len(failed)} failed")
    sys.exit(bool(failed))


main()
