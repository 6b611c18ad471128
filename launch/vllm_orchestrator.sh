#!/usr/bin/env bash
# One model behind an OpenAI-compatible address, with the parser of tool calls that the workbench needs.
#
#   launch/vllm_orchestrator.sh                                   # Nemotron-Orchestrator-8B on 127.0.0.1:8000
#   MODEL=Qwen/Qwen3-8B TENSOR=2 DATA=4 launch/vllm_orchestrator.sh --gpu-memory-utilization 0.85
#
# TENSOR GPUs hold one copy, DATA copies answer side by side behind the one address. Another HOST than loopback needs a
# key in VLLM_API_KEY, which vLLM reads from the environment: it stands in no command line and in no log. VLLM_PYTHON is
# the Python of the environment that vLLM is in. DRY_RUN=1 prints the command. Further arguments are vLLM's own.
set -euo pipefail

MODEL="${MODEL:-nvidia/Nemotron-Orchestrator-8B}" NAME="${NAME:-${MODEL}}"
HOST="${HOST:-127.0.0.1}" PORT="${PORT:-8000}"
TENSOR="${TENSOR:-1}" DATA="${DATA:-1}" CONTEXT="${CONTEXT:-40960}" PARSER="${PARSER:-hermes}"
PYTHON="${VLLM_PYTHON:-python}"

case "$HOST" in
  127.* | localhost | ::1) ;;
  *) [ -n "${VLLM_API_KEY:-}" ] || { echo "HOST=$HOST lets others in: put a key into VLLM_API_KEY, or use 127.0.0.1" >&2; exit 2; } ;;
esac

# The module and not the command `vllm`: it also serves where vLLM is a build for CPUs.
COMMAND=("$PYTHON" -m vllm.entrypoints.openai.api_server --model "$MODEL" --served-model-name "$NAME"
  --host "$HOST" --port "$PORT" --tensor-parallel-size "$TENSOR" --data-parallel-size "$DATA"
  --max-model-len "$CONTEXT" --enable-auto-tool-choice --tool-call-parser "$PARSER" "$@")

if [ -n "${DRY_RUN:-}" ]; then
  printf '%q ' "${COMMAND[@]}"
  echo
  exit 0
fi
export VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
exec "${COMMAND[@]}"
