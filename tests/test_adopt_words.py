"""What bash passes on: words behind redirects, what functions print, lists and variables in all the ways to set them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from compiler.engines.adopting import ChangeKind
from launching import SERVER, outcome, read_text


GO = f"{SERVER} --model-path /m/a"
LOGS = 'name() { echo "picking" >&2; echo foo; }'

# A script, and the words that its launch has behind the model, as bash gives them.
READ: dict[str, tuple[str, str]] = {
    "words behind a copied descriptor": (f"{GO} --tp 4 2>&1 --mem-fraction-static 0.5 --context-length 8192 >log", "--tp 4 --mem-fraction-static 0.5 --context-length 8192"),
    "words behind a file": (f"{GO} --tp 4 > log.txt --port 3000", "--tp 4 --port 3000"),
    "words behind both outputs": (f"P=3000\n{GO} &>> log --tp 4 < /dev/null --port $P", "--tp 4 --port 3000"),
    "words behind a file with an argument in its name": (f"f() {{ {GO} > log.$1 --port 3000; }}\nf 1", "--port 3000"),
    "words behind a redirect in a pipeline": (f"{GO} 2>&1 --tp 4 | cat", "--tp 4"),
    "words behind a redirect on a joined line": (f"{GO} 2>&1 \\\n  --tp 4 \\\n  >> log", "--tp 4"),
    "words of a function behind a redirect": (f'f() {{ {GO} "$@"; }}\nf --tp 4 > log --port 3000', "--tp 4 --port 3000"),
    "words behind a here-document": (f"{GO} --tp 4 <<EOF --port 3000\nhello\nEOF", "--tp 4 --port 3000"),
    "words behind a here-string": (f"{GO} --tp 4 2>&1 <<< x --port 3000", "--tp 4 --port 3000"),
    "a function that logs": (f'{LOGS}\n{GO} --served-model-name "$(name)"', "--served-model-name foo"),
    "a function that logs into a file": (f'name() {{ echo x >/dev/null; echo foo; }}\n{GO} --served-model-name "$(name 2>/dev/null)"', "--served-model-name foo"),
    "a function that returns": (f"tp() {{ echo 2; return; echo 3; }}\n{GO} --tp $(tp)", "--tp 2"),
    "a function that returns where it has to": (f"tp() {{ X=1; if [ $X = 1 ]; then return; fi; }}\ntp\n{GO} --tp 2", "--tp 2"),
    "a launch behind a return": (f"f() {{ {GO} --tp 2; return; {GO} --tp 4; }}\nf", "--tp 2"),
    "a function that prints nothing": (f"name() {{ echo --tp 4; }} >&2\n{GO} --port 3000 $(name)", "--port 3000"),
    "output that comes back": (f"name() {{ echo foo 2>&1 >&2; }}\n{GO} --served-model-name $(name)", "--served-model-name foo"),
    "a list that is read": (f'read -ra a <<< "--tp 4"\na+=(--port 30)\n{GO} "${{a[@]}}"', "--tp 4 --port 30"),
    "a list of lines": (f"mapfile -t a < <(printf '%s\\n' --tp 4)\na+=(--port 30)\n{GO} \"${{a[@]}}\"", "--tp 4 --port 30"),
    "an element that is taken out": (f'a=(--tp 2 --port 3000)\nunset "a[2]"\na[3]=4\n{GO} "${{a[@]}}"', "--tp 2 4"),
    "an element that is not quoted": (f'a=(--tp 2 --port 3000 --x)\nunset a[4]\n{GO} "${{a[@]}}"', "--tp 2 --port 3000"),
    "elements at their places": (f'a=([1]=4 [0]=--tp)\n{GO} "${{a[@]}}"', "--tp 4"),
    "an element at the end": (f'a=(--tp 2)\na[${{#a[@]}}]=--port\na[3]=3000\n{GO} "${{a[@]}}"', "--tp 2 --port 3000"),
    "the first element by the list's name": (f'a=(--tp 2)\na=--port\n{GO} "${{a[@]}}"', "--port 2"),
    "a list of a function's own": (f'b=\na=(--tp 2)\nf() {{ local -a a=(--tp 8); local b=1; }}\nf\n{GO} "${{a[@]}}" ${{b:+--x}}', "--tp 2"),
    "what a function sets for all": (f"f() {{ declare -g TP=4; }}\nf\n{GO} --tp $TP", "--tp 4"),
    "two variables of a line": (f'read -r A B <<< "--tp 4"\n{GO} $A $B', "--tp 4"),
    "a line with other separators": (f'IFS=, read -ra a <<< "--tp,4"\n{GO} "${{a[@]}}"', "--tp 4"),
    "a number that is printed": (f"printf -v TP %d 4\n{GO} --tp $TP", "--tp 4"),
    "a text that is printed": (f"printf -v F '%s %s' --tp 4\n{GO} $F", "--tp 4"),
    "a variable that is set by a text": (f'N=4\neval "TP=$N"\n{GO} --tp $TP', "--tp 4"),
    "a variable that stands for another": (f"TP=2\ndeclare -n r=TP\nr=4\n{GO} --tp $TP --port $r", "--tp 4 --port 4"),
    "a variable that a function is given by name": (f"f() {{ local -n out=$1; out=4; }}\nf TP\n{GO} --tp $TP", "--tp 4"),
    "a number that is added to": (f"declare -i N=1\nN+=1\n{GO} --tp $N", "--tp 2"),
    "a text in small letters": (f"declare -l M=FOO\n{GO} --served-model-name $M", "--served-model-name foo"),
    "what commas separate": (f"F=--tp,4\nIFS=,\n{GO} $F", "--tp 4"),
    "separators as they were": (f'OLD=$IFS\nIFS=,\nIFS=$OLD\nF="--tp 4"\n{GO} $F', "--tp 4"),
    "a list as one word": (f'a=(x y)\nIFS=,\n{GO} --served-model-name "${{a[*]}}"', "--served-model-name x,y"),
    "a variable that commands get": (f"declare -x A=1\n{GO} --tp 4", "--tp 4"),
}  # fmt: skip

# A script whose launch leaves a flag open.
OPEN: dict[str, str] = {
    "a function that may return": f"tp() {{ if [ -e /x ]; then return; fi; echo 3; }}\n{GO} --tp $(tp)",
    "a function that writes where a variable says": f"tp() {{ echo 3 > $LOG; }}\n{GO} --tp $(tp)",
    "a list that is read from elsewhere": f'read -ra a < list\na+=(--port 30)\n{GO} "${{a[@]}}"',
    "an element of an index that is not known": f'a=(--tp 2)\na[$I]=4\n{GO} "${{a[@]}}"',
    "a map": f'declare -A a=([x]=--tp)\n{GO} "${{a[@]}}"',
    "a text that is printed in another form": f"TP=2\nprintf -v TP %03d 4\n{GO} --tp $TP",
    "a variable that a text sets among others": f'TP=2\neval "x && TP=4"\n{GO} --tp $TP',
    "a variable that a text of its own sets": f'TP=2\neval "TP=$X"\n{GO} --tp $TP',
    "a sum of a number": f"declare -i N=1\nN+=1+1\n{GO} --tp $N",
    "separators that are not known": f"F=4\nIFS=$X\n{GO} --tp $F",
    "words that hold nothing": f"F=4,,5\nIFS=,\n{GO} --tp $F",
    "a function that is gone": f"tp() {{ echo 3; }}\nunset -f tp\n{GO} --tp $(tp)",
}


def words_of(text: str) -> list[str]:
    """What the launch of a script has behind the model."""
    launch = read_text(f"{text}\n").launch
    assert launch is not None
    words = [each.text for each in launch.command.words]
    return words[words.index("/m/a") + 1 :]


STUB = """\
#!BASH
[ "$2" = sglang.launch_server ] || exit 0
printf '%s\\n' "$@" >> "$SAID"
"""


def bash_words(text: str, folder: Path) -> list[str]:
    """The same as bash itself passes it on, to a Python that only says what it was given."""
    bash = shutil.which("bash") or ""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").write_text(STUB.replace("BASH", bash))
    (programs / "python3").chmod(0o755)
    said = folder / "said"
    subprocess.run(
        [bash, "-c", text],
        env={"PATH": str(programs), "SAID": str(said)},
        cwd=folder,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    words = said.read_text().splitlines()
    return words[words.index("/m/a") + 1 :]


@pytest.mark.parametrize("name", READ)
def test_a_launch_has_the_words_that_a_shell_gives_it(name: str) -> None:
    """Nothing is lost, and nothing comes in beside."""
    text, words = READ[name]
    assert words_of(text) == words.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize("name", READ)
def test_bash_agrees(tmp_path: Path, name: str) -> None:
    """The words of the table are those that bash itself passes on."""
    text, words = READ[name]
    assert bash_words(text, tmp_path) == words.split()


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_sure_is_left_open(name: str) -> None:
    """A value that may be another one is none."""
    assert outcome(read_text(f"{OPEN[name]}\n")).changes(ChangeKind.UNKNOWN)


@pytest.mark.parametrize("rest", ["", " --tp 2"])
def test_a_word_that_holds_nothing_is_none(rest: str) -> None:
    """The flag in front of it lacks its value, and the server stops at that."""
    got = outcome(read_text(f"{GO} --served-model-name $N{rest}\n", given={"N": ""}))
    assert got.codes == ["launch-refused"]
    assert "expected one argument" in got.found[0].notes[0]
    assert not got.text
