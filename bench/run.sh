#!/usr/bin/env bash
# Measures Wharf beside a native MCP server and prints the table.
#
#   bench/run.sh             everything, about half an hour
#   bench/run.sh --quick     less than a minute once built: to see that it works
#   bench/run.sh --others    calls beside servers on the Python and TypeScript SDKs
#   bench/run.sh --help      more options
#
# WHARF_COMPONENTS names the folder of the guests' components; without it they are built with
# plugins/build.sh. WHARF_BENCH_PROFILE is the cargo profile, release
# if not given.
set -euo pipefail

[[ ! ${WHARF_COMPONENTS:-} ]] || WHARF_COMPONENTS=$(realpath -- "$WHARF_COMPONENTS")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${WHARF_BENCH_PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
binaries=$target/$profile
[[ $profile != dev ]] || binaries=$target/debug

# One after the other: built together they would share the features of their dependencies,
# and the baseline would pay for serde_json as the host needs it.
cargo build --locked --profile "$profile" --package wharf --bin wharf
cargo build --locked --profile "$profile" --package bench

components=${WHARF_COMPONENTS:-target/guests/components}
if [[ ! ${WHARF_COMPONENTS:-} ]]; then
    missing=()
    for guest in echo echo-v1 echo-v2 folders hostile notes online; do
        [[ -f $components/$guest.wasm ]] || missing+=("$guest")
    done
    ((${#missing[@]} == 0)) || plugins/build.sh "${missing[@]}" >&2
fi

# Everything that is written while measuring is in here, also when the run is broken off.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

if [[ ${1:-} == --others ]]; then
    shift
    # As the tests install their clients.
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
