#!/usr/bin/env bash
# Runs all tests that a change can break, from a fresh clone: builds the guests, runs the Rust tests
# and the hostile suite, fuzzes each target for half a minute, loads components of random worlds, counts the
# instructions of a call, makes and installs packages, publishes to a registry, shares tasks in databases, builds and
# calls plugins in every language, tests the binary with the official clients, shows a page in a browser, uses the live
# page there, validates its messages with the official schemas, and runs the official conformance suite. The last line
# is the total; the exit code is 0 if all passed.
#
# On two cores it takes at most 25 minutes with compiled dependencies, and 45 without. If it takes
# longer, `target/test-logs/results` has the seconds of each step. Long tests are in
# tests/nightly.sh.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh
begin target/test-logs
rm -rf target/tmp/wire-log

# Downloads, while other steps compile. A step reports what it lacks.
fetch() {
  need valgrind valgrind
  need docker-registry docker-registry && need skopeo skopeo
  need pg_createcluster postgresql
  need nats-server nats-server
  need faketime faketime
  need strace strace
  need chromium chromium
  need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64
  # Builds the standard library for Windows; with rustup the guests do not need it.
  need /usr/bin/cargo rustc-web cargo-web rust-web-src
  venv 1
  venv 2
  node_packages
  tests/languages.sh --prepare
}

# Compiles everything for the parallel steps below, which would block each other.
build() {
  cargo test --locked --no-run &&
    cargo test --locked --no-run --package wharf-mcp --test components --test fuzz --test instructions --test languages --test stores &&
    cargo test --locked --no-run --manifest-path plugin-sdk/Cargo.toml
}

instructions() { need valgrind valgrind && cargo test --locked --test instructions; }
types() { venv 2 && target/clients/python-2/bin/python tests/clients/validate.py target/tmp/wire-log; }
# The official schemas are part of the package of the conformance suite.
schemas() { node_packages && node target/clients/node/schema.mjs target/tmp/wire-log; }
python() { venv "$1" && python_client "$1"; }
typescript() { node_packages && node_client; }
page() { need chromium chromium && node_packages && page_client; }
apps() { need chromium chromium && node_packages && apps_client; }
# The logs of its steps are in target/dist/logs.
packages() {
  bash dist/test.sh --quick >"$logs/all-packages.log" 2>&1 || { cat "$logs/all-packages.log"; return 1; }
  sed -n '/^== summary$/,$p' "$logs/all-packages.log"
}
conformance() { need node nodejs && need npm npm && tests/conformance.sh; }

# Two lanes of some seven minutes, each on one core most of the time.
numbers() {
  # The seed is fixed, so that a failure is caused by a change.
  step fuzz cargo test --locked --test fuzz -- --seconds 30 --jobs 1 --seed 2
  step components tests/components.sh
  step instructions instructions
  step sdk cargo test --locked --manifest-path plugin-sdk/Cargo.toml
  step server-only cargo check --locked -p wharf-mcp --no-default-features
  step windows tests/targets.sh x86_64-pc-windows-gnu
  step packages packages
  step registry tests/registry.sh
  step store tests/store.sh
  if command -v cargo-deny >/dev/null; then
    step deny cargo deny --manifest-path host/Cargo.toml check bans licenses sources
  fi
}
clients() {
  step languages tests/languages.sh
  step python-1 python 1
  step python-2 python 2
  step typescript typescript
  step apps apps
  step page page
  step oauth bash tests/oauth.sh --clients
  step conformance conformance
}

need cargo cargo || exit 1
step guests plugins/build.sh
fetch >"$logs/fetch.log" 2>&1 &
step build build
wait
# Nothing else runs meanwhile, since some of these tests measure latency.
step host cargo test --locked
# cargo may replace its binary whenever it runs in one lane, so the other lane has a copy.
mkdir -p target/test-bin
cp target/debug/wharf target/test-bin/ && export WHARF_TEST_BIN=$PWD/target/test-bin/wharf
lane numbers
lane clients
wait
# Validates the recorded messages of all steps.
step types types
step schemas schemas
conclude
