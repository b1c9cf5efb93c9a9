#!/usr/bin/env bash
# Checks the packages: each is made twice and compared, validated, installed into a clean folder or
# system, started, and called. The last line is the count.
#
#   dist/test.sh --quick           of the debug build, what can be tried in minutes: npm, a wheel, the
#                                  bundle, server.json, the workflows, the versions
#   dist/test.sh [TARGET…]         compiles for these targets, by default those that Linux on x86-64 can compile
#                                  for, and checks every kind of package of them; compiles the first one twice.
#                                  Needs root, and on two cores some 20 minutes for each target. Programs for ARM
#                                  are started by qemu, those for Windows by wine
#
# What is missing is printed, with the command that installs it.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh
source dist/tools.sh

need python3 python3 && need node nodejs && need npm npm || exit
begin target/dist/logs

# The debug build in place of all three programs of a release. Not built again: other tests may be using it.
debug_programs() {
  [ -f target/debug/wharf ] && [ -f target/debug/wharf-mcp ] || cargo build --locked || return
  mkdir -p target/dist/bin/debug
  local program
  for program in wharf wharf-mcp; do strip -o "target/dist/bin/debug/$program" "target/debug/$program" || return; done
  cp target/dist/bin/debug/wharf target/dist/bin/debug/wharf-server
}

# What checks packages, and starts them.
referees() {
  need mandoc mandoc && need lintian lintian && need rpm rpm && need rpmlint rpmlint && need curl curl && need sudo sudo &&
    need systemd-analyze systemd && need skopeo skopeo && need umoci umoci &&
    need runc runc && need ruby ruby && need nix-instantiate nix-bin && need kubectl kubernetes-client
}

if [ "${1:-}" = --quick ]; then
  step programs debug_programs
  step versions bash dist/version.sh --check
  for kind in npm wheel mcpb registry workflows; do
    step "$kind" python3 "dist/tests/$kind.py" --bin target/dist/bin/debug
  done
else
  step referees referees
  [ $# -gt 0 ] || set -- x86_64-unknown-linux-{gnu,musl} aarch64-unknown-linux-{gnu,musl} x86_64-pc-windows-gnu
  step guests bash plugins/build.sh echo echo-v1 echo-v2 hostile
  for target in "$@"; do
    step "compile-$target" bash dist/compile.sh "$target" || continue
    kinds=(program archive npm wheel mcpb sbom)
    case $target in
      *-linux-gnu) kinds+=(deb rpm) ;;
      *-linux-musl) kinds+=(image kubernetes) ;;
      # Those for Linux print the completions of all packages.
      *) compgen -G 'target/dist/bin/*/wharf' >/dev/null || step programs debug_programs || continue ;;
    esac
    step "emulate-$target" emulate "$target" || continue
    for kind in "${kinds[@]}"; do
      step "$kind-$target" python3 "dist/tests/$kind.py" --target "$target"
    done
  done
  step reproducible python3 dist/tests/reproducible.py --target "$1"
  step release python3 dist/tests/release.py
  step crates python3 dist/crates.py
fi
conclude
