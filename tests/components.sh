#!/usr/bin/env bash
# Loads components of random worlds, and calls the tools of those that are served (tests/components/main.rs). The last
# line is the count.
#
#   tests/components.sh                             3,000, which takes half a minute
#   tests/components.sh --count 50000 --seed 7      as many as that, from another seed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec cargo test --locked --package wharf-mcp --test components -- "$@"
