#!/usr/bin/env bash
# Generated from profiles/nasty.toml; edit that and run `poolproof compile`
#
# What the unit runs, in the foreground, for a person to try. Stop the unit first, and run this as `sglang`
#
# shellcheck disable=SC1003,SC2016 # what stands in quotes is meant as it stands
set -eu

# As in the unit: `python -m` looks for modules in the working directory first
cd /

export BACKSLASHES='\ \n C:\x\'
export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
export DOLLAR='$HOME ${HOME} $(id)'
export EMPTY=''
export JSON='{"a": [1, "b c"]}'
export LABELS='é日本😀'
export PERCENT='100% %h %%'
export QUOTES='it'"'"'s "quoted" `id`'
export SPACES='  two  spaces  '

exec '/opt/my env/50% $x;[y]/python' -m sglang.launch_server \
  --model-path '/srv/models of ours/50% "K2.6" $HOME/größe\x' \
  --served-model-name 'kimi k2.6 „100%“ $5 "it'"'"'s" \n' \
  --trust-remote-code \
  --host 127.0.0.1 \
  --port 30000 \
  --config '/etc/pool proof/$x/50%/it'"'"'s.yaml' \
  --tensor-parallel-size 8 \
  --context-length 32768 \
  --max-running-requests 8 \
  --mem-fraction-static 0.85 \
  --chat-template '/srv/a b/$x/50%/it'"'"'s "x".jinja' \
  --json-model-override-args '{"a": "50% $x '"'"'\\"}' \
  --log-requests
