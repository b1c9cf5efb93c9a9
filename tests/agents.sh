#!/usr/bin/env bash
# Checks that agent libraries take Wharf's tools: each starts a server over stdio of the prebuilt
# plugins and a sample in each other language, converts all tools for the models that it supports, and
# makes the calls of tests/agents/calls.json, without a model. The last line is the count. The first run installs the libraries into
# target/agents, in some ten minutes; it takes 4 GB there. Later ones take a minute or two. What a
# library cannot do is printed as not checked. Samples that are missing are built by tests/languages.sh.
#
#   bash tests/agents.sh                          all libraries
#   bash tests/agents.sh dspy @openai/agents      some of them
#
# WHARF is the binary; without it, the debug binary is built.
set -uo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/steps.sh
folder=target/agents

# By the names of their packages. What they need is fixed too, so that only changes of Wharf matter;
# the first line of each file in tests/agents/requirements is the command that selects it.
python=(openai-agents google-genai langchain-mcp-adapters pydantic-ai-slim strands-agents smolagents
  autogen-ext llama-index-tools-mcp semantic-kernel dspy crewai-tools)
node=(@openai/agents @langchain/mcp-adapters @ai-sdk/mcp @mastra/mcp @modelcontextprotocol/inspector)
all=("${python[@]}" "${node[@]}")

libraries=("$@")
if ((${#libraries[@]} == 0)); then libraries=("${all[@]}"); fi
for library in "${libraries[@]}"; do
  [[ " ${all[*]} " == *" $library "* ]] || { echo "unknown library '$library'; known: ${all[*]}" >&2; exit 2; }
done

# The packages of all libraries for Node, and a Node that is new enough for them.
node_libraries() {
  need node nodejs && need npm npm || return
  mkdir -p "$folder/node"
  cp tests/agents/*.mjs tests/agents/*.json "$folder/node/"
  cmp -s tests/agents/package-lock.json "$folder/node/installed.json" && return
  # With a link in the path, npm takes the folder for a package of that name.
  npm ci --prefix "$(realpath "$folder/node")" --no-audit --no-fund --loglevel=error &&
    cp tests/agents/package-lock.json "$folder/node/installed.json"
}

# check LIBRARY: installs and runs it, with a home of its own and nothing that reports to its makers.
check() {
  local name=${1#@} home code command
  name=${name//[-\/]/_}
  if [[ $1 == @* ]]; then
    node_libraries || return
    command=("$folder/node/node_modules/.bin/node" "$folder/node/with_$name.mjs")
  else
    virtual_environment "$folder/$1" "tests/agents/requirements/$1.txt" || return
    command=("$folder/$1/bin/python" "tests/agents/with_$name.py")
  fi
  home=$(mktemp -d)
  mkdir -p "$home/config/wharf" target/tmp/xdg-cache
  cp tests/agents/wharf.toml "$home/config/wharf/"
  HOME=$home XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data XDG_STATE_HOME=$home/state \
    XDG_CACHE_HOME=$PWD/target/tmp/xdg-cache PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 \
    LITELLM_LOCAL_MODEL_COST_MAP=True CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true \
    OPENAI_AGENTS_DISABLE_TRACING=1 timeout 300 "${command[@]}" "$wharf" "$plugins"
  code=$?
  rm -rf "$home"
  [ "$code" -ne 124 ] || echo "$1 has not ended within 300 s"
  return "$code"
}

wharf=${WHARF_TEST_BIN:-target/debug/wharf}
if [ -z "${WHARF_TEST_BIN:-}" ]; then cargo build --locked --package wharf-mcp || exit; fi
[ -x "$wharf" ] || { echo "no $wharf" >&2; exit 2; }
wharf=$(realpath "$wharf")

# In C, Go, Python and TypeScript; the prebuilt plugins are in Rust.
samples=(plugins/codec-c/dist/codec.wasm plugins/query-go/dist/query.wasm
  plugins/summary-python/dist/summary.wasm plugins/markdown-typescript/dist/markdown.wasm)
for sample in "${samples[@]}"; do
  [ -f "$sample" ] && continue
  tests/languages.sh c go python typescript || exit
  break
done
plugins=$PWD/$folder/plugins
rm -rf "$plugins"
mkdir -p "$plugins"
cp plugins/prebuilt/*.wasm "${samples[@]}" "$plugins" || exit
passed=0 failed=0
for library in "${libraries[@]}"; do
  log=$folder/${library//\//-}.log started=$SECONDS
  echo "-- $library"
  check "$library" >"$log" 2>&1
  code=$?
  good=$(grep -c "^$library [^ ]*: .*: ok$" "$log") bad=$(grep -c "^$library [^ ]*: .*: FAILED" "$log")
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ "$bad" -eq 0 ]; then
    grep "^$library " "$log"
  else
    cat "$log"
  fi
  echo "   $((SECONDS - started)) s"
  passed=$((passed + good)) failed=$((failed + bad))
done
echo "tests: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
