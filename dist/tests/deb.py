"""Checks the package for Debian: with lintian, and in a booted system from installation to purge."""

import system
from checking import run
from system import System, lint

ACCEPTED = {
    "bogus-mail-host": "the publisher writes an address into Cargo.toml",
    "maintainer-script-calls-systemctl": "`disable` of a unit that debhelper did not install",
    "initial-upload-closes-no-bugs": "it is in no archive of Debian's",
    "no-manual-page": "wharf-mcp is a link, as its page is",
}


def steps(debian: System) -> None:
    check = debian.check
    check("lintian", lambda: lint(["lintian", "--allow-root", "--fail-on", "none", debian.package], ACCEPTED))
    check("dpkg-deb reads it", lambda: run(["dpkg-deb", "--contents", debian.package]))
    debian.serves_until_upgraded("dpkg -i", "dpkg -i")
    check("the files are those of the package", lambda: debian.run("dpkg --verify wharf-mcp | grep -v ' c /etc/wharf/wharf.toml' | grep . && exit 1 || true"))
    check("removed", lambda: debian.is_removed("dpkg -r wharf-mcp"))
    check("its configuration stays", lambda: debian.run("test -f /etc/wharf/wharf.toml"))
    check("installed again", lambda: debian.run(f"dpkg -i {debian.put(debian.package)}"))
    check("purged", lambda: debian.run("dpkg -P wharf-mcp; test ! -e /etc/wharf -a ! -e /var/lib/wharf"))
    check("plugins of others stay", lambda: debian.run("test -f /srv/wharf/plugins/text.wasm"))


if __name__ == "__main__":
    system.main("deb", {"lintian": "lintian"}, steps)
