"""Checks the archives: unpacked into an empty folder, the server runs from there."""

import gzip
import json
import subprocess
import tarfile
from pathlib import Path

import rpc
from checking import Checks, missing, run, version, want

checks = Checks()


def main() -> None:
    tool = "unzip" if checks.exe else "mandoc"
    missing(tool, f"apt-get install --no-install-recommends -y {tool}")
    full, sums, server, server_sums = checks.twice("archive")

    def checksums() -> None:
        for file in (sums, server_sums):
            run(["sha256sum", "--check", file], cwd=file.parent)

    checks.check("the checksums are right", checksums)
    checks.finish(windows(full, server) if checks.exe else unix(full, server))


def windows(full: Path, server: Path) -> dict:
    """ZIP files."""
    home = checks.home("home")
    folder, alone = (checks.folder / file.stem for file in (full, server))

    def unpacked() -> None:
        for file in (full, server):
            run(["unzip", "-q", file, "-d", checks.folder])
        names = {"wharf.exe", "wharf-mcp.exe", "LICENSE.txt", "README.md", "THIRD-PARTY.txt", "plugins"}
        want({path.name for path in alone.iterdir()}, names, "the files of the server alone")
        want({path.name for path in folder.iterdir()}, names | {"completions"}, "the files")
        want(len(list((folder / "plugins").glob("*.wasm"))), 5, "the number of plugins")

    def page() -> None:
        """The first command of its own page."""
        command = (folder / "README.md").read_text().split("```powershell\n.\\")[1].splitlines()[0].split()
        found = run(["wine", *command], cwd=folder, env=home).stdout
        want(json.loads(found)["algorithm"], "sha256", "the algorithm")

    def talks(folder: Path, name: str) -> None:
        rpc.over_stdio(["wine", f"{name}.exe", "serve", "plugins"], cwd=folder, env=home)

    return {
        "unpacked": unpacked,
        "its page calls a tool": page,
        "wharf serves the prebuilt plugins": lambda: talks(folder, "wharf"),
        "wharf-mcp is the same": lambda: talks(folder, "wharf-mcp"),
        "the server alone serves them too": lambda: talks(alone, "wharf"),
    }


def unix(full: Path, server: Path) -> dict:
    """Folders as those of ~/.local."""
    stem = f"-{version()}-{checks.target}"

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

    return {
        "times, owners and order are fixed": fixed,
        "its page installs it": installed,
        "wharf serves the prebuilt plugins": lambda: talks("wharf"),
        "wharf-mcp is the same": lambda: talks("wharf-mcp"),
        "completions and pages are valid": documents,
        "the server alone serves them too": server_alone,
        "its page removes it": removed,
    }


if __name__ == "__main__":
    main()
