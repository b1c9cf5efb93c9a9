#!/usr/bin/env bash
# Compiles the commands for one target: the same commit, toolchain and options give the same bytes.
#
#   dist/compile.sh TARGET      writes target/dist/bin/TARGET/{wharf,wharf-server,wharf-mcp}
#   dist/compile.sh --targets   prints the targets
#
# `wharf` is the whole program, `wharf-server` the one without the commands for authors (the feature
# `dev`), and `wharf-mcp` starts the `wharf` beside it.
#
# For Linux, zig is the C compiler and linker: its libraries make programs that run on any
# distribution of the last years (glibc 2.28), or without any library (musl). For Windows it is mingw,
# or Microsoft's on Windows itself. macOS needs a Mac, for Apple's frameworks. The standard library is
# rustup's if it has the target; otherwise Debian's toolchain builds it. WHARF_DIST_PROFILE is the cargo
# profile, by default `dist`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh
source dist/tools.sh

targets=(
  x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu aarch64-unknown-linux-musl
  x86_64-pc-windows-gnu x86_64-pc-windows-msvc x86_64-apple-darwin aarch64-apple-darwin
)
glibc=2.28
profile=${WHARF_DIST_PROFILE:-dist}

target=${1:-}
if [ "$target" = --targets ]; then
  printf '%s\n' "${targets[@]}"
  exit
fi
[[ -n $target && " ${targets[*]} " == *" $target "* ]] || {
  echo "usage: dist/compile.sh TARGET, one of: ${targets[*]}" >&2
  exit 2
}

# No path of the machine in the bytes: neither in panics' places, nor in those of C code.
root=$PWD home=${CARGO_HOME:-$HOME/.cargo}
sysroot_source=/usr/lib/rustlib/src/rust
remap=("$root=/wharf" "$home=/cargo" "$sysroot_source=/rust")
flags=()
cflags=()
for pair in "${remap[@]}"; do
  flags+=("--remap-path-prefix=$pair")
  cflags+=("-ffile-prefix-map=$pair")
done
# Nor a time, which linkers for Windows write: if cargo links nothing again, that of the commit would be of an
# older one.
export SOURCE_DATE_EPOCH=0 CFLAGS="${cflags[*]}" CXXFLAGS="${cflags[*]}"
out=$root/target/dist/bin/$target
arguments=(--locked --profile "$profile" --package wharf-mcp)
# Each of the two builds has a folder: they differ in the features of their dependencies.
folder=$root/target/dist/build
built=$target

cargo=(cargo build)
case $target in
  *-linux-*)
    tool zig
    cargo=(cargo-zigbuild zigbuild)
    case $target in
      *-gnu) target=$target.$glibc ;;
      # zig has the start files and the library.
      *-musl) flags+=(-C link-self-contained=no -C target-feature=+crt-static) ;;
    esac
    ;;
  *-windows-gnu) need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64 ;;
  *-windows-msvc)
    [ "${OS:-}" = Windows_NT ] || {
      echo "$built needs Windows, for Microsoft's linker; elsewhere: x86_64-pc-windows-gnu" >&2
      exit 1
    }
    # It does not read SOURCE_DATE_EPOCH.
    flags+=(-C link-arg=/Brepro)
    ;;
  *-apple-*) [ "$(uname)" = Darwin ] || {
    echo "$built needs a Mac: Apple's frameworks are on no other system" >&2
    exit 1
  } ;;
esac
if ! has_std "$built"; then
  need /usr/bin/cargo rustc-web cargo-web rust-web-src
  export RUSTC=/usr/bin/rustc CARGO=/usr/bin/cargo RUSTC_BOOTSTRAP=1
  unset RUSTUP_TOOLCHAIN
  [ "${cargo[0]}" != cargo ] || cargo[0]=/usr/bin/cargo
  arguments+=(-Zbuild-std=std,panic_unwind)
fi
# Not RUSTFLAGS: one with a blank in a path is more than one.
export CARGO_ENCODED_RUSTFLAGS
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' "${flags[@]}")
CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}

exe=
[[ $built != *-windows-* ]] || exe=.exe
case $profile in dev) shown=debug ;; *) shown=$profile ;; esac
"${cargo[@]}" "${arguments[@]}" --target "$target" --target-dir "$folder" --bins
rm -rf "$out"
mkdir -p "$out"
install -m 755 "$folder/$built/$shown/wharf$exe" "$folder/$built/$shown/wharf-mcp$exe" "$out"
"${cargo[@]}" "${arguments[@]}" --target "$target" --target-dir "$folder" --bin wharf --no-default-features --features metrics,nats,page,postgres,telemetry
install -m 755 "$folder/$built/$shown/wharf$exe" "$out/wharf-server$exe"
(cd "$out" && sha256sum -- *)
