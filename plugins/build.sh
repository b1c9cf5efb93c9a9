#!/usr/bin/env bash
# Builds plugins written in Rust into target/guests/components/<name>.wasm.
#
#   plugins/build.sh                 builds all of them
#   plugins/build.sh text echo       builds those named
#   plugins/build.sh --prebuilt      builds the samples, copies them to plugins/prebuilt/, and embeds their
#                                    listings with the server, which it builds if necessary
#
# With rustup this runs only `cargo build --target wasm32-wasip2`. If rustup cannot fetch that
# target, Debian's toolchain builds the standard library for it.
# WHARF_GUEST_TOOLCHAIN=rustup|debian selects one of them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=$root/target/guests
components=$target/components
triple=wasm32-wasip2

samples=(text time math notes survey)
others=(act async-command command concurrent files hello fetch chart echo echo-v1 echo-v2 everything folders hostile online pages plain rmcp-server served served-async wasmcp)
# Programs of others, as they are on crates.io.
programs=(jsonxf pulldown-cmark)
debian_packages=(rustc-web cargo-web rust-web-src rust-web-llvm lld-22 wasi-libc)

say() { printf '%s\n' "$*" >&2; }
fail() { say "failed to $*"; exit 1; }

# The cargo package of a component.
package_of() {
    case $1 in
        text | time | math | notes | survey | fetch | files | hello | chart) echo "$1-rust" ;;
        echo | echo-v1 | echo-v2) echo echo-guest ;;
        rmcp-server) echo rmcp-guest ;;
        served-async) echo served-guest ;;
        act | async-command | command | concurrent | everything | folders | hostile | online | pages | plain | served | wasmcp) echo "$1-guest" ;;
        *) fail "find the plugin $1; the plugins are: ${samples[*]} ${others[*]} ${programs[*]}" ;;
    esac
}

# The version of a program; empty for other components.
version_of() {
    case $1 in
        jsonxf) echo 1.1.1 ;;
        pulldown-cmark) echo 0.13.0 ;;
    esac
}

# The name of the file that cargo writes.
artifact_of() {
    case $1 in
        echo-v1 | echo-v2) echo echo ;;
        rmcp-server) echo rmcp_server ;;
        served-async) echo served ;;
        async-command) echo async_command ;;
        *) echo "$1" ;;
    esac
}

# What cargo is told besides.
options_of() {
    case $1 in
        served-async) echo --features=async ;;
    esac
}

have_rustup_target() {
    command -v rustup >/dev/null || return 1
    rustup target list --installed 2>/dev/null | grep -qx "$triple" && return 0
    # No retries: the network may be missing.
    RUSTUP_MAX_RETRIES=0 timeout 120 rustup target add "$triple" >/dev/null 2>&1
}

use_rustup() {
    cargo=(cargo)
    flags=()
    rust_flags=()
}

use_debian() {
    local missing=()
    for package in "${debian_packages[@]}"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    if ((${#missing[@]})); then
        if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
            fail "find a toolchain for $triple: run \`rustup target add $triple\`, or install ${missing[*]}"
        fi
        say "installing ${missing[*]}"
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null ||
            fail "install ${missing[*]}"
    fi
    # rustc looks for the linker by this name.
    mkdir -p "$target/bin"
    ln -sf /usr/bin/wasm-ld-22 "$target/bin/wasm-ld"
    export PATH=$target/bin:$PATH
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    rust_flags=(-L /usr/lib/wasm32-wasi)
    # Set by rustup's cargo if it runs this script.
    unset RUSTUP_TOOLCHAIN CARGO
    cargo=(/usr/bin/cargo)
    flags=(-Zbuild-std=std,panic_abort)
}

build_program() {
    local name=$1
    "${cargo[@]}" install --quiet --locked --target "$triple" --target-dir "$target" --root "$target/programs" \
        "$name@$(version_of "$name")" ${flags[@]+"${flags[@]}"}
    put "$name" "$target/programs/bin/$name.wasm"
}

# Renamed into place, since a server may be watching the folder.
put() {
    cp "$2" "$components/.$1.wasm"
    mv "$components/.$1.wasm" "$components/$1.wasm"
    printf '%s\n' "$components/$1.wasm"
}

build() {
    local name=$1 package artifact
    if [[ $(version_of "$name") ]]; then
        build_program "$name"
        return
    fi
    package=$(package_of "$name")
    artifact=$(artifact_of "$name")
    local version=
    [[ $name =~ ^echo-v([0-9]+)$ ]] && version=${BASH_REMATCH[1]}
    (
        cd "$root"
        if [[ $version ]]; then export WHARF_ECHO_VERSION=$version; else unset WHARF_ECHO_VERSION; fi
        "${cargo[@]}" build --quiet --locked --profile guest --target "$triple" --target-dir "$target" \
            --package "$package" $(options_of "$name") ${flags[@]+"${flags[@]}"}
    )
    put "$name" "$target/$triple/guest/$artifact.wasm"
}

prebuilt=
names=()
for argument in "$@"; do
    case $argument in
        --prebuilt) prebuilt=yes ;;
        -h | --help)
            sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
            exit
            ;;
        -*) fail "recognise the option $argument" ;;
        *)
            [[ $(version_of "$argument") ]] || package_of "$argument" >/dev/null
            names+=("$argument")
            ;;
    esac
done
if ((${#names[@]} == 0)); then
    names=("${samples[@]}")
    [[ $prebuilt ]] || names+=("${others[@]}" "${programs[@]}")
fi

case ${WHARF_GUEST_TOOLCHAIN:-} in
    rustup) use_rustup ;;
    debian) use_debian ;;
    '') if have_rustup_target; then use_rustup; else use_debian; fi ;;
    *) fail "find the toolchain $WHARF_GUEST_TOOLCHAIN; use rustup or debian" ;;
esac

# No path of the machine in the bytes, so that the same toolchain builds the same component anywhere.
rust_flags+=("--remap-path-prefix=$root=/wharf" "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo")
unset RUSTFLAGS
# Not RUSTFLAGS, which splits a path at its blanks.
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' "${rust_flags[@]}")
export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}

mkdir -p "$components"
for name in "${names[@]}"; do
    build "$name"
done

if [[ $prebuilt ]]; then
    mkdir -p "$root/plugins/prebuilt" "$target/prebuilt"
    built=()
    for name in "${samples[@]}"; do
        cp "$components/$name.wasm" "$target/prebuilt/"
        built+=("$target/prebuilt/$name.wasm")
    done
    # With the toolchain of the host, not of the guests.
    env -u RUSTC -u RUSTC_BOOTSTRAP -u CARGO_ENCODED_RUSTFLAGS cargo run --quiet --release --locked \
        --manifest-path "$root/host/Cargo.toml" -- embed "${built[@]}"
    cp "${built[@]}" "$root/plugins/prebuilt/"
    du -bc "$root"/plugins/prebuilt/*.wasm >&2
fi
