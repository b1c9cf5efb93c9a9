#!/usr/bin/env bash
# Runs tests/run.sh and the long tests: some six hours on two cores. Run it before resolving an
# issue that touches any of them.
#
#   tests/nightly.sh                       everything
#   tests/nightly.sh soak fuzz=60          two pieces, the second for a minute
#
# The pieces, with the default of their amount:
#
#   run            tests/run.sh
#   targets        checks that the host compiles for all supported systems
#   packages       dist/test.sh: programs of a release and all packages of them, also those for ARM and Windows
#   oauth          tests/oauth.sh: requirements of access tokens, with the official clients
#   team           docs/team.md with systemd, nginx and Caddy
#   monitoring     metrics, alerts and dashboard with Prometheus
#   nodes          faults of three nodes behind nginx, half of them with each store (200)
#   fuzz           seconds per target, one job per core (600: an hour in all), with a seed of the day
#   components     of random worlds, each loaded and its tools called (100000), with a seed of the day
#   replacements   replacements of a file in each way (3000)
#   soak           seconds under load (1800)
#   clients        seconds with six official clients at a time, repeatedly (900)
#   agents         tests/agents.sh: agent libraries, which take 4 GB in target/agents
#
# The logs are in target/nightly-logs; the last line is the total, and the exit code is 0 if all
# passed.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

# crowd SECONDS: both Python clients and the Node client, two of each concurrently.
crowd() {
  local until=$((SECONDS + $1)) pids=() failed=0 pid
  venv 1 && venv 2 && node_packages && cargo test --locked --no-run --package wharf-mcp --test it || return
  for client in 'python_client 1' 'python_client 2' node_client; do
    for _ in 1 2; do
      again "$until" $client &
      pids+=($!)
    done
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  return "$failed"
}

# again UNTIL COMMAND…: repeats a command until that time, at least once, or until it fails.
again() {
  local until=$1
  shift
  while "$@" || return; [ "$SECONDS" -lt "$until" ]; do :; done
}

# The logs of its steps are in target/dist/logs.
packages() {
  bash dist/test.sh >target/nightly-logs/all-packages.log 2>&1
  local code=$?
  sed -n '/^== summary$/,$p' target/nightly-logs/all-packages.log
  return "$code"
}

# The logs of its steps are in target/test-logs.
everything() { tests/run.sh 2>&1 | sed -n '/^== summary$/,$p'; }

# The logs of nodes, stores and the balancer are in target/nodes-logs.
nodes() { bash tests/nodes.sh --faults "$1" 2>&1 | sed -n -e '/ WRONG /p' -e '/^== .*, seed /,/^[0-9]* of /p' -e '/^== summary$/,$p'; }

# tests/targets.sh, with what it needs.
targets() {
  need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64
  need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
  need /usr/bin/cargo rustc-web cargo-web rust-web-src
  virtual_environment target/dist/tools/zig dist/requirements/zig.txt
  PATH=$PWD/target/dist/tools/zig/bin:$PATH bash tests/targets.sh
}

replacements() {
  WHARF_TEST_REPLACEMENTS=$1 cargo test --locked --test it -- reload::replaced
}

begin target/nightly-logs
pieces=("$@")
if ((${#pieces[@]} == 0)); then
  pieces=(run targets packages oauth team monitoring nodes fuzz components replacements soak clients agents)
fi
# Arguments are checked before the first step, which may take hours.
for piece in "${pieces[@]}"; do
  [[ $piece =~ ^(run|targets|packages|oauth|team|monitoring|agents|(nodes|fuzz|components|replacements|soak|clients)(=[0-9]+)?)$ ]] || {
    echo "unknown piece '$piece'; known: run targets packages oauth team monitoring nodes fuzz components replacements soak clients agents" >&2
    exit 2
  }
done
# The guests that the pieces need; `run` builds them itself.
case " ${pieces[*]}" in
  *' run'*) ;;
  *' nodes'* | *' replacements'* | *' soak'* | *' clients'*) step guests plugins/build.sh ;;
esac
for piece in "${pieces[@]}"; do
  amount=${piece#*=}
  case $piece in
    run) step run everything ;;
    targets) step targets targets ;;
    packages) step packages packages ;;
    oauth) step oauth bash tests/oauth.sh ;;
    team) step team bash tests/team.sh ;;
    monitoring) step monitoring bash tests/monitoring.sh ;;
    nodes) step nodes nodes 200 ;;
    nodes=*) step nodes nodes "$amount" ;;
    fuzz) step fuzz cargo test --locked --test fuzz -- --seconds 600 --seed "$(date +%Y%m%d)" ;;
    fuzz=*) step fuzz cargo test --locked --test fuzz -- --seconds "$amount" --seed "$(date +%Y%m%d)" ;;
    components) step components tests/components.sh --count 100000 --seed "$(date +%Y%m%d)" ;;
    components=*) step components tests/components.sh --count "$amount" --seed "$(date +%Y%m%d)" ;;
    replacements) step replacements replacements 3000 ;;
    replacements=*) step replacements replacements "$amount" ;;
    soak) step soak cargo test --locked --test soak ;;
    soak=*) step soak cargo test --locked --test soak -- --seconds "$amount" ;;
    clients) step clients crowd 900 ;;
    clients=*) step clients crowd "$amount" ;;
    agents) step agents bash tests/agents.sh ;;
  esac
done
conclude
