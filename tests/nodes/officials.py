"""The official clients, as processes of their own, and what they report."""

import json
import subprocess
import threading
from pathlib import Path

from client import TOKENS
from cluster import NAME, ROOT, Cluster
from journal import Journal


class Official:
    def __init__(self, cluster: Cluster, journal: Journal, version: int, root: Path):
        self.journal, self.name = journal, f"official client, version {version}"
        python = ROOT / f"target/clients/python-{version}/bin/python"
        url = f"http://{cluster.balancer.way.address}/mcp"
        with open(root / f"official-{version}.log", "wb") as log:
            self.process = subprocess.Popen([str(python), str(Path(__file__).with_name("official.py")), url, NAME, TOKENS["official"]],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        self.ending = False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for text in self.process.stdout:
            line = json.loads(text)
            if line.get("ok"):
                self.journal.count(self.name, "answered")
            elif "error" in line:
                # It does not say which node it was.
                self.journal.is_lost(self.name, self.name, None, line["start"], f"{line['what']}: {line['error']}")
            else:
                self.journal.count(self.name, "failed wrongly")
                self.journal.fails(self.name, f"{line['what']}: {line['text']}")
        if not self.ending:
            self.journal.fails(self.name, "it has ended")

    def stop(self):
        self.ending = True
        self.process.terminate()
        self.process.wait(20)
        self.thread.join()
