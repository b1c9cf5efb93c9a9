#!/usr/bin/env bash
# Runs the official conformance suite against the binary, over HTTP, in each revision of the suite.
# Scenarios that cannot pass yet are in conformance-expected.yaml. Needs the debug binary, the guests,
# Node and npm; the last line is the count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

guest=target/guests/components/everything.wasm wharf=${WHARF_TEST_BIN:-target/debug/wharf}
for file in "$guest" "$wharf"; do
  [ -f "$file" ] || { echo "no $file: run plugins/build.sh and cargo build first"; exit 1; }
done
tests/clients/install.sh
clients=$PWD/target/clients/node
# The suite needs a newer Node than that of many systems.
export PATH=$clients/node_modules/node/bin:$clients/node_modules/.bin:$PATH

results=target/conformance home=$(mktemp -d)
rm -rf "$results"
mkdir -p "$results" "$home/plugins" target/tmp/xdg-cache
cp "$guest" "$home/plugins/"
# The suite expects tool names without a prefix.
# Streams are closed early, to test resumption.
cat >"$home/wharf.toml" <<'TOML'
[server]
first-list = "30s"
[plugins.everything]
prefix = false
grants = { elicit = true, sample = true, roots = true, change-lists = true }
# The suite's tasks take a second.
tasks = { after = "50ms" }
[server.http]
poll-after = "500ms"
TOML
# Read below, perhaps before the server has started.
: >"$home/log"
HOME=$home XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data XDG_CACHE_HOME=$PWD/target/tmp/xdg-cache \
  "$wharf" serve "$home/plugins" --config "$home/wharf.toml" --http 127.0.0.1:0 2>"$home/log" &
host=$!
trap 'kill "$host" 2>/dev/null; wait "$host" || true; rm -rf "$home"' EXIT

for _ in {1..600}; do
  url=$(sed -n 's/^listening on //p' "$home/log")
  [ -n "$url" ] && break
  kill -0 "$host" 2>/dev/null || { cat "$home/log"; exit 1; }
  sleep 0.1
done
[ -n "$url" ] || { echo "the host has not printed its address"; cat "$home/log"; exit 1; }

code=0
# check REVISION OPTION…: one run. It fails if the suite does; failed checks are counted from its
# results.
check() {
  local revision=$1 log=$home/$1.txt
  shift
  mkdir -p "$results/$revision"
  echo "-- $revision"
  conformance server --url "$url" -o "$results/$revision" "$@" >"$log" 2>&1 || { code=1; cat "$log"; }
}
check 2025-03-26 --suite all --spec-version 2025-03-26
check 2025-06-18 --suite all --spec-version 2025-06-18
check 2025-11-25 --requirements 2025-11-25
check 2026-07-28 --requirements 2026-07-28
node "$clients/conformance.mjs" "$results" tests/conformance-expected.yaml || code=1
exit "$code"
