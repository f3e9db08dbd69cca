#!/usr/bin/env bash
# Generated from profiles/k2.6-200k.toml; edit that and run `poolproof compile`
#
# What the unit runs, in the foreground, for a person to try. Stop the unit first
#
# shellcheck disable=SC1003,SC2016 # what stands in quotes is meant as it stands
set -eu

# As in the unit: `python -m` looks for modules in the working directory first
cd /

exec /opt/sglang/bin/python -m sglang.launch_server \
  --model-path /srv/models/Kimi-K2.6 \
  --served-model-name kimi-k2.6 \
  --tp-size 8 \
  --host 127.0.0.1 \
  --port 30000 \
  --context-length 200000 \
  --max-running-requests 8 \
  --mem-fraction-static 0.93 \
  --chunked-prefill-size 8192 \
  --speculative-algorithm DDTREE \
  --speculative-draft-model-path /srv/models/Kimi-K2.6-DFlash \
  --cuda-graph-bs 1 2 4 8 \
  --enable-metrics \
  --config /etc/poolproof/secrets/k26.yaml
