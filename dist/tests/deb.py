"""Checks the package for Debian: with lintian, and in a booted system from installation to purge."""

import system
from checking import run
from system import System, lint

ACCEPTED = {
    "bogus-mail-host": "whoever publishes writes an address into Cargo.toml",
    "maintainer-script-calls-systemctl": "`disable` of a unit that debhelper did not install",
    "initial-upload-closes-no-bugs": "it is in no archive of Debian's",
    "no-manual-page": "wharf-mcp is a link, as its page is",
    "unstripped-binary-or-object": "a binary for development",
    "statically-linked-binary": "the build with musl",
}


def steps(debian: System) -> None:
    check, package = debian.check, debian.put(debian.package)
    check("lintian", lambda: lint(["lintian", "--allow-root", "--fail-on", "none", debian.package], ACCEPTED))
    check("dpkg-deb reads it", lambda: run(["dpkg-deb", "--contents", debian.package]))
    check("installed", lambda: debian.run(f"dpkg -i {package}"))
    check("the service waits for a decision", debian.is_installed)
    check("the units are valid and hardened", debian.units_are_valid)
    check("the units are those of docs/team.md", debian.units_are_those_of_the_page)
    check("its page starts the service", debian.serves)
    check("a grant is given", debian.grants)
    check("upgraded while it runs", lambda: debian.survives_upgrade("dpkg -i {}"))
    check("socket activation", debian.serves_by_socket)
    check("the files are those of the package", lambda: debian.run("dpkg --verify wharf-mcp | grep -v ' c /etc/wharf/wharf.toml' | grep . && exit 1 || true"))
    check("removed", lambda: debian.is_removed("dpkg -r wharf-mcp"))
    check("its configuration stays", lambda: debian.run("test -f /etc/wharf/wharf.toml"))
    check("installed again", lambda: debian.run(f"dpkg -i {package}"))
    check("purged", lambda: debian.run("dpkg -P wharf-mcp; test ! -e /etc/wharf -a ! -e /var/lib/wharf"))
    check("plugins of others stay", lambda: debian.run("test -f /srv/wharf/plugins/text.wasm"))


if __name__ == "__main__":
    system.main("deb", {"lintian": "lintian"}, steps)
