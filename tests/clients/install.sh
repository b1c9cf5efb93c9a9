#!/usr/bin/env bash
# Installs the official packages for Node, and a suitable Node, into target/clients/node, unless they
# are already installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

dir=target/clients/node
mkdir -p "$dir"
cp tests/clients/*.mjs tests/clients/package.json "$dir/"
cmp -s tests/clients/package.json "$dir/installed.json" && exit
npm install --prefix "$dir" --no-audit --no-fund --no-package-lock --loglevel=error
cp tests/clients/package.json "$dir/installed.json"
