#!/usr/bin/env bash
# Runs 83 hostile plugins and clients (docs/security.md, H01 to H83) against the debug binary: over stdio,
# over HTTP, and with each plugin in a process of its own, after building missing guests. The last lines are
# the table, how many of the 83 were contained in all three, and the count. It takes some minutes.
#
#   tests/hostile.sh                  all
#   tests/hostile.sh H14 H15          some
#   tests/hostile.sh process          in one of the three: stdio, http, process
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
for guest in echo everything folders hostile online served; do
  [ -f "target/guests/components/$guest.wasm" ] || missing+=("$guest")
done
if ((${#missing[@]})); then
  plugins/build.sh "${missing[@]}"
fi
exec cargo test --locked --package wharf-mcp --test hostile -- "$@"
