#!/usr/bin/env bash
# Runs tests/run.sh, and then what takes long: some four hours on two cores. It is run before an
# issue is resolved that touches any of it.
#
#   tests/nightly.sh                       everything
#   tests/nightly.sh soak fuzz=60          some of it, and the second for a minute
#
# Its pieces, and what each is told how much to do:
#
#   run            tests/run.sh
#   targets        the host is compiled for every system that it is meant for, and called under wine
#   fuzz           each target for so many seconds, as many at once as there are cores (600: an
#                  hour in all), by a seed of the day
#   replacements   files replaced in every way, so often (3000)
#   soak           a host at work for so many seconds (1800)
#   clients        the official clients, six at a time, again and again for so many seconds (900)
#
# The logs are in target/nightly-logs; the last line adds them up, and the exit code says whether
# all passed.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

# crowd SECONDS: both Python clients and the one for Node, two of each at the same time.
crowd() {
  local until=$((SECONDS + $1)) pids=() failed=0 pid
  venv 1 && venv 2 && node_packages && cargo test --locked --no-run --package wharf --test it || return
  for client in 'python_client 1' 'python_client 2' node_client; do
    for _ in 1 2; do
      again "$until" $client &
      pids+=($!)
    done
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  return "$failed"
}

# again UNTIL COMMAND…: until then, at least once, or until it fails.
again() {
  local until=$1
  shift
  while "$@" || return; [ "$SECONDS" -lt "$until" ]; do :; done
}

# Its steps have logs of their own, in target/test-logs.
everything() { tests/run.sh 2>&1 | sed -n '/^== summary$/,$p'; }

replacements() {
  WHARF_TEST_REPLACEMENTS=$1 cargo test --locked --test it -- reload::replaced
}

begin target/nightly-logs
pieces=("$@")
if ((${#pieces[@]} == 0)); then
  pieces=(run targets fuzz replacements soak clients)
fi
# A typing error is found before hours have gone by.
for piece in "${pieces[@]}"; do
  [[ $piece =~ ^(run|targets|(fuzz|replacements|soak|clients)(=[0-9]+)?)$ ]] || {
    echo "there is no piece '$piece'; there are: run targets fuzz replacements soak clients" >&2
    exit 2
  }
done
# What the pieces call plugins of.
case " ${pieces[*]}" in
  *' run'*) ;;
  *' replacements'* | *' soak'* | *' clients'*) step guests plugins/build.sh ;;
esac
for piece in "${pieces[@]}"; do
  amount=${piece#*=}
  case $piece in
    run) step run everything ;;
    targets) step targets bash tests/targets.sh --run ;;
    fuzz) step fuzz cargo test --locked --test fuzz -- --seconds 600 --seed "$(date +%Y%m%d)" ;;
    fuzz=*) step fuzz cargo test --locked --test fuzz -- --seconds "$amount" --seed "$(date +%Y%m%d)" ;;
    replacements) step replacements replacements 3000 ;;
    replacements=*) step replacements replacements "$amount" ;;
    soak) step soak cargo test --locked --test soak ;;
    soak=*) step soak cargo test --locked --test soak -- --seconds "$amount" ;;
    clients) step clients crowd 900 ;;
    clients=*) step clients crowd "$amount" ;;
  esac
done
conclude
