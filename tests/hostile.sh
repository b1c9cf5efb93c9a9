#!/usr/bin/env bash
# Runs 81 hostile plugins and clients (docs/security.md, H01 to H81) against the debug binary, over
# stdio and over HTTP, after building missing guests. The last lines are the table, how many of the
# 81 were contained over both, and the count. It takes some minutes.
#
#   tests/hostile.sh                  all
#   tests/hostile.sh H14 H15          some
#   tests/hostile.sh stdio            over one transport
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
