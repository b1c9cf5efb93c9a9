"""Checks the RPM package: with rpmlint, and in a booted system from installation to removal."""

import system
from checking import run
from system import System, lint

# A database of its own: Debian's system has no packages of this kind, and so no dependencies of one.
RPM = "rpm --nodeps --dbpath /var/lib/rpm-check"
# rpm does not know that qemu starts programs of another processor.
INSTALL = f"{RPM} --ignorearch"
ACCEPTED = {
    "no-changelogname-tag": "the changes are in the repository",
    "no-group-tag": "systems no longer use it",
    "invalid-license": "this version has no list of licences",
    "no-url-tag": "the address is known when it is released",
    "no-signature": "the release signs it",
    "dangerous-command-in": "`install` makes the folders of the service",
    "only-non-binary-in-usr-lib": "the units belong there",
    "manpage-not-compressed bz2": "the default of this version; systems use gzip",
    "no-manual-page-for-binary": "it looks for pages with bz2",
    "no-dependency-on locales": "there are no translations",
}


def steps(fedora: System) -> None:
    check = fedora.check
    check("rpmlint", lambda: lint(["rpmlint", fedora.package], ACCEPTED))
    check("rpm reads it", lambda: run(["rpm", "--checksig", "--nosignature", fedora.package]))
    fedora.serves_until_upgraded(f"{INSTALL} -i", f"{INSTALL} -U")
    check("removed", lambda: fedora.is_removed(f"{RPM} -e wharf-mcp"))
    check("an edited configuration stays", lambda: fedora.run("test -f /etc/wharf/wharf.toml.rpmsave"))


if __name__ == "__main__":
    system.main("rpm", {"rpm": "rpm", "rpmbuild": "rpm", "rpmlint": "rpmlint"}, steps)
