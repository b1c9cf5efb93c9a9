#!/usr/bin/env bash
# Shows requirement by requirement (tests/oauth/rows.txt) what a server does with access tokens: runs the tests of OAuth
# and of rights, fuzzes tokens for a quarter of a minute, and has the official clients sign in at a certified
# authorization server. Prints a table, and at last how many requirements hold; the exit code is 1 unless all do. It
# takes four minutes if the tests are compiled.
#
#   tests/oauth.sh             all
#   tests/oauth.sh --clients   only what the clients prove, for tests/run.sh, which runs the other tests by itself
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

logs=target/oauth-logs
mkdir -p "$logs" && rm -f "$logs"/*.log

# run KIND COMMAND…: runs tests, whose results go to a log, which is shown if one fails. The counts are those of the table.
run() {
  local log=$logs/$1.log
  shift
  "$@" >"$log" 2>&1 || grep -vE '^(test result|tests): ' "$log"
}

kinds=(client)
if [ "${1:-}" != --clients ]; then
  kinds=(it lib fuzz client)
  [ -f target/guests/components/everything.wasm ] || plugins/build.sh || exit
  run it cargo test --locked --package wharf-mcp --test it -- oauth:: rights::
  run lib cargo test --locked --package wharf-mcp --lib -- oauth:: rights:: http::request::
  run fuzz cargo test --locked --package wharf-mcp --test fuzz -- --seconds 15 --seed 2 token
fi
oauth_packages || exit
run client oauth_clients
python3 tests/oauth/table.py "$logs" "${kinds[@]}"
