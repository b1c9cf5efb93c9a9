#!/usr/bin/env bash
# Runs the files and commands of docs/team.md against the debug binary: the units through systemd-analyze;
# `wharf serve`, nginx and Caddy as ordinary processes; socket activation; and, as root, the whole page in a
# systemd that is booted in namespaces, where nothing of this system changes. What is missing is installed from
# Debian's packages. It takes two minutes; the last line is the count.
#
#   bash tests/team.sh                                 with target/debug/wharf
#   WHARF_TEST_BIN=/path/to/wharf bash tests/team.sh   with another binary
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

wharf=${WHARF_TEST_BIN:-target/debug/wharf}
[ -f "$wharf" ] || cargo build --locked --package wharf-mcp || exit
PATH=$PATH:/usr/sbin:/sbin
for need in 'python3 python3' 'openssl openssl' 'curl curl' 'systemd-analyze systemd' \
  'systemd-socket-activate systemd' 'nginx nginx-light' 'caddy caddy' 'sudo sudo' 'unshare util-linux'; do
  # shellcheck disable=SC2086
  need $need || exit
done

begin target/team-logs
step processes python3 tests/team/check.py "$wharf"
if [ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork --cgroup --uts --net true; then
  step booted unshare --net python3 tests/team/booted.py "$wharf"
else
  echo "not booted: that needs root, and namespaces"
fi
conclude
