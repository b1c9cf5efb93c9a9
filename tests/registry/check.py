"""Drives `wharf` against Debian's registry, and other programs against what it publishes."""

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import oras.client

ROOT = Path(__file__).resolve().parents[2]
WHARF = os.environ["WHARF_TEST_BIN"]
WASM = ROOT / "plugins/prebuilt/text.wasm"
results = {"passed": 0, "failed": 0}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def check(name: str, holds: bool, detail: str = "") -> None:
    results["passed" if holds else "failed"] += 1
    print(f"{'ok' if holds else 'FAILED'} {name}{'' if holds else ': ' + detail}", flush=True)


class Machine:
    """A home of its own, and the registry."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"localhost:{free_port()}"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        config = folder / "registry.yml"
        config.write_text(
            "version: 0.1\nlog: {level: error}\n"
            f"storage: {{filesystem: {{rootdirectory: {folder}/data}}}}\nhttp: {{addr: {self.host}}}\n"
        )
        log = open(folder / "registry.log", "wb")
        self.server = subprocess.Popen(["docker-registry", "serve", config], stdout=log, stderr=log)
        until = time.monotonic() + 30
        while not self.answers():
            if self.server.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the registry does not start: {(folder / 'registry.log').read_text()}")
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            return urllib.request.urlopen(f"http://{self.host}/v2/", timeout=5).status == 200
        except OSError:
            return False

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        command = [str(word) for word in words]
        return subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=120)

    def wharf(self, *words: object) -> subprocess.CompletedProcess[str]:
        return self.run(WHARF, *words)

    def get(self, path: str) -> bytes:
        accept = "application/vnd.oci.image.manifest.v1+json"
        request = urllib.request.Request(f"http://{self.host}/v2/{path}", headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()


def plugins(machine: Machine, name: str) -> Path:
    folder = machine.folder / name
    folder.mkdir()
    return folder


def publish(machine: Machine) -> None:
    run, host = machine.wharf, machine.host
    machine.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem")
    machine.run("openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "cosign.pub")
    (machine.folder / "key.pem").chmod(0o600)
    words = ["push", f"oci://{host}/acme/text:1", WASM, "--key", "key.pem", "--grant", "keyvalue", "--licence", "MIT"]
    pushed = run(*words)
    check("a component is published and signed", pushed.returncode == 0, pushed.stderr)
    digest = pushed.stdout.strip().rpartition("@")[2]
    manifest = machine.get("acme/text/manifests/1")
    check("its digest is that of the manifest", digest == "sha256:" + hashlib.sha256(manifest).hexdigest(), digest)
    parsed = json.loads(manifest)
    check(
        "it is a Wasm OCI artifact",
        parsed["config"]["mediaType"] == "application/vnd.wasm.config.v0+json"
        and [layer["mediaType"] for layer in parsed["layers"]] == ["application/wasm"],
        manifest.decode(),
    )
    config = json.loads(machine.get(f"acme/text/blobs/{parsed['config']['digest']}"))
    check("its configuration names the component", config["layerDigests"] == [parsed["layers"][0]["digest"]], str(config))
    again = run(*words)
    check("it says what the tag named", "named already" in again.stderr and "another version" not in pushed.stderr, again.stderr)
    signatures = machine.get(f"acme/text/manifests/{digest.replace(':', '-')}.sig")
    check("it is signed once", len(json.loads(signatures)["layers"]) == 1, signatures.decode())
    check("the same is published as the same", again.stdout == pushed.stdout, again.stdout + again.stderr)

    signatures = json.loads(machine.get(f"acme/text/manifests/{digest.replace(':', '-')}.sig"))
    for layer in signatures["layers"]:
        payload = machine.get(f"acme/text/blobs/{layer['digest']}")
        (machine.folder / "payload").write_bytes(payload)
        signature = base64.b64decode(layer["annotations"]["dev.cosignproject.cosign/signature"])
        (machine.folder / "signature").write_bytes(signature)
        words = ["openssl", "dgst", "-sha256", "-verify", "cosign.pub", "-signature", "signature", "payload"]
        verified = machine.run(*words)
        names = json.loads(payload)["critical"]["image"]["docker-manifest-digest"]
        check("openssl accepts the signature", verified.returncode == 0 and names == digest, verified.stdout)


def push_says(machine: Machine) -> None:
    """What was done, and what could not be meant."""
    reference = f"oci://{machine.host}/acme/said:1"
    pushed = machine.wharf("push", reference, WASM)
    check("an unsigned one is said to be", "no signature was added to it" in pushed.stderr, pushed.stderr)
    moved = machine.wharf("push", reference, WASM, "--description", "another")
    check("a moved tag is said", "named another version before: sha256:" in moved.stderr, moved.stderr)
    machine.run("openssl", "ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", "sec1.pem")
    machine.run("openssl", "pkey", "-in", "key.pem", "-aes256", "-passout", "pass:x", "-out", "encrypted.pem")
    for key in ("sec1.pem", "encrypted.pem"):
        (machine.folder / key).chmod(0o600)
    machine.run("sh", "-c", "openssl pkcs8 -topk8 -nocrypt -in sec1.pem -out converted.pem && chmod 600 converted.pem")
    for words, why in (
        (["--key", "sec1.pem"], "openssl pkcs8 -topk8 -nocrypt"),
        (["--key", "encrypted.pem"], "openssl pkey -in"),
        (["--licence", "MIT; rm"], "Apache-2.0"),
        (["--source", "acme/weather"], "https://"),
        (["--grant", "keyvlaue"], "there is no grant"),
        (["--grant", "http=api.example.com"], "https://api.example.com"),
        (["--annotation", "io.github.wharf-mcp.grants=keyvalue"], "write --grant"),
    ):
        refused = machine.wharf("push", reference, WASM, *words)
        holds = refused.returncode != 0 and why in refused.stderr and "failed to there" not in refused.stderr
        check(f"{words[0]} {words[1]} is refused with what to do", holds, refused.stderr)
    converted = machine.wharf("push", reference, WASM, "--key", "converted.pem")
    check("the key is read after that", "signed by cosign key" in converted.stderr, converted.stderr)


def add(machine: Machine) -> None:
    host, folder = machine.host, plugins(machine, "added")
    settings = machine.folder / "wharf.toml"
    settings.write_text(f'[registries."{host}/acme"]\nkeys = ["cosign.pub"]\n')
    settings.chmod(0o600)
    reference = f"oci://{host}/acme/text:1"
    added = machine.wharf("--config", settings, "add", reference, folder, "--yes")
    check("it is added with its signature", "signed   by cosign key" in added.stderr and added.returncode == 0, added.stderr)
    check("the file is the same", (folder / "text.wasm").read_bytes() == WASM.read_bytes())
    called = machine.wharf("call", folder, "text_hash", "text=hello")
    check("its tool can be called", called.returncode == 0, called.stderr)
    unsigned = machine.wharf("push", f"oci://{host}/acme/unsigned:1", WASM)
    refused = machine.wharf("--config", settings, "add", f"oci://{host}/acme/unsigned:1", folder, "--yes")
    check("one without a signature is refused", unsigned.returncode == 0 and refused.returncode == 1, refused.stderr)
    found = machine.wharf("search", f"{host}/acme")
    check("a registry that lists its repositories is searched", "acme/text" in found.stdout, found.stdout + found.stderr)


def other_programs(machine: Machine) -> None:
    host = machine.host
    saved = machine.wharf("save", f"oci://{host}/acme/text:1", "layout")
    check("a version is saved", saved.returncode == 0, saved.stderr)
    copy = machine.run("skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{host}/acme/text:1", "oci:skopeo:1")
    folder = plugins(machine, "from-skopeo")
    added = machine.wharf("add", f"oci://{host}/acme/text:1", folder, "--layout", "skopeo", "--yes")
    check("a layout of skopeo is read", copy.returncode == 0 and added.returncode == 0, copy.stderr + added.stderr)
    name = f"{host}/acme/text:1"
    copy = machine.run("skopeo", "copy", "-q", "--dest-tls-verify=false", f"oci:layout:{name}", f"docker://{host}/copy/text:1")
    same = copy.returncode == 0 and machine.get("copy/text/manifests/1") == machine.get("acme/text/manifests/1")
    check("skopeo reads a layout of wharf", same, copy.stderr)

    client = oras.client.OrasClient(hostname=host, insecure=True)
    pulled = client.pull(target=name, outdir=str(machine.folder / "oras"))
    check("oras pulls it", [Path(path).read_bytes() for path in pulled] == [WASM.read_bytes()], str(pulled))
    (machine.folder / "by-oras.wasm").write_bytes(WASM.read_bytes())
    os.chdir(machine.folder)
    client.push(target=f"{host}/oras/text:1", files=["by-oras.wasm:application/wasm"], disable_path_validation=True)
    folder = plugins(machine, "from-oras")
    added = machine.wharf("add", f"oci://{host}/oras/text:1", folder, "--yes")
    check("what oras publishes is added", added.returncode == 0, added.stderr)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        try:
            publish(machine)
            push_says(machine)
            add(machine)
            other_programs(machine)
        finally:
            machine.server.kill()
            machine.server.wait()
    print(f"tests: {results['passed']} passed, {results['failed']} failed")
    return 1 if results["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
