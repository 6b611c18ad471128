#!/usr/bin/env bash
# Several experts on the GPUs of one node, each behind a port of its own; all end when this ends.
#
#   launch/vllm_experts.sh Qwen/Qwen3-32B:2 Qwen/Qwen2.5-Coder-32B-Instruct:2 meta-llama/Llama-3.3-70B-Instruct:4:llama3_json
#
# MODEL:GPUS[:PARSER]; GPUs are dealt out in order, one copy of a model over its GPUs. What endpoints.toml of the home
# folder needs for them goes to stdout, so that `launch/vllm_experts.sh … > experts.toml` has it ready. HOST, CONTEXT,
# VLLM_API_KEY, VLLM_PYTHON and DRY_RUN are those of vllm_orchestrator.sh; PORT is the first port (8001), ADDRESS what
# others call this node by.
set -euo pipefail

[ $# -gt 0 ] || { echo "name experts as MODEL:GPUS[:PARSER]; see the head of $0" >&2; exit 2; }
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export HOST="${HOST:-127.0.0.1}" CONTEXT="${CONTEXT:-32768}"
PORT="${PORT:-8001}" ADDRESS="${ADDRESS:-$HOST}" FIRST=0 SERVERS=()
trap '[ ${#SERVERS[@]} -eq 0 ] || kill "${SERVERS[@]}" 2>/dev/null || true' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

for EXPERT in "$@"; do
  IFS=: read -r MODEL GPUS PARSER <<< "$EXPERT"
  [[ "${GPUS:-}" =~ ^[1-9][0-9]*$ ]] || { echo "$EXPERT: write MODEL:GPUS[:PARSER], for example Qwen/Qwen3-32B:2" >&2; exit 2; }
  SHORT="$(basename "$MODEL" | tr '[:upper:]' '[:lower:]')"
  case "$SHORT" in *math*) KIND=maths ;; *coder*) KIND=code ;; *) KIND=generalist ;; esac
  printf '[providers.%s]\ntitle = "vLLM with %s"\nbase_url = "http://%s:%s/v1"\nkey_env = "VLLM_API_KEY"\nlocal = true\n' \
    "${SHORT//[^a-z0-9_-]/-}" "$SHORT" "$ADDRESS" "$PORT"
  printf 'start = "start it with launch/vllm_experts.sh"\nsource = "launch/vllm_experts.sh"\n\n'
  printf '[endpoints."%s/%s"]\nmodel = "%s"\ntitle = "%s"\nfamily = "%s"\nkind = "%s"\ncontext = %s\ntool = true\n\n' \
    "${SHORT//[^a-z0-9_-]/-}" "$SHORT" "$MODEL" "$(basename "$MODEL")" "${SHORT%%[-.0-9]*}" "$KIND" "$CONTEXT"
  CUDA_VISIBLE_DEVICES="$(seq -s, "$FIRST" $((FIRST + GPUS - 1)))"
  export CUDA_VISIBLE_DEVICES
  # Its own words go to stderr: stdout is the file.
  MODEL="$MODEL" NAME="$MODEL" PORT="$PORT" TENSOR="$GPUS" DATA=1 PARSER="${PARSER:-hermes}" \
    "$HERE/vllm_orchestrator.sh" >&2 &
  SERVERS+=($!)
  FIRST=$((FIRST + GPUS)) PORT=$((PORT + 1))
done

# The first server that ends takes the others with it: a node with an expert missing is better seen than not.
CODE=0
for _ in "${SERVERS[@]}"; do
  wait -n || CODE=$?
  [ -n "${DRY_RUN:-}" ] || exit "$CODE"
done
exit "$CODE"
