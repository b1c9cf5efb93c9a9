#!/usr/bin/env bash
# Publishes to Debian's registry, and gets from it, with wharf and with other programs (skopeo, oras), in both directions;
# the signature is checked by openssl. The last line is the count.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh

need python3 python3 && need openssl openssl && need docker-registry docker-registry && need skopeo skopeo || exit
virtual_environment target/clients/oras tests/registry/requirements.txt || exit
[ -n "${WHARF_TEST_BIN:-}" ] || cargo build --locked --quiet || exit
WHARF_TEST_BIN=${WHARF_TEST_BIN:-$PWD/target/debug/wharf} exec target/clients/oras/bin/python tests/registry/check.py
