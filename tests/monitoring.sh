#!/usr/bin/env bash
# The metrics, the alerts and the dashboard with Debian's Prometheus: it scrapes a server as docs/operate.md says, every
# query of the dashboard has an answer, and each alert fires when it should. It takes half a minute; the last line is the
# count.
#
#   bash tests/monitoring.sh                                 with target/debug/wharf
#   WHARF_TEST_BIN=/path/to/wharf bash tests/monitoring.sh   with another binary
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

wharf=${WHARF_TEST_BIN:-target/debug/wharf}
[ -f "$wharf" ] || cargo build --locked --package wharf-mcp || exit
need python3 python3 && need promtool prometheus || exit
[ -f target/guests/components/echo.wasm ] || plugins/build.sh echo || exit

begin target/monitoring-logs
rules() { promtool check rules dist/monitoring/alerts.yml && echo "tests: 1 passed, 0 failed"; }
alerts() { promtool test rules tests/monitoring/alerts.yml && echo "tests: 1 passed, 0 failed"; }
step rules rules
step alerts alerts
step scrape python3 tests/monitoring/check.py "$wharf"
conclude
