#!/usr/bin/env bash
# Measures Wharf and a native MCP server, and prints the tables.
#
#   bench/run.sh             everything, about half an hour
#   bench/run.sh --quick     a smoke test of less than a minute once built
#   bench/run.sh --others    calls, compared with servers on the Python and TypeScript SDKs
#   bench/run.sh --help      more options
#
# WHARF_COMPONENTS names the folder of the guests' components; if it is not set they are built with
# plugins/build.sh. WHARF_BENCH_PROFILE is the cargo profile, by default release.
set -euo pipefail

[[ ! ${WHARF_COMPONENTS:-} ]] || WHARF_COMPONENTS=$(realpath -- "$WHARF_COMPONENTS")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${WHARF_BENCH_PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
binaries=$target/$profile
[[ $profile != dev ]] || binaries=$target/debug

# Separately: in one build they would share the features of their dependencies, and the baseline
# would use serde_json with the host's features.
cargo build --locked --profile "$profile" --package wharf-mcp --bin wharf
cargo build --locked --profile "$profile" --package bench

components=${WHARF_COMPONENTS:-target/guests/components}
if [[ ! ${WHARF_COMPONENTS:-} ]]; then
    missing=()
    for guest in echo echo-v1 echo-v2 folders hostile notes online; do
        [[ -f $components/$guest.wasm ]] || missing+=("$guest")
    done
    ((${#missing[@]} == 0)) || plugins/build.sh "${missing[@]}" >&2
fi

# Holds everything written while measuring, and is deleted even if the run is interrupted.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

if [[ ${1:-} == --others ]]; then
    shift
    # The tests install their clients in the same way.
    tests/clients/install.sh >&2
    node=target/clients/node/node_modules/.bin/node
    cp bench/others/server.mjs target/clients/node/server.mjs
    python=target/clients/python-2
    [[ -x $python/bin/python ]] || python3 -m venv "$python"
    "$python/bin/python" -m pip install --quiet --requirement tests/clients/requirements-2.txt
    set -- --only calls --other "Python SDK=$python/bin/python bench/others/server.py" \
        --other "TypeScript SDK=$node target/clients/node/server.mjs" "$@"
fi

"$binaries/drive" --wharf "$binaries/wharf" --native "$binaries/native" --components "$components" "$@"
