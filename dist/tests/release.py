"""Checks what is written for a release: the Homebrew formula, the winget manifests, and the Nix flake."""

import hashlib
import json
from pathlib import Path

from checking import ROOT, Checks, missing, python_tools, run, version, want

checks = Checks()
tools = python_tools()
missing("ruby", "apt-get install --no-install-recommends -y ruby")
missing("nix-instantiate", "apt-get install --no-install-recommends -y nix-bin")
REPOSITORY = "https://code.example/someone/wharf"
ARCHIVES = {
    "aarch64-apple-darwin": "tar.gz", "x86_64-apple-darwin": "tar.gz", "aarch64-unknown-linux-musl": "tar.gz",
    "x86_64-unknown-linux-musl": "tar.gz", "x86_64-pc-windows-msvc": "zip",
}  # fmt: skip

# A formula's language, as far as this formula has it: what is chosen on which system.
BREW = """
require 'json'
$found = []
class Formula
  %i[desc homepage version license].each { |name| define_singleton_method(name) { |*| } }
  def self.on_macos = (@os = :macos; yield)
  def self.on_linux = (@os = :linux; yield)
  def self.on_arm = (@cpu = :arm; yield)
  def self.on_intel = (@cpu = :intel; yield)
  def self.url(value) = @url = value
  def self.sha256(value) = $found << [@os, @cpu, @url, value]
  def self.test = nil
end
load ARGV[0]
puts JSON.generate($found)
"""

# What the flake uses of nixpkgs.
NIXPKGS = """
let
  lib = {
    genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
    licenses = { asl20 = "asl20"; llvm-exception = "llvm-exception"; };
  };
  pkgs = { inherit lib; rustPlatform.buildRustPackage = package: package; };
  nixpkgs = { inherit lib; legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ] (_: pkgs); };
  flake = import FLAKE;
  built = (flake.outputs { self = FOLDER; inherit nixpkgs; }).packages;
in builtins.mapAttrs (_: packages: { inherit (packages.default) pname version cargoBuildFlags; }) built
"""


def digest(target: str) -> str:
    path = checks.out / f"wharf-{version()}-{target}.{ARCHIVES[target]}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def address(target: str) -> str:
    return f"{REPOSITORY}/releases/download/v{version()}/wharf-{version()}-{target}.{ARCHIVES[target]}"


def formula_chooses() -> None:
    run(["ruby", "-c", formula])
    script = checks.folder / "brew.rb"
    script.write_text(BREW)
    found = json.loads(run(["ruby", script, formula]).stdout)
    wanted = [
        [os, cpu, address(target), digest(target)]
        for os, cpu, target in (
            ("macos", "arm", "aarch64-apple-darwin"),
            ("macos", "intel", "x86_64-apple-darwin"),
            ("linux", "arm", "aarch64-unknown-linux-musl"),
            ("linux", "intel", "x86_64-unknown-linux-musl"),
        )
    ]
    want(found, wanted, "what is downloaded on each system")


def manifests() -> None:
    read = "import json, sys, yaml; print(json.dumps([yaml.safe_load(open(path)) for path in sys.argv[1:]]))"
    found = json.loads(run([tools / "python", "-c", read, *winget]).stdout)
    want([each["ManifestType"] for each in found], ["version", "installer", "defaultLocale"], "the manifests")
    for each in found:
        want(each["PackageIdentifier"], "Wharf.Wharf", "the identifier")
        want(each["PackageVersion"], version(), "the version")
    [installer] = found[1]["Installers"]
    target = "x86_64-pc-windows-msvc"
    want(installer["InstallerUrl"], address(target), "the address")
    want(installer["InstallerSha256"], digest(target).upper(), "the checksum")
    nested = [each["RelativeFilePath"] for each in found[1]["NestedInstallerFiles"]]
    want(nested, [f"wharf-{version()}-{target}\\{name}.exe" for name in ("wharf", "wharf-mcp")], "the programs")
    want(len(found[2]["ShortDescription"]) <= 256, True, "the description is short enough")


def flake() -> None:
    expression = NIXPKGS.replace("FLAKE", str(ROOT / "flake.nix")).replace("FOLDER", str(ROOT))
    home = checks.home("nix") | {"NIX_STATE_DIR": str(checks.folder / "nix"), "NIX_STORE_DIR": str(checks.folder / "store")}
    run(["nix-instantiate", "--parse", ROOT / "flake.nix"], env=home)
    done = run(["nix-instantiate", "--eval", "--strict", "--json", "--expr", expression], env=home)
    package = {"pname": "wharf-mcp", "version": version(), "cargoBuildFlags": ["--package", "wharf-mcp"]}
    systems = ("aarch64-darwin", "aarch64-linux", "x86_64-darwin", "x86_64-linux")
    want(json.loads(done.stdout), {system: package for system in systems}, "the packages of the flake")


def without_archives() -> None:
    command = ["python3", ROOT / "dist/package.py", "homebrew", "--target", checks.target, "--repository", REPOSITORY]
    reported = run([*command, "--out", checks.folder / "none"], code=1).stderr
    want("dist/package.py archive --target" in reported, True, f"the error names the command: {reported}")


for out in (checks.out, checks.folder / "again"):
    out.mkdir(exist_ok=True)
    for target, suffix in ARCHIVES.items():
        (out / f"wharf-{version()}-{target}.{suffix}").write_text(target)
[formula] = checks.twice("homebrew", "--repository", REPOSITORY)
winget = checks.twice("winget", "--repository", REPOSITORY)
checks.check("the formula", formula_chooses)
checks.check("the manifests for winget", manifests)
checks.check("the flake", flake)
checks.check("no archives", without_archives)
checks.finish()
