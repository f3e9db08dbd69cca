#!/usr/bin/env bash
# Generated from profiles/k2.6-200k-fp8kv.toml; edit that and run `poolproof compile`
#
# What the unit runs, in the foreground, for a person to try. Stop the unit first, and run this as `sglang`
#
# shellcheck disable=SC1003,SC2016 # what stands in quotes is meant as it stands
set -eu

# As in the unit: `python -m` looks for modules in the working directory first
cd /

export NCCL_P2P_LEVEL=SYS

exec /opt/sglang/bin/python -m sglang.launch_server \
  --model-path /srv/models/Kimi-K2.6 \
  --served-model-name kimi-k2.6 \
  --trust-remote-code \
  --host 0.0.0.0 \
  --port 30000 \
  --config /etc/poolproof/secrets/k26.yaml \
  --tensor-parallel-size 8 \
  --context-length 200000 \
  --max-running-requests 8 \
  --mem-fraction-static 0.9 \
  --kv-cache-dtype fp8_e4m3 \
  --chunked-prefill-size 8192 \
  --speculative-algorithm DDTREE \
  --speculative-draft-model-path /srv/models/Kimi-K2.6-DFlash \
  --speculative-dflash-block-size 8 \
  --speculative-dflash-draft-window-size 2048 \
  --speculative-ddtree-budget 8 \
  --speculative-ddtree-topk-cap 4 \
  --tool-call-parser kimi_k2 \
  --reasoning-parser kimi_k2 \
  --enable-metrics
