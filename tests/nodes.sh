#!/usr/bin/env bash
# Three nodes behind Debian's nginx that share a store, in network namespaces: first NATS, then PostgreSQL. Official
# clients, tasks that ask, replacements and revocations go on while nodes are killed, stopped, cut off and brought back.
# Prints what was lost, how long changes took to reach all nodes, and the count. Nothing that was acknowledged may be
# lost. It needs root, and takes some seven seconds for each fault.
#
#   bash tests/nodes.sh                                  200 faults, half of them with each store
#   bash tests/nodes.sh --faults 10 --seed 7 nats        another number, the same faults again, one store
#   WHARF_TEST_BIN=/path/to/wharf bash tests/nodes.sh    with another binary than target/debug/wharf
#
# The logs of nodes, stores and the balancer are in target/nodes-logs.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

usage() {
  echo "usage: tests/nodes.sh [--faults N] [--seed S] [nats|postgres]" >&2
  exit 2
}
faults=200 seed=$RANDOM engines=(nats postgres)
while (($#)); do
  case $1 in
    --faults) faults=${2:-} && shift 2 || usage ;;
    --seed) seed=${2:-} && shift 2 || usage ;;
    nats | postgres) engines=("$1") && shift ;;
    *) usage ;;
  esac
done
[[ $faults =~ ^[1-9][0-9]*$ && -n $seed ]] || usage

PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || { echo "the tests need root, for network namespaces" >&2; exit 1; }
isolated=(unshare --net --mount --pid --mount-proc --fork --kill-child)
"${isolated[@]}" true || { echo "the tests need namespaces of networks, mounts and processes" >&2; exit 1; }
for need in 'python3 python3' 'ip iproute2' 'nginx nginx-light' 'nats-server nats-server' 'setpriv util-linux'; do
  # shellcheck disable=SC2086
  need $need || exit
done
# Debian has the programs of PostgreSQL outside of the path.
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null ||
  need pg_createcluster postgresql || exit
venv 1 && venv 2 || exit
[ -n "${WHARF_TEST_BIN:-}" ] || cargo build --locked --package wharf-mcp || exit
[ -f "${WHARF_TEST_COMPONENTS:-target/guests/components}/everything.wasm" ] || plugins/build.sh || exit

begin target/nodes-logs
folder=$(mktemp -d) running=
# Ends what runs, and removes what it has left.
clean_up() {
  [ -z "$running" ] || kill "$running" 2>/dev/null
  # With it end the first process in the namespaces, and with that all others there.
  [ ! -f "$folder/pid" ] || kill -KILL "$(cat "$folder/pid")" 2>/dev/null
  until rm -rf "$folder" 2>/dev/null; do sleep 0.1; done
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
# PostgreSQL has a user of its own.
chmod 755 "$folder"

# nodes ENGINE FAULTS
nodes() {
  local code
  mkdir "$folder/$1"
  chmod 755 "$folder/$1"
  "${isolated[@]}" python3 tests/nodes/run.py "$1" "$2" "$seed" "$(realpath "${WHARF_TEST_BIN:-target/debug/wharf}")" "$folder/$1" &
  echo $! >"$folder/pid"
  wait $!
  code=$?
  rm -f "$folder/pid"
  for log in "$folder/$1"/*/log "$folder/$1"/*.log; do
    [ ! -f "$log" ] || cp "$log" "$logs/$1-$(echo "${log#"$folder/$1/"}" | tr / -)"
  done
  return "$code"
}

all() {
  local engine
  for engine in "${engines[@]}"; do
    step "$engine" nodes "$engine" $(((faults + ${#engines[@]} - 1) / ${#engines[@]}))
  done
  conclude
}
# In the background, so that a signal is not kept waiting until it has ended.
all &
running=$!
wait "$running"
code=$?
running=
exit "$code"
