"""What each kind of package calls a target."""

from dataclasses import dataclass

from packages.context import PackageError


@dataclass(frozen=True)
class Target:
    """One system that binaries are compiled for."""

    # The Rust target.
    name: str
    # npm's `os`, `cpu` and `libc`, as Node and npm name them.
    os: str
    cpu: str
    libc: str | None
    # The platform tag of a wheel. The glibc of manylinux is raised to what the binary needs.
    wheel: str

    @property
    def short(self) -> str:
        """The name of the target in names of packages."""
        libc = {"glibc": "-gnu", "musl": "-musl", None: ""}[self.libc]
        return f"{self.os}-{self.cpu}{libc}"


TARGETS = (
    Target("x86_64-unknown-linux-gnu", "linux", "x64", "glibc", "manylinux_2_28_x86_64"),
    Target("aarch64-unknown-linux-gnu", "linux", "arm64", "glibc", "manylinux_2_28_aarch64"),
    Target("x86_64-unknown-linux-musl", "linux", "x64", "musl", "musllinux_1_2_x86_64"),
    Target("aarch64-unknown-linux-musl", "linux", "arm64", "musl", "musllinux_1_2_aarch64"),
    Target("x86_64-apple-darwin", "darwin", "x64", None, "macosx_10_12_x86_64"),
    Target("aarch64-apple-darwin", "darwin", "arm64", None, "macosx_11_0_arm64"),
    Target("x86_64-pc-windows-gnu", "win32", "x64", None, "win_amd64"),
    Target("x86_64-pc-windows-msvc", "win32", "x64", None, "win_amd64"),
)


def target(name: str) -> Target:
    """The target of that name."""
    for known in TARGETS:
        if known.name == name:
            return known
    known = ", ".join(known.name for known in TARGETS)
    raise PackageError(f"there are no packages for {name}; there are for {known}")


def shorts() -> list[str]:
    """The short names of all targets, each once: two toolchains make binaries for Windows."""
    return list(dict.fromkeys(known.short for known in TARGETS))
