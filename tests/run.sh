#!/usr/bin/env bash
# Runs every test there is, from a fresh clone: builds the guests, runs the Rust tests and the
# hostile suite, fuzzes each target for a minute (three at once), counts the instructions of a
# call, builds and calls plugins in every language, checks that the host compiles for Windows,
# drives the binary with the official clients, holds what it said against the official schemas, and
# runs the official conformance suite.
# The last line adds them up; the exit code says whether all passed.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The steps below find what was built where it is by default.
unset CARGO_TARGET_DIR
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}" PIP_DISABLE_PIP_VERSION_CHECK=1

logs=target/test-logs
rm -rf "$logs" target/tmp/wire-log
mkdir -p "$logs"
passed=0 failed=0 summary=

# step NAME COMMAND…: runs it and adds up what it counted. A step that fails without
# saying of what counts as one failure.
step() {
  local name=$1 log="$logs/$1.log" started=$SECONDS code p f
  shift
  echo "== $name"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  read -r p f < <(count "$log")
  if [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  passed=$((passed + p)) failed=$((failed + f))
  summary+=$(printf '  %-12s %4d passed, %d failed, %d s' "$name" "$p" "$f" $((SECONDS - started)))$'\n'
  return "$code"
}

# Cargo's own result lines, and the line `tests: N passed, N failed` of the other runners.
count() {
  sed -nE \
    -e 's/^test result: [^0-9]*([0-9]+) passed; ([0-9]+) failed.*/\1 \2/p' \
    -e 's/^tests: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$1" |
    awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }'
}

# need COMMAND PACKAGE…: installs Debian packages where the command is missing and that is possible.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
  fi
  command -v "$command" >/dev/null || {
    echo "the tests need $command, which is not installed"
    return 1
  }
}

# venv NUMBER: the official Python client of that major version, in an environment of its own.
venv() {
  local dir=target/clients/python-$1 wanted=tests/clients/requirements-$1.txt
  cmp -s "$wanted" "$dir/installed.txt" && return
  rm -rf "$dir"
  mkdir -p target/clients
  if ! python3 -m venv "$dir" 2>/dev/null; then
    rm -rf "$dir"
    need virtualenv python3-virtualenv && virtualenv -q -p python3 "$dir" || return
  fi
  "$dir/bin/pip" install --quiet --requirement "$wanted" && cp "$wanted" "$dir/installed.txt"
}

# The official schemas come inside the conformance suite's package.
schemas() { tests/clients/install.sh && node target/clients/node/schema.mjs target/tmp/wire-log; }

client() { venv "$1" && "target/clients/python-$1/bin/python" tests/clients/check.py target/debug/wharf; }
typescript() { tests/clients/install.sh && target/clients/node/node_modules/.bin/node target/clients/node/check.mjs target/debug/wharf; }
types() { venv 2 && target/clients/python-2/bin/python tests/clients/validate.py target/tmp/wire-log; }

need cargo cargo || exit 1
step guests plugins/build.sh
step host cargo test --locked
step server-only cargo check --locked -p wharf --no-default-features
# The step before has fuzzed for some seconds with the first seed.
step fuzz cargo test --locked --test fuzz -- --seconds 60 --jobs 3 --seed 2
if need valgrind valgrind; then
  step instructions cargo test --locked --test instructions
else
  failed=$((failed + 1))
fi
if command -v cargo-deny >/dev/null; then
  step deny cargo deny --manifest-path host/Cargo.toml check bans licenses sources
fi
if [ -f plugin-sdk/Cargo.toml ]; then
  step sdk cargo test --locked --manifest-path plugin-sdk/Cargo.toml
fi
step languages tests/languages.sh
step windows tests/targets.sh x86_64-pc-windows-gnu
if need python3 python3 python3-venv; then
  step python-1 client 1
  step python-2 client 2
  step types types
else
  failed=$((failed + 1))
fi
if need node nodejs && need npm npm; then
  step typescript typescript
  step schemas schemas
  step conformance tests/conformance.sh
else
  failed=$((failed + 1))
fi

echo "== summary"
printf '%s' "$summary"
echo "tests: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
