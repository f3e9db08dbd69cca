"""Scripts as people write them: functions, branches, loops, here-documents, and commands in variables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from compiler.engines.adopting import ChangeKind
from launching import SERVER, Outcome, outcome, read_text


GO = f"{SERVER} --model-path /m/a"

# A script, and the settings that its launch comes to.
READ: dict[str, tuple[str, dict[str, object]]] = {
    "a function with all it is given": (f'run() {{ {SERVER} "$@"; }}\nrun --model-path /m/a --port 8001\n', {"serve.port": 8001}),
    "a function that drops the first": (f'run() {{ local name=$1; shift; {GO} "$@"; }}\nrun x --tp 2\n', {"parallel.tensor": 2}),
    "the arguments from the second on": (f'run() {{ {GO} "${{@:2}}"; }}\nrun x --tp 2\n', {"parallel.tensor": 2}),
    "a function in a function": (f"f() {{ {GO} --tp $1; }}\ng() {{ f 4; }}\ng\n", {"parallel.tensor": 4}),
    "a function's own variable": (f"TP=2\nf() {{ local TP=8; }}\nf\n{GO} --tp $TP\n", {"parallel.tensor": 2}),
    "a list in a function": (f'A=(--tp 2)\nf() {{ {GO} "$@"; }}\nf "${{A[@]}}"\n', {"parallel.tensor": 2}),
    "arguments that the script sets": (f'set -- --tp 2\n{GO} "$@"\n', {"parallel.tensor": 2}),
    "arguments where none are given": (f'if [ $# -eq 0 ]; then set -- --tp 2; fi\n{GO} "$@"\n', {"parallel.tensor": 2}),
    "a command in a variable": (f'C="{GO} --tp 2"\n$C --port 8001\n', {"parallel.tensor": 2, "serve.port": 8001}),
    "a command that grows": (f'C="{GO}"\nC="$C --tp 2"\nC+=" --port 8001"\neval "$C"\n', {"parallel.tensor": 2, "serve.port": 8001}),
    "a command in a list": (f'C=({GO})\nC+=(--tp 2)\nexec "${{C[@]}}"\n', {"parallel.tensor": 2}),
    "a list among other text": (f'A=(--tp 2)\nssh host "{GO} ${{A[*]}} --port 8001"\n', {"parallel.tensor": 2, "serve.port": 8001}),
    "a variable behind another": (f'A=--tp\nB=2\nC="{GO} $A $B"\neval $C\n', {"parallel.tensor": 2}),
    "a variable behind a joined line": (f'A="--tp 2"\nC="{GO} \\\n  $A"\neval $C\n', {"parallel.tensor": 2}),
    "the words behind a script in a word": (f"bash -c '{SERVER} \"$@\"' -- --model-path /m/a --tp 2\n", {"parallel.tensor": 2}),
    "a test that holds": (f'X=1\n[ "$X" = 1 ] && A="--tp 2"\n{GO} $A\n', {"parallel.tensor": 2}),
    "a test that does not": (f'X=\n[[ -n "$X" ]] && A="--tp 8"\n[ -z "$X" ] && A="--tp 2"\n{GO} $A\n', {"parallel.tensor": 2}),
    "numbers compared": (f'N=2\nif [[ $N -gt 1 ]]; then A="--tp $N"; else A=; fi\n{GO} $A\n', {"parallel.tensor": 2}),
    "a case": (f'M=big\ncase "$M" in small) T=1;; b*) T=2;; *) T=4;; esac\n{GO} --tp $T\n', {"parallel.tensor": 2}),
    "the first branch does not reach the second": (f"X=2\nif a; then Y=1; else Y=1; fi\n{GO} --tp $X --port 800$Y\n", {"parallel.tensor": 2, "serve.port": 8001}),
    "a default that is set": (f': "${{TP:=2}}"\n{GO} --tp $TP\n', {"parallel.tensor": 2}),
    "a word only where another is": (f"K=1\n{GO} ${{K:+--tp 2}}\n", {"parallel.tensor": 2}),
    "a variable for one command": (f"export A=1\nfor i in 1; do A=2 x; done\n{GO} --tp 2\n", {"env.A": "1", "parallel.tensor": 2}),
    "a sum": (f"P=8000\n{GO} --port $((P + 1))\n", {"serve.port": 8001}),
    "options that a loop would read": (f"TP=2\nwhile [ $# -gt 0 ]; do case $1 in --tp) TP=$2; shift 2;; esac; done\n{GO} --tp $TP\n", {"parallel.tensor": 2}),
    "a here-document for a shell": (f"bash <<'E'\nTP=2\n{GO} --tp $TP\nE\n", {"parallel.tensor": 2}),
    "a here-document with our variables": (f"TP=2\nssh host <<E\n{GO} --tp $TP\nE\n", {"parallel.tensor": 2}),
    "a here-document with words behind": (f"ssh host bash -s -- 2 <<'E'\n{GO} --tp $1\nE\n", {"parallel.tensor": 2}),
    "a here-document in a container": (f"docker exec -i x bash <<-'E'\n\t{GO} --tp 2\n\tE\n", {"parallel.tensor": 2}),
    "a loop over a here-document": (f"while read x; do T=$x; done <<X\n8\nX\nT=2\n{GO} --tp $T\n", {"parallel.tensor": 2}),
    "a text for a shell": (f"bash <<< '{GO} --tp 2'\n", {"parallel.tensor": 2}),
    "a script that is written first": (f"cat > run.sh <<'E'\n{GO} --tp 2\nE\nbash run.sh\n", {"parallel.tensor": 2}),
    "what is only said": (f"echo {SERVER} --model-path /m/b\nprintf '%q ' {GO}\n{GO} --tp 2\n", {"parallel.tensor": 2}),
    "a word that is joined": (f"{SERVER} --model-path /m/\\\na --tp 2\n", {"parallel.tensor": 2}),
    "an export in quotes": (f'export "A=b"\n{GO} --tp 2\n', {"parallel.tensor": 2, "env.A": "b"}),
    "an environment of conda": (f"source /c/bin/activate e\n{GO} --tp 2\n", {"engine.python": "/c/envs/e/bin/python"}),
    "a function of a program's name": (f'docker() {{ if x; then command docker "$@"; else sudo docker "$@"; fi; }}\ndocker run x {GO} --tp 2\n', {"parallel.tensor": 2}),
    "another user's shell": (f'exec sg render -c "{GO} --tp 2"\n', {"parallel.tensor": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_script_is_read_as_its_shell_runs_it(name: str) -> None:
    """Its launch has the words that the shell would give it, and is compiled to the same."""
    text, settings = READ[name]
    got = outcome(read_text(text))
    assert got.text, got.found
    assert settings.items() <= got.settings.items()
    assert got.settings["model.path"] == "/m/a"


OF_OTHERS = frozenset({"ssh", "docker", "sg", "run.sh"})
"""Programs that are not here."""
STUB = """\
#!/bin/bash
[ "$2" = sglang.launch_server ] || exit 0
printf '%s\\n' "$@" >> "$SAID"
"""
ALONE = [name for name, (text, _) in READ.items() if not OF_OTHERS & set(text.split())]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize("name", ALONE)
def test_bash_gives_the_launch_the_same_words(tmp_path: Path, name: str) -> None:
    """The judge is bash itself, with a Python that only says what it was given."""
    text, settings = READ[name]
    bash = shutil.which("bash") or ""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bash").symlink_to(bash)
    (programs / "python3").write_text(STUB.replace("/bin/bash", bash))
    (programs / "python3").chmod(0o755)
    said = tmp_path / "said"
    subprocess.run(
        [bash, "-c", text],
        env={"PATH": str(programs), "SAID": str(said)},
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    launch = read_text(text).launch
    assert launch is not None
    wanted = [word.text for word in launch.command.words[1:]]
    # A Python of an environment is not on the path.
    assert said.read_text().splitlines() == wanted or "engine.python" in settings


# A script, and what is said to be known at the start only.
OPEN = {
    "a test that is not decided": (f'A=(--tp 2)\n[ -n "$X" ] && A+=(--port 1)\n{GO} "${{A[@]}}"\n', "`${A[@]}` may hold more flags"),
    "what stands behind or": (f"P=8000\nfind_port || P=9000\n{GO} --port $P\n", "`--port ${P}`"),
    "what is read from elsewhere": (f"P=1\nread -r P\n{GO} --port $P\n", "`--port $P`"),
    "what is counted": (f"p=8000\n((p++))\n{GO} --port $p\n", "`--port ${p}`"),
    "what a loop counts by a sum": (f"i=0\nwhile x; do {GO} --node-rank $i; ((i += 1)); done\n", "`--node-rank ${i}`"),
    "a list that is replaced": (f'A=(--tp 2)\nif x; then A=(--tp 4); fi\n{GO} "${{A[@]}}"\n', "`${A[@]}` may hold more flags"),
    "one of two branches": (f"if a; then P=1; else P=2; fi\n{GO} --port $P\n", "`--port ${P}`"),
    "flags that may come": (f'A="--tp 2"\nif [ "$X" ]; then A="$A --port 1"; fi\n{GO} $A\n', "`${A}` may hold more flags"),
    "the turn of a loop": (f"for i in 0 1; do {GO} --node-rank $i; done\n", "`--node-rank ${i}`"),
    "what a loop counts": (f"r=0\nfor h in a b; do {GO} --node-rank $r; r=$((r + 1)); done\n", "`--node-rank ${r}`"),
    "a sum in a loop": (f"for i in 0 1; do {GO} --port $((8000 + i)); done\n", "`--port $((8000 + i))`"),
    "what a function is not given": (f"f() {{ {GO} --port $1; }}\ntrap f EXIT\n", "`--port $1`"),
    "what single quotes do not hold back": (f"bash -c \"{GO} --port '$P'\"\n", "`--port $P`"),
    "variables of a file": (f"export $(cat .env | xargs)\n{GO}\n", "which variables `export $(cat .env | xargs)` sets"),
    "a variable of the caller in a here-document": (f"bash <<E\n{GO} --port $P\nE\n", "`--port $P`"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_what_is_known_at_the_start_only_is_said(name: str) -> None:
    """It is no setting, and it is spoken of."""
    text, told = OPEN[name]
    got = outcome(read_text(text))
    assert got.text, got.found
    assert told in "\n".join(got.changes(ChangeKind.UNKNOWN))


def test_a_script_that_asks_for_arguments() -> None:
    """What would end it is not taken for granted, so that its arguments stay open."""
    got = outcome(read_text(f"if [ $# -lt 1 ]; then echo usage; exit 1; fi\n{GO} --port $1\n"))
    assert not any("without arguments" in each for each in got.changes(ChangeKind.ASSUMED))
    assert any("`--port $1`" in each for each in got.changes(ChangeKind.UNKNOWN))


def test_a_list_that_is_replaced_in_a_branch() -> None:
    """None of its words is certain."""
    got = outcome(read_text(f'A=(--tp 2)\nif x; then A=(--tp 4); fi\n{GO} "${{A[@]}}"\n'))
    assert "parallel.tensor" not in got.settings


def test_what_a_branch_exports_is_not_known() -> None:
    """A variable that may be another is not carried."""
    got = outcome(read_text(f"export A=1\nif x; then export A=2; fi\n{GO}\n"))
    assert "env.A" not in got.settings
    assert any("variable `A`" in each for each in got.changes(ChangeKind.UNKNOWN))


def test_a_variable_that_is_unset_is_gone() -> None:
    """`unset` takes it away."""
    got = outcome(read_text(f"export A=1 B=2\nunset A\n{GO}\n"))
    assert "env.A" not in got.settings
    assert got.settings["env.B"] == "2"


TWICE = f"""\
run() {{
  CUDA_VISIBLE_DEVICES=$1 {GO} --port $2
}}
run 0 8000
run 1 8001
"""


def test_a_function_that_is_called_twice() -> None:
    """There are two launches, each by the line of its call."""
    refused = outcome(read_text(TWICE))
    assert refused.codes == ["launch-several"]
    assert refused.found[0].primary is not None
    assert refused.found[0].primary.span.line == 4
    got = outcome(read_text(TWICE, line=5))
    assert got.settings["serve.port"] == 8001
    assert got.settings["gpus.indices"] == [1]


def test_branches_that_are_not_taken() -> None:
    """The launch of the default is adopted, and the others' lines are named; each can be asked for."""
    text = f'case "${{1:-a}}" in\na) {GO} --tp 1;;\nb) {GO} --tp 2;;\nesac\n'
    got = outcome(read_text(text))
    assert got.settings["parallel.tensor"] == 1
    assert any("they are on lines: 3" in each for each in got.changes(ChangeKind.ASSUMED))
    assert any("`${1:-a}`" in each for each in got.changes(ChangeKind.ASSUMED))
    assert outcome(read_text(text, line=3)).settings["parallel.tensor"] == 2
    assert outcome(read_text(text, given={"1": "b"})).settings["parallel.tensor"] == 2


def test_a_launch_that_is_set_in_branches() -> None:
    """The one that starts an engine is taken, and that is said."""
    text = f'if [ "$F" = vllm ]; then C="vllm serve /m/b"; else C="{GO} --tp 2"; fi\neval "$C"\n'
    got = outcome(read_text(text))
    assert got.settings["parallel.tensor"] == 2
    assert any(
        "`${C}` is taken to hold the launch" in each for each in got.changes(ChangeKind.ASSUMED)
    )


def test_a_default_in_a_script_in_a_word_is_said() -> None:
    """What is taken for granted on the way is told."""
    for text in (f'bash -c "{GO} --port ${{P:-8001}}"', f"bash -c '{GO} --port ${{P:-8001}}'"):
        got = outcome(read_text(f"#\n#\n{text}\n"))
        assert got.settings["serve.port"] == 8001
        (told,) = (each for each in got.changes(ChangeKind.ASSUMED) if "`${P:-8001}`" in each)
        assert told.startswith("3: ")


UNIT = """\
PORT=8001
sudo tee /etc/systemd/system/llm.service > /dev/null <<{quote}EOF{quote}
[Unit]
Description=One
[Service]
EnvironmentFile=-/etc/llm.env
ExecStart=/opt/sglang/bin/python -m sglang.launch_server \\
  --model-path /m/a --port $PORT --tp ${{TP}}
EOF
systemctl start llm
"""


def written(text: str, **more: str) -> Outcome:
    return outcome(read_text(text, given=more))


def test_a_unit_that_a_script_writes() -> None:
    """Its own variables are replaced before it is a unit; places are the script's."""
    got = written(UNIT.format(quote=""))
    assert got.settings["serve.port"] == 8001
    assert got.settings["engine.python"] == "/opt/sglang/bin/python"
    assert got.settings["targets.host.unit"] == "llm"
    told = got.changes(ChangeKind.UNKNOWN)
    assert told[0] == "8: `--tp ${TP}` is not known before the start"
    assert [each[:36] for each in told[1:]] == ["6: which variables `/etc/llm.env` se"]
    assert written(UNIT.format(quote=""), TP="2").settings["parallel.tensor"] == 2


def test_a_unit_that_a_script_writes_as_it_is() -> None:
    """Where the end is quoted, variables are the unit's: its file may have them on the host."""
    got = written(UNIT.format(quote="'"))
    assert [each.partition(": ")[2][:15] for each in got.changes(ChangeKind.UNKNOWN)] == [
        "`--port $PORT` ",
        "`--tp ${TP}` is",
        "which variables",
    ]


def test_an_environment_file_that_a_script_writes() -> None:
    """The unit that it writes beside has its variables."""
    env = "cat > /etc/llm.env <<E\nTP=2\nPORT=8001\nE\n"
    got = written(env + UNIT.format(quote="'"))
    assert got.settings["parallel.tensor"] == 2


def test_a_quadlet_that_a_script_writes() -> None:
    """It is read as what it becomes."""
    text = f"cat > a.container <<UNIT\n[Container]\nImage=${{IMAGE:-lmsysorg/sglang:v0.5.11}}\nExec={GO} --tp 2\nUNIT\n"
    got = outcome(read_text(text), version=None)
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["engine.version"] == "0.5.11"


@pytest.mark.parametrize(
    "line",
    [
        "cat > a.service <<X",
        "cat <<X | sudo tee a.service",
        "sudo tee -a a.service >/dev/null <<X",
        "sudo bash -c 'cat > /etc/a.service' <<X",
        "ssh host 'cat > /etc/a.service' <<X",
        "write_file /etc/a.service 0644 <<X",
    ],
)
def test_the_ways_to_write_a_file(line: str) -> None:
    """Whatever takes the text, it becomes the file of that name."""
    got = outcome(read_text(f"{line}\n[Service]\nExecStart=/o/{GO} --tp 2\nX\n"))
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["targets.host.unit"] == "a"


def test_a_launch_of_its_own_comes_first() -> None:
    """A file that is only kept beside is no launch."""
    got = written(f"cat > launch.sh <<'E'\n{GO} --tp 4\nE\n{GO} --tp 2\n")
    assert got.settings["parallel.tensor"] == 2


@pytest.mark.parametrize(
    "text",
    [
        f"cat <<E\nUsage: {GO}\nE\n",
        f"cat > notes.txt <<E\n{GO}\nE\n",
        f"python3 - <<E\nrun('{GO}')\nE\n",
        f"echo {GO}\n",
        f"pkill -f {SERVER}\n",
    ],
)
def test_text_is_no_launch(text: str) -> None:
    """What is printed, kept, looked for, or given to another program starts nothing."""
    assert outcome(read_text(text)).codes == ["launch-missing"]
