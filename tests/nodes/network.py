"""Machines and their cables: a network namespace for each node, for the balancer and for the store.

All of it is in a namespace of the runner's own, so nothing of this system changes, and nothing is left behind. There
are four networks, each a bridge: a node has a cable to each of them, which can be pulled by itself.
"""

import os
import subprocess

STORE, NODES, FRONT, WATCH = "store", "nodes", "front", "watch"
# The number of a network in its addresses.
NETWORKS = {STORE: 1, NODES: 2, FRONT: 3, WATCH: 4}
# Those that may be cut. By the last one the runner looks at each node, whatever is cut.
CABLES = [STORE, NODES, FRONT]


def run(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}"
    return done.stdout


def address(network: str, host: int) -> str:
    return f"10.78.{NETWORKS[network]}.{host}"


class Machine:
    """A namespace. `host` is the last number of its addresses."""

    def __init__(self, name: str, host: int, networks: list[str]):
        self.name, self.host, self.cut = name, host, set()
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        for network in networks:
            inside, outside = network, self.port(network)
            run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", name)
            run("ip", "-n", name, "address", "add", f"{self.address(network)}/24", "dev", inside)
            run("ip", "-n", name, "link", "set", inside, "up")
            run("ip", "link", "set", outside, "master", f"br-{network}", "up")

    def port(self, network: str) -> str:
        return f"{self.name}-{network}"

    def address(self, network: str) -> str:
        return address(network, self.host)

    def inside(self, *command: str) -> list[str]:
        """The command, to be run there."""
        return ["ip", "netns", "exec", self.name, *command]

    def pull(self, network: str):
        """The machine sees that its cable is out; the others only see that it does not answer."""
        run("ip", "link", "set", self.port(network), "down")
        self.cut.add(network)

    def plug(self, network: str):
        run("ip", "link", "set", self.port(network), "up")
        self.cut.discard(network)


def build():
    """The networks, with the runner on those by which clients come and it looks at nodes."""
    assert os.getpid() == 1, "to be run in namespaces of its own: see tests/nodes.sh"
    # The names of namespaces are files there; they are for this process and its children.
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    run("ip", "link", "set", "lo", "up")
    for network in NETWORKS:
        run("ip", "link", "add", f"br-{network}", "type", "bridge")
        run("ip", "link", "set", f"br-{network}", "up")
    for network in [FRONT, WATCH]:
        run("ip", "address", "add", f"{address(network, 1)}/24", "dev", f"br-{network}")
