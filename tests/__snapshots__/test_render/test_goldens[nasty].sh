#!/usr/bin/env bash
# Generated from profiles/k2.6-200k.toml; edit that and run `poolproof compile`
#
# What the unit runs, in the foreground, for a person to try. Stop the unit first, and run this as `sglang`
#
# shellcheck disable=SC1003,SC2016 # what stands in quotes is meant as it stands
set -eu

# As in the unit: `python -m` looks for modules in the working directory first
cd /

export T_0=''
export T_1='a b'
export T_10=';'
export T_11='#x'
export T_12='é日😀'
export T_13='-- 	'
export T_2=50%
export T_3='$HOME'
export T_4='${X}'
export T_5='it'"'"'s'
export T_6='say "hi"'
export T_7='back\slash'
export T_8='\'
export T_9='two
lines'

exec '/opt/my env/50%/$x;[y]/python' -c \
  --words '' 'a b' 50% '$HOME' '${X}' 'it'"'"'s' 'say "hi"' 'back\slash' '\' 'two
lines' ';' '#x' 'é日😀' '-- 	'
