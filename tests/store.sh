#!/usr/bin/env bash
# Stores that several nodes share, and such nodes: starts servers of PostgreSQL and NATS on free ports, in temporary folders, and
# kills them. It takes three minutes if the tests are compiled.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

# Debian has the programs of PostgreSQL outside of the path; the tests find them there.
command -v initdb >/dev/null || need pg_createcluster postgresql || exit
need nats-server nats-server || exit
need faketime faketime || exit
need strace strace || exit
[ -f target/guests/components/everything.wasm ] || plugins/build.sh || exit
exec cargo test --locked --package wharf-mcp --test stores -- --test-threads 2
