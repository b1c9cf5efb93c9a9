#!/usr/bin/env bash
# Checks that the host compiles for other systems.
#
#   bash tests/targets.sh             all of them; nothing is linked or run
#   bash tests/targets.sh TARGET…     some of: x86_64-pc-windows-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin
#
# Debian's toolchain builds the standard library for them, so no target has to be installed with
# rustup. Crates with C code need a compiler for each: mingw, gcc, and for Apple zig, which PyPI has
# as `ziglang`. If one is missing, the command that installs it is printed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$PWD/target/targets

# has COMMAND INSTALL: whether the command exists; else prints how to install it.
has() {
  command -v "$1" >/dev/null && return
  echo "$1 is missing; install it: $2"
  return 1
}

# A wrapper of zig as the C compiler for Apple that the crate `cc` calls: it translates the target's
# name and drops options that zig does not know. zig includes the headers.
apple() {
  local name
  ZIG=$(command -v zig) || ZIG="python3 -m ziglang"
  $ZIG version >/dev/null 2>&1 || {
    echo "zig is missing; install it: pip install ziglang"
    return 1
  }
  mkdir -p "$out/bin"
  cat >"$out/bin/apple-cc" <<EOF
#!/usr/bin/env bash
arguments=()
while [ \$# -gt 0 ]; do
  case \$1 in
    -arch | -isysroot | -target) shift ;;
    --target=* | -mmacosx-version-min=* | -gdwarf-*) ;;
    *) arguments+=("\$1") ;;
  esac
  shift
done
exec $ZIG cc -target aarch64-macos "\${arguments[@]}"
EOF
  printf '#!/usr/bin/env bash\nexec %s ar "$@"\n' "$ZIG" >"$out/bin/apple-ar"
  chmod +x "$out/bin/apple-cc" "$out/bin/apple-ar"
  export CC_aarch64_apple_darwin=$out/bin/apple-cc AR_aarch64_apple_darwin=$out/bin/apple-ar SDKROOT=/
}

apt="apt-get install --no-install-recommends -y"

check() {
  has /usr/bin/cargo "$apt cargo-web" && has /usr/bin/rustc "$apt rustc-web" || return
  [ -d /usr/lib/rustlib/src/rust/library ] || {
    echo "the source of the standard library is missing; install it: $apt rust-web-src"
    return 1
  }
  case $1 in
    x86_64-pc-windows-gnu) has x86_64-w64-mingw32-gcc "$apt gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64" ;;
    aarch64-unknown-linux-gnu) has aarch64-linux-gnu-gcc "$apt gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
    aarch64-apple-darwin) apple ;;
    *) echo "unknown target: $1" && return 1 ;;
  esac || return
  # Debian's cargo also builds the standard library.
  env -u RUSTUP_TOOLCHAIN -u CARGO RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
    /usr/bin/cargo check --locked --target-dir "$out" -Zbuild-std=std,panic_unwind --package wharf-mcp \
    --target "$1" --lib --bins
}

passed=0 failed=0
[ $# -gt 0 ] || set -- x86_64-pc-windows-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin
for target in "$@"; do
  echo "== $target"
  if check "$target"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "tests: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
