"""`poolproof completion`: the script that makes a shell complete verbs, options, and profiles."""

from __future__ import annotations

import sys

import click
from click.shell_completion import BashComplete, ShellComplete, get_completion_class

from compiler.cli.exits import Exit


_BASH = r"""
%(complete_func)s() {
    local IFS=$'\n' rest=${COMP_LINE:0:COMP_POINT} piece= kept= option= at type value completion response
    local -a words=()
    # Bash takes `NAME@RELEASE`, `FILE:LINE` and `--gpu=KIND` for several words: they are put together as they stand.
    for ((at = 0; at <= COMP_CWORD; at++)); do
        if ((at == 0)) || [[ $rest == [[:space:]]* ]]; then
            rest=${rest#"${rest%%%%[![:space:]]*}"}
            words+=("")
        fi
        piece=${COMP_WORDS[at]}
        [[ $rest == "$piece"* ]] || piece=$rest
        rest=${rest#"$piece"}
        words[${#words[@]}-1]+=$piece
    done
    local word=${words[${#words[@]}-1]}
    # What is completed takes the place of $2 alone, with which the word ends.
    kept=${word%%"$2"}
    kept=${kept%%[\"\']}
    [[ $word == --*=* ]] && option=${word%%%%=*}=

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete $1)

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"

        if [[ $type != 'plain' && $kept != "$option" ]]; then
            COMPREPLY=() # what stands behind `FILE:` is no file of its own
        elif [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            [[ $value == "$option"* ]] || value=$option$value
            COMPREPLY+=("${value#"$kept"}")
        fi
    done

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""


class _Bash(BashComplete):
    """Click's own script gives bash the whole of what bash has cut in pieces."""

    source_template = _BASH


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of a shell.

    For bash, in ~/.bashrc: eval "$(poolproof completion bash)"
    """
    found: type[ShellComplete] | None = _Bash if shell == "bash" else get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click has no completion for {shell}")
    from compiler.cli.commands import poolproof  # noqa: PLC0415 - it names this module

    script = found(poolproof, {}, "poolproof", "_POOLPROOF_COMPLETE").source()
    sys.stdout.write(f"{script.strip()}\n")
    return Exit.OK
