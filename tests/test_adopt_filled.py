"""What somebody else fills in: `<words>` on a page, the variables of make, the tags of a template, the folder of a script."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from compiler.adopt.placeholders import filled, placeholder_name, placeholders
from compiler.engines.adopting import ChangeKind
from launching import SERVER, Outcome, outcome, read_text


def adopted(text: str, name: str, **given: str) -> Outcome:
    return outcome(read_text(text, name=name, given=given), version=None)


@pytest.mark.parametrize("language", ["bash", "console", ""])
def test_what_is_to_be_filled_in(language: str) -> None:
    """It is open, says how it is told, and eats no flag behind it."""
    front = "$ " if language == "console" else ""
    text = f"```{language}\n{front}{SERVER} --model-path <MODEL> --api-key <your key> --tp <N> --port 3000\n```\n"
    got = adopted(text, "README.md")
    assert got.settings["serve.port"] == 3000
    assert not [each for each in got.settings if each.startswith("flags.")]
    assert got.codes == ["launch-incomplete"]
    assert "`--var MODEL=... --var your_key=... --var N=...`" in got.found[0].help[0]
    told = adopted(text, "README.md", MODEL="/m/a", N="2")
    assert told.settings["model.path"] == "/m/a"
    assert told.settings["parallel.tensor"] == 2
    assert told.settings["serve.port"] == 3000


def test_what_is_to_be_filled_in_elsewhere() -> None:
    """In a compose file on a page, and within a word; in a script it is what a shell makes of it."""
    compose = f"```yaml\nservices:\n  a:\n    image: x\n    command: {SERVER} --model-path <org/model> --port 3000\n```\n"
    got = adopted(compose, "README.md")
    assert got.settings["serve.port"] == 3000
    assert got.settings["description"] == "a, from README.md"
    inside = adopted(
        f"```sh\n{SERVER} --model-path /m/<NAME> --dist-init-addr <HOST>:5000 --port 3000\n```\n",
        "README.md",
        NAME="a",
    )
    assert inside.settings["model.path"] == "/m/a"
    assert inside.settings["serve.port"] == 3000
    script = adopted(f"{SERVER} --model-path /m/a <input --port 3000 >log\n", "a.sh")
    assert script.settings["model.path"] == "/m/a"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x <A> <b c> <A>", ("<A>", "<b c>")),
        ("x <input >log", ()),
        ("x <input 2>log", ()),
        ("cat <<EOF >x", ()),
        ("cat <<EOF>x", ()),
        ("diff <(a) >(b)", ()),
        ('x --end "<think>" --key "<KEY>"', ("<KEY>",)),
        ('["--model-path", "<model>"]', ("<model>",)),
        ("echo it's\nx '<s>' <s>", ("<s>",)),
        ("x <...> <org/model, e.g. a/b>", ("<...>", "<org/model, e.g. a/b>")),
        ("x /m/<name>:80 <a|b>", ("<name>",)),
    ],
)
def test_which_words_are_to_be_filled_in(text: str, parts: tuple[str, ...]) -> None:
    """Redirections, here-documents, and tokens of a model are none."""
    assert placeholders(text) == parts


def test_how_they_are_called() -> None:
    """By letters, digits, and underscores; a value with blanks stays one word."""
    assert placeholder_name("<your key>") == "your_key"
    assert placeholder_name("<1-8>").isidentifier()
    assert placeholder_name("<...>").isidentifier()
    assert placeholder_name("${A}") == ""
    assert filled('x <A> "<A>"', {"A": "b c"}) == "x 'b c' \"b c\""


def test_a_unit_on_a_page() -> None:
    """It has no name, and none is missed."""
    got = adopted(
        f"```ini\n[Service]\nUser=llm\nExecStart=/v/bin/{SERVER} --model-path /m/a\n```\n", "a.md"
    )
    assert got.settings["targets.host.user"] == "llm"
    assert not any("targets" in each for each in got.changes(ChangeKind.DROPPED))


RUN = f"\t{SERVER} --model-path /m/a --tp $(TP)\n"
# What each comes to was told by `make -n run`, where there is a make.
BOUND = {
    "of the target": (f"TP = 2\nrun: TP = 4\nrun:\n{RUN}", 4),
    "of the target, before": (f"run: TP = 4\nTP = 2\nrun:\n{RUN}", 4),
    "of another target": (f"TP = 2\nother: TP = 4\nrun:\n{RUN}", 2),
    "of a pattern": (f"TP = 2\nr%: TP = 4\nrun:\n{RUN}", 4),
    "of the target, bound": (f"X = 4\nrun: TP := $(X)\nX = 2\nrun:\n{RUN}", 4),
    "where it stands": (f"X = 4\nTP := $(X)\nX = 2\nrun:\n{RUN}", 4),
    "where it is used": (f"X = 2\nTP = $(X)\nX = 4\nrun:\n{RUN}", 4),
    "of itself": (f"TP := 2\nTP := $(TP)$(TP)\nTP := $(if $(TP),4,8)\nrun:\n{RUN}", 4),
    "more": (f"X := 4\nTP := $(X)\nTP += --dtype auto\nX := 2\nrun:\n{RUN}", 4),
    "override": (f"override TP := 4\nrun:\n{RUN}", 4),
    "on the line": (f"TP = 4\nrun: ; {RUN.lstrip()}", 4),
    "another prefix": (f".RECIPEPREFIX = >\nTP = 4\nrun:\n>{RUN.lstrip()}", 4),
    "shells apart": (f"run:\n\tTP=2\n{RUN.replace('$(TP)', '$${TP:-4}')}", 4),
    "joined lines": (f"run:\n\tTP=4; \\\n{RUN.replace('$(TP)', '$$TP')}", 4),
    "one shell": (f".ONESHELL:\nrun:\n\t@TP=4\n{RUN.replace('$(TP)', '$$TP')}", 4),
    "called": (
        f"define f\n{RUN.strip().replace('$(TP)', '$(1)')}\nendef\nrun:\n\t$(call f,4)\n",
        4,
    ),
    "defined": (f"TP = 4\ndefine f\n@echo hi\n{RUN.strip()}\nendef\nrun:\n\t$(f)\n", 4),
}


@pytest.mark.parametrize("way", BOUND)
def test_a_variable_of_make(way: str) -> None:
    """It has the value that make gives it there."""
    text, size = BOUND[way]
    assert adopted(text, "Makefile").settings["parallel.tensor"] == size


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    "way", [each for each in BOUND if "shell" not in each and "joined" not in each]
)
def test_make_says_the_same(way: str, tmp_path: Path) -> None:
    """What the test above expects is not made up."""
    text, size = BOUND[way]
    (tmp_path / "Makefile").write_text(text)
    told = subprocess.run(
        ["make", "-n", "run"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert f"--tp {size}" in told.stdout


def test_a_variable_that_make_may_set_otherwise() -> None:
    """In a branch, or for a target that needs this one: it is open, by the name that the file has."""
    branch = f"ifdef X\nTP = 2\nelse\nTP = 4\nendif\nrun:\n{RUN}"
    needed = f"TP = 2\nall: TP = 4\nall: run\nrun:\n{RUN}"
    for text in (branch, needed):
        got = adopted(text, "Makefile")
        assert any("`--tp ${TP}` is not known" in each for each in got.changes(ChangeKind.UNKNOWN))
        assert adopted(text, "Makefile", TP="8").settings["parallel.tensor"] == 8


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "Makefile",
            f"define f\n$(eval X := 1)\n{SERVER} --model-path $(1)\nendef\n$(eval $(f))\n",
            3,
        ),
        ("a.md", f"```python\n{SERVER} --model-path x\n```\n", 2),
    ],
)
def test_a_part_that_is_not_read(name: str, text: str, line: int) -> None:
    """A file that speaks of an engine there is not said to run nothing."""
    got = adopted(text, name)
    assert got.codes == ["launch-missing"]
    assert got.found[0].notes == (f"line {line} speaks of an engine, in a part that is not read",)


def test_a_page_that_is_made_to_be_hard() -> None:
    """Many parts on one line take no time."""
    start = time.monotonic()
    got = placeholders("".join(f"'<a{at}>' <think>" for at in range(50_000)))
    assert 0 < len(got) < 1000
    assert time.monotonic() - start < 5


HARD = {
    "targets": "".join(f"a{at}: V{at} = 1\na{at}: a{at + 1}\n" for at in range(2000)),
    "bound": "".join(
        f"A{at} = $(A{at + 1})$(A{at + 2})\nB{at} := $(A{at})\n" for at in range(2000)
    ),
    "doubled": "A := x\n" + "A := $(A)$(A)\n" * 200,
    "calls": "f = $(call f,$(1)$(1))$(call f,$(1))\nX := $(call f,x)\n" * 100,
}


@pytest.mark.parametrize("way", HARD)
def test_a_makefile_that_is_made_to_be_hard(way: str) -> None:
    """It takes no time."""
    start = time.monotonic()
    got = adopted(f"{HARD[way]}run:\n{RUN}", "Makefile", TP="2")
    assert got.settings["parallel.tensor"] == 2
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "words",
    [
        "{% if tp > 1 %} --tp {{ tp }} {% endif %} --port 3000",
        "\\\n{% if tp > 1 %}\n --tp {{ tp }} \\\n{% endif %}\n --port 3000",
        "{{- if .Values.tp }} --tp {{ .Values.tp }} {{- end }}",
    ],
)
def test_the_tags_of_a_template(words: str) -> None:
    """One line says that it is to be rendered."""
    got = adopted(f"{SERVER} --model-path /m/a {words}\n", "run.sh.j2")
    assert got.codes == ["launch-unreadable"]
    assert "is a template: `{" in got.found[0].summary


def test_the_template_of_a_chat_is_none() -> None:
    """Quoted, it is a value of a script as any other."""
    got = adopted(
        f"{SERVER} --model-path /m/a --chat-template '{{% if a %}}x{{% endif %}}'\n", "a.sh"
    )
    assert got.settings["flags.chat-template"] == "{% if a %}x{% endif %}"


@pytest.mark.parametrize("folder", ["$PWD", '"$(pwd)"', "${PWD}"])
@pytest.mark.parametrize(
    ("going", "place"),
    [("cd /opt/models", "/opt/models"), ("cd /opt || exit 1\ncd models", "/opt/models")],
)
def test_the_folder_that_a_script_goes_to(folder: str, going: str, place: str) -> None:
    """It is the one that its container has."""
    got = adopted(f"{going}\ndocker run -v {folder}:/m x {SERVER} --model-path /m/a\n", "a.sh")
    assert got.settings["model.path"] == f"{place}/a"


def test_a_folder_that_is_not_known() -> None:
    """Whoever adopts it says it."""
    text = f'cd /opt\ncd "$X"\ndocker run -v $PWD:/m x {SERVER} --model-path /m/a\n'
    assert any(
        "--var PWD=..." in each for each in adopted(text, "a.sh").changes(ChangeKind.UNKNOWN)
    )
    assert adopted(text, "a.sh", PWD="/srv").settings["model.path"] == "/srv/a"
