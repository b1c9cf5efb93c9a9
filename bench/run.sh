#!/usr/bin/env bash
# Measures Wharf and a native MCP server, and prints the tables.
#
#   bench/run.sh             everything, about half an hour
#   bench/run.sh --quick     a smoke test of less than a minute once built
#   bench/run.sh --others    calls, compared with servers on the Python and TypeScript SDKs
#   bench/run.sh --languages calls of plugins in Python, TypeScript, Go, C and C++, a table each
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

# The servers on the SDKs; the tests install their clients in the same way.
node=target/clients/node/node_modules/.bin/node python=target/clients/python-2
typescript_sdk=(--other "TypeScript SDK=$node target/clients/node/server.mjs")
python_sdk=(--other "Python SDK=$python/bin/python bench/others/server.py")
install_sdks() {
    tests/clients/install.sh >&2
    cp bench/others/server.mjs target/clients/node/server.mjs
    [[ -x $python/bin/python ]] || python3 -m venv "$python"
    "$python/bin/python" -m pip install --quiet --requirement tests/clients/requirements-2.txt
}

# measure ARGUMENT…
measure() {
    "$binaries/drive" --wharf "$binaries/wharf" --components "$components" "$@"
}

# built LANGUAGE: builds its plugin, and prints the component's path.
built() {
    local project=target/bench-languages/$1
    mkdir -p "$project"
    cp -R "bench/languages/." target/bench-languages
    local wharf tools=$PWD/target/languages/venv/bin
    wharf=$(realpath -- "$binaries/wharf")
    (cd "$project" && PATH=$tools:$PATH "$wharf" build --install >&2)
    printf '%s\n' "$project/dist/echo.wasm"
}

case ${1:-} in
    --others)
        install_sdks
        measure --native "$binaries/native" --only calls "${python_sdk[@]}" "${typescript_sdk[@]}" "${@:2}"
        ;;
    --languages)
        install_sdks
        tests/languages.sh --prepare python typescript go c cpp >&2
        for language in python typescript go c cpp; do
            component=$(built "$language")
            against=() calls=20000
            case $language in
                python) against=("${python_sdk[@]}") calls=1000 ;;
                typescript) against=("${typescript_sdk[@]}") ;;
                *) against=(--native "$binaries/native") ;;
            esac
            printf '\n### %s\n\n' "$language"
            measure --only calls --echo "$component" --calls "$calls" "${against[@]}" "${@:2}"
        done
        ;;
    *) measure --native "$binaries/native" "$@" ;;
esac
