#!/usr/bin/env bash
# Tasks in a database that several nodes share: starts servers of PostgreSQL on free ports, in temporary folders, and kills
# them. It takes two minutes if the tests are compiled.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

# Debian has the programs of the server outside of the path; the tests find them there.
command -v initdb >/dev/null || need pg_createcluster postgresql || exit
[ -f target/guests/components/everything.wasm ] || plugins/build.sh || exit
exec cargo test --locked --package wharf-mcp --test it -- --ignored --test-threads 2 store:: tasks::nodes::
