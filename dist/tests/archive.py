"""Checks the archives: unpacked into an empty folder, the server runs from there."""

import filecmp
import gzip
import subprocess
import tarfile
import zipfile
from pathlib import Path

import rpc
from checking import Checks, missing, run, version, want


def main() -> None:
    checks = Checks()
    missing("mandoc", "apt-get install --no-install-recommends -y mandoc")
    made = checks.twice("archive")
    full, sums, server, server_sums = made
    stem = f"-{version()}-{checks.target}"

    def checksums() -> None:
        for file in (sums, server_sums):
            run(["sha256sum", "--check", file], cwd=file.parent)

    def fixed() -> None:
        with tarfile.open(full) as archive:
            members = archive.getmembers()
        want({member.uid for member in members} | {member.gid for member in members}, {0}, "the owners")
        want(len({member.mtime for member in members}), 1, "the number of times")
        want([member.name for member in members], sorted(member.name for member in members), "the order")
        want(gzip.open(full).read(4) != b"", True, "gzip")

    home = checks.home("home")
    local = Path(home["HOME"], ".local")

    def installed() -> None:
        """The commands of the archive's own page."""
        local.mkdir()
        shell(f"tar -xzf {full} --strip-components=1 -C {local}")
        want(sorted(path.name for path in (local / "bin").iterdir()), ["wharf", "wharf-mcp"], "the commands")
        want(len(list((local / "share/wharf/plugins").glob("*.wasm"))), 5, "the number of plugins")
        for text in ("LICENSE", "THIRD-PARTY.txt", "README.md"):
            want((local / "share/doc/wharf" / text).stat().st_size > 500, True, f"the length of {text}")

    def shell(command: str) -> str:
        return run(["sh", "-ec", command], env=home).stdout

    def talks(name: str) -> None:
        rpc.over_stdio([local / "bin" / name, "serve", local / "share/wharf/plugins"], env=home)

    def documents() -> None:
        run(["bash", "-n", local / "share/bash-completion/completions/wharf"])
        pages = list((local / "share/man/man1").iterdir())
        want(len(pages) > 20, True, "the number of pages")
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", *pages], capture_output=True, text=True)
        want((done.returncode, done.stdout), (0, ""), "what mandoc finds")

    def server_alone() -> None:
        alone = checks.folder / "alone"
        alone.mkdir()
        run(["tar", "-xzf", server, "-C", alone])
        rpc.over_stdio([alone / f"wharf-server{stem}/bin/wharf", "serve", local / "share/wharf/plugins"], env=home)
        want((alone / f"wharf-server{stem}/share/man").exists(), False, "pages of commands that it has not")

    def removed() -> None:
        command = (local / "share/doc/wharf/README.md").read_text().split("```sh\n")[-1].split("```")[0]
        shell(f"cd {full.parent}; {command}")
        left = [path for path in local.rglob("*") if path.is_file() and "state" not in path.parts]
        want(left, [], "what is left")

    def windows() -> None:
        """The layout, with binaries that only have the names."""
        bin = checks.folder / "windows"
        bin.mkdir()
        for name in ("wharf", "wharf-server", "wharf-mcp"):
            (bin / f"{name}.exe").write_bytes(name.encode())
        (bin / "wharf").symlink_to(checks.bin / "wharf")
        outs = [checks.folder / "zip", checks.folder / "again-zip"]
        target = ["--target", "x86_64-pc-windows-gnu", "--bin", bin]
        for out in outs:
            run(["python3", Path(__file__).parent.parent / "package.py", "archive", *target, "--out", out])
        name = f"wharf-{version()}-x86_64-pc-windows-gnu"
        with zipfile.ZipFile(outs[0] / f"{name}.zip") as archive:
            want(archive.testzip(), None, "damaged files")
            names = {path.removeprefix(f"{name}/") for path in archive.namelist()}
        wanted = {"wharf.exe", "wharf-mcp.exe", "LICENSE.txt", "THIRD-PARTY.txt", "plugins/text.wasm", "completions/_wharf.ps1"}
        want(wanted - names, set(), "missing files")
        same = filecmp.cmp(outs[0] / f"{name}.zip", outs[1] / f"{name}.zip", shallow=False)
        want(same, True, "whether a second run makes the same bytes")

    checks.finish({
        "the checksums are right": checksums,
        "times, owners and order are fixed": fixed,
        "its page installs it": installed,
        "wharf serves the prebuilt plugins": lambda: talks("wharf"),
        "wharf-mcp is the same": lambda: talks("wharf-mcp"),
        "completions and pages are valid": documents,
        "the server alone serves them too": server_alone,
        "its page removes it": removed,
        "a zip file for Windows": windows,
    })


if __name__ == "__main__":
    main()
