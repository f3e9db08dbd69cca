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
}  # fmt: skip

# A script whose launch leaves a flag open.
OPEN: dict[str, str] = {
    "a function that may return": f"tp() {{ if [ -e /x ]; then return; fi; echo 3; }}\n{GO} --tp $(tp)",
    "a function that writes where a variable says": f"tp() {{ echo 3 > $LOG; }}\n{GO} --tp $(tp)",
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
