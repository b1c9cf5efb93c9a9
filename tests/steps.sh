# Shared functions of the test runners: running, timing and counting steps. To be sourced in the root
# of the repository.

# The steps expect builds in the default target folder.
unset CARGO_TARGET_DIR
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}" PIP_DISABLE_PIP_VERSION_CHECK=1

# begin FOLDER: sets and empties the folder for logs.
begin() {
  logs=$1
  rm -rf "$logs"
  mkdir -p "$logs"
  : >"$logs/results"
}

# step NAME COMMAND…: runs it, and records its counts. A step that fails without a count is one
# failure. In a lane its output goes to its log, and is printed if it fails.
step() {
  local name=$1 log="$logs/$1.log" started=$SECONDS code passed failed
  shift
  echo "== $name"
  if [ -n "${lane:-}" ]; then
    "$@" >"$log" 2>&1
    code=$?
  else
    "$@" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
  fi
  read -r passed failed < <(count "$log")
  if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  printf '%s %d %d %d\n' "$name" "$passed" "$failed" $((SECONDS - started)) >>"$logs/results"
  if [ -n "${lane:-}" ] && [ "$code" -ne 0 ]; then
    echo "== $name failed:"
    cat "$log"
  fi
  return "$code"
}

# lane FUNCTION: runs its steps in sequence, in parallel with other lanes, until `wait`.
lane() { (lane=$1 && "$1") & }

# Adds up cargo's result lines, and the lines `tests: N passed, N failed` of other runners.
count() {
  sed -nE \
    -e 's/^test result: [^0-9]*([0-9]+) passed; ([0-9]+) failed.*/\1 \2/p' \
    -e 's/^tests: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$1" |
    awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }'
}

# conclude: prints the summary; fails if a step has failed.
conclude() {
  echo "== summary"
  awk -v took="$SECONDS" '
    { printf "  %-12s %4d passed, %d failed, %d s\n", $1, $2, $3, $4; p += $2; f += $3 }
    END { printf "  %d s in all\ntests: %d passed, %d failed\n", took, p, f; exit f > 0 }' "$logs/results"
}

# need COMMAND PACKAGE…: installs Debian packages if the command is missing, if possible.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
  fi
  command -v "$command" >/dev/null || {
    echo "the tests need $command, which is not installed"
    return 1
  }
}

# virtual_environment FOLDER FILE: a virtual environment with the Python packages of that file. Its programs have its
# path in them, so it is the resolved one: clones may share one target folder.
virtual_environment() {
  local dir wanted=$2 state
  dir=$(realpath -m "$1")
  state=$(echo "# $dir" && cat "$wanted") || return
  [ "$(cat "$dir/installed.txt" 2>/dev/null)" = "$state" ] && return
  need python3 python3 python3-venv || return
  rm -rf "$dir"
  mkdir -p "$(dirname "$dir")"
  if ! python3 -m venv "$dir" 2>/dev/null; then
    rm -rf "$dir"
    need virtualenv python3-virtualenv && virtualenv -q -p python3 "$dir" || return
  fi
  "$dir/bin/pip" install --quiet --requirement "$wanted" && echo "$state" >"$dir/installed.txt"
}

# venv NUMBER: the official Python client of that major version, in a virtual environment.
venv() { virtual_environment "target/clients/python-$1" "tests/clients/requirements-$1.txt"; }

# node_packages: the official packages for Node.
node_packages() { need node nodejs && need npm npm && tests/clients/install.sh; }

# The official clients with the debug binary, or WHARF_TEST_BIN: for Python, by major version, and for Node.
python_client() { "target/clients/python-$1/bin/python" tests/clients/check.py "${WHARF_TEST_BIN:-target/debug/wharf}"; }
node_client() { target/clients/node/node_modules/.bin/node target/clients/node/check.mjs "${WHARF_TEST_BIN:-target/debug/wharf}"; }

# A chat client of the official library shows a page in Chromium; screenshots are in target/apps.
apps_client() { target/clients/node/node_modules/.bin/node target/clients/node/apps.mjs "${WHARF_TEST_BIN:-target/debug/wharf}"; }

# The live page of the server in Chromium; screenshots are in target/page.
page_client() { target/clients/node/node_modules/.bin/node target/clients/node/page.mjs "${WHARF_TEST_BIN:-target/debug/wharf}"; }

# oauth_packages: what the clients that sign in need, and the official Rust client, which takes a minute to compile.
oauth_packages() {
  venv 1 && venv 2 && node_packages &&
    cargo build --quiet --locked --manifest-path tests/clients/rust/Cargo.toml --target-dir target/clients/rust
}

# The official clients sign in at a certified authorization server, and its tokens are used in all ways.
oauth_clients() {
  local binary=${WHARF_TEST_BIN:-target/debug/wharf} node=target/clients/node/node_modules/.bin/node failed=0 others=() n
  for n in 1 2; do others+=("python-$n=target/clients/python-$n/bin/python tests/clients/oauth.py"); done
  "$node" target/clients/node/issued.mjs "$binary" || failed=1
  "$node" target/clients/node/oauth.mjs "$binary" "${others[@]}" rust=target/clients/rust/debug/oauth-client || failed=1
  return "$failed"
}
