#!/usr/bin/env bash
# Uses the live page in Debian's Chromium: drops files, approves, calls, reads, answers; with hostile texts everywhere, two
# hundred plugins and a thousand calls a second; and looks for violations of accessibility. Screenshots are in target/page.
# It takes two minutes if the binary is compiled.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

need chromium chromium || exit
node_packages || exit
if [ -z "${WHARF_TEST_BIN:-}" ]; then cargo build --locked || exit; fi
page_client
