"""Where values come from, and what made each line of the committed output."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from checkouts import (
    FP8,
    REPOSITORY,
    SHORT,
    STORY,
    Checkout,
    compiled_checkout,
)
from compiler.catalog import FolderReader, open_catalog
from compiler.inputs import Inputs, resolve
from compiler.language.load import DiskReader
from compiler.pipeline import check_profiles
from compiler.planner import look_up
from compiler.render.planfile import lay_out
from compiler.render.templates import verbatim
from compiler.why.files import files_of, line_of
from compiler.why.lines import COUNTING, TEMPLATE, Context, LineReasons
from compiler.why.naming import json_lines
from compiler.why.sections import FIXED, reason_of_section
from deployments import only_plan
from forks import run_forked


PROFILES = REPOSITORY / "profiles"
COPIES = {"ready.py"}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree; not to be changed."""
    return compiled_checkout(tmp_path_factory.mktemp("once") / "tree")


@cache
def context_of(name: str, profiles: Path = PROFILES) -> Context:
    """A profile of this repository with all that it was planned from."""
    inputs = Inputs(reader=DiskReader(profiles), catalog=open_catalog(FolderReader(profiles)))
    checked = check_profiles([name], inputs)
    resolved, _ = resolve(name, inputs)
    assert resolved is not None
    facts, _, _ = look_up(only_plan(checked).profile, inputs.catalog)
    return Context(several=checked.judged, facts=facts, origins=resolved.origins, versions=())


@cache
def lines_of(name: str, file: str) -> tuple[tuple[str, LineReasons], ...]:
    """The lines of a file of the committed output, each with what made it."""
    text = (REPOSITORY / "out" / name / file).read_text("utf-8").split("\n")
    made = files_of(context_of(name))[file]()
    return tuple(zip(text, made, strict=True))


def settings_of(line: LineReasons) -> set[str]:
    return {each.setting for each in line.sources if each.setting is not None}


def facts_of(line: LineReasons) -> set[str]:
    return {f"{each.fact}: {each.key}" for each in line.sources if each.fact is not None}


# --- lines ----------------------------------------------------------------------------------------

FILES = tuple(
    sorted(
        str(path.relative_to(REPOSITORY / "out"))
        for path in (REPOSITORY / "out").rglob("*")
        if path.is_file() and path.name not in COPIES and path.name != "MANIFEST"
    )
)
QUICK = {f"{STORY}/PLAN.md", f"{STORY}/ct200/kimi-k2.6.service"}


@pytest.mark.parametrize(
    "path",
    [path if path in QUICK else pytest.param(path, marks=pytest.mark.slow) for path in FILES],
)
def test_every_line_has_an_answer(path: str) -> None:
    """Each line of the committed output names what it depends on, or says that it is the template's own."""
    name, _, file = path.partition("/")
    lines = lines_of(name, file)
    assert [text for text, line in lines if not (line.sources or line.notes)] == []
    for text, line in lines:
        if TEMPLATE in line.notes:
            assert (line.sources, line.notes) == ((), (TEMPLATE,)), text
        if COUNTING in line.notes:  # it says that nothing else moves it
            assert {each.setting for each in line.sources} == {"engine.version"}, text


UNMOVED = re.compile(
    r"<!-- Generated from .*|# Generated from .*|# k2\.6-\S+|<title .*|<g transform=.*"
    r'|  "(?:profile|schema)": .*|  "(?:unknowns|findings|neighbours|unpriced|assumptions|accepted)": (?:\[\]|\{\}),'
    r'|    "(?:low|best|high)": [\d.]+,?'
)
"""The profile's name, a drawing's own places, lists of nothing, and what a GPU has free, which its entry alone says."""


def is_fixed(line: LineReasons) -> bool:
    """Whether its words are the template's own."""
    return any(note == TEMPLATE or note.startswith(FIXED) for note in line.notes)


@pytest.mark.parametrize(
    "path",
    [path if path in QUICK else pytest.param(path, marks=pytest.mark.slow) for path in FILES],
)
def test_every_line_but_a_few_is_made_by_settings(path: str) -> None:
    """What is not the template's own names a setting, set or left at its default, but for lines that no setting changes."""
    name, _, file = path.partition("/")
    lines = lines_of(name, file)
    unmoved = [text for text, line in lines if not is_fixed(line) and not settings_of(line)]
    assert [text for text in unmoved if not UNMOVED.fullmatch(text)] == []


TIMEOUT = r'  targets\.ct200\.start_timeout +not set\n    the plan reckons with "25min": twice the 595 s to read .* at least\n'
STATE = r'  targets\.ct200\.state_dir +not set\n    the plan reckons with "/var/lib/poolproof/kimi-k2\.6": .*unit\n'


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("  --timeout ", TIMEOUT),
        ("TimeoutStartSec=", TIMEOUT),
        ("StartLimitIntervalSec=", TIMEOUT),
        ("EnvironmentFile=", STATE),
    ],
)
def test_a_line_of_a_setting_that_nobody_sets(tree: Checkout, start: str, expected: str) -> None:
    """A line names a setting that no file sets beside those that are set, with what the plan has for it, and why."""
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace('start_timeout = "30min"\n', ""))
    assert tree.run("compile").code == 0
    unit = f"out/{STORY}/ct200/kimi-k2.6.service"
    lines = (tree.root / unit).read_text("utf-8").split("\n")
    number = next(n for n, each in enumerate(lines, 1) if each.startswith(start))
    told = tree.run("why", f"{unit}:{number}").out
    assert re.search(expected, told) is not None, told


def test_a_line_of_a_choice_of_the_engine(tree: Checkout) -> None:
    """What the engine picks by itself is told with its value, and how to ask what it hangs on."""
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("schema = 1", 'schema = 1\nunset = ["memory.chunked_prefill"]'))
    assert tree.run("compile").code == 0
    review = f"out/{STORY}/PLAN.md"
    lines = (tree.root / review).read_text("utf-8").split("\n")
    number = next(n for n, each in enumerate(lines, 1) if each.startswith("| activations, peak"))
    told = tree.run("why", f"{review}:{number}").out
    assert re.search(
        r"  memory\.chunked_prefill +not set\n    the plan reckons with [\d_]+, the engine's choice: "
        rf"see `poolproof why {re.escape(STORY)} memory\.chunked_prefill`\n",
        told,
    ), told


def test_a_setting_that_nobody_sets_is_told_with_what_the_plan_has(tree: Checkout) -> None:
    """`why` and `show` say the value that is reckoned with, and whose choice it is; nothing where the plan has none."""
    text = tree.profile(STORY).read_text("utf-8")
    text = text.replace('start_timeout = "30min"\n', "")
    tree.write(STORY, text.replace("schema = 1", 'schema = 1\nunset = ["memory.chunked_prefill"]'))
    told = tree.run("why", STORY, "targets.ct200.start_timeout").out
    assert (
        '  the plan reckons with "25min": twice the 595 s to read 595 GB of weight files at 1 GB/s, and 5min for graphs '
        "and warm-up; in whole steps of 5min, and 10min at least\n" in told
    )
    told = tree.run("why", STORY, "memory.chunked_prefill").out
    reckoned = re.search(
        r"  the plan reckons with ([\d_]+), the engine's choice, as sglang 0.5.11 has it for\n",
        told,
    )
    assert reckoned is not None
    assert "reckons" not in tree.run("why", STORY, "memory.max_pool_tokens", "memory.fraction").out
    shown = tree.run("show", STORY).out
    assert '# start_timeout = "25min"  # worked out from the rest\n' in shown
    assert f"# chunked_prefill = {reckoned[1]}  # the engine's choice\n" in shown


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("ct200/kimi-k2.6.service", "  # runs Python code"),
        ("ct200/kimi-k2.6.service", "  --port 30000"),
        ("ct200/kimi-k2.6.env", ""),
        ("PLAN.md", "- 77,184 B a token"),
        ("PLAN.md", "## Findings"),
        ("PLAN.md", "rest = "),
        ("ct200/kimi-k2.6.service", "After="),
        ("PLAN.md", "**Verdict: uncertain"),
        pytest.param("plan.json", '  "verdict"', marks=pytest.mark.slow),
        ("memory.svg", '  <text x="'),
    ],
)
def test_a_line_alone_is_told_what_it_is_told_among_all(file: str, text: str) -> None:
    """To ask for one line only, and for nothing else, changes nothing of its answer."""
    lines = lines_of(STORY, file)
    place = next(place for place, (each, _) in enumerate(lines) if each.startswith(text))
    assert line_of(context_of(STORY), file, place) == lines[place][1]


def test_a_drawing_depends_on_what_it_draws() -> None:
    """A line of memory.svg names what its figures and its places hang on; the style is the template's own."""
    lines = lines_of(STORY, "memory.svg")
    (promised,) = (line for text, line in lines if ">promised 200,005<" in text)
    assert {"serve.context", "serve.concurrency"} <= settings_of(promised)
    (style,) = (line for text, line in lines if text.startswith("  .memory .room"))
    assert style.notes == (TEMPLATE,)


def test_an_option_names_its_setting() -> None:
    """Each flag of the unit depends on the setting that the plan says it comes from, and the file of a draft on its path."""
    context = context_of(STORY)
    plan = context.several[0].plan
    assert plan is not None
    lines = lines_of(STORY, "ct200/kimi-k2.6.service")
    for option in plan.options:
        (line,) = (line for text, line in lines if text.strip(" \\").split(" ")[0] == option.flag)
        expected = {
            "speculative.draft": "speculative.draft_path",
            "secrets.api_key": "secrets.api_key.file",
        }.get(option.setting, option.setting)
        assert settings_of(line) == {expected}, option.flag


@pytest.mark.parametrize(
    ("text", "settings", "facts"),
    [
        ("| request table", {"serve.context", "serve.max_running_requests"}, set()),
        ("| logits buffer", {"serve.max_running_requests"}, {"model: vocabulary"}),
        ("| weights", {"gpus.kind", "parallel.tensor"}, {"boots/ct200-0.85: pool_tokens"}),
        ("| activations", {"memory.chunked_prefill"}, {"model: hidden", "draft: taps"}),
        ("- 77,184 B a token", {"memory.kv_dtype"}, {"model: layers", "draft: layers"}),
        ("| ct200 |", {"targets.ct200.restarts", "targets.ct200.start_timeout"}, set()),
        ("# k2.6-200k", set(), set()),
    ],
)
def test_what_a_line_of_the_review_depends_on(
    text: str, settings: set[str], facts: set[str]
) -> None:
    """A line of a budget depends on the settings and the figures that are in its formula."""
    (line,) = (line for each, line in lines_of(STORY, "PLAN.md") if each.startswith(text))
    assert settings <= settings_of(line)
    assert facts <= facts_of(line)


def test_a_line_does_not_depend_on_everything() -> None:
    """The request table has nothing to do with the model, the GPU, or the fraction."""
    (line,) = (
        line for each, line in lines_of(STORY, "PLAN.md") if each.startswith("| request table")
    )
    assert not settings_of(line) & {"memory.fraction", "model.id", "gpus.kind", "serve.port"}
    assert not facts_of(line)


@pytest.mark.parametrize(
    ("start", "named", "others"),
    [
        ("cell = ", {"memory.kv_dtype"}, {"memory.fraction", "gpus.count", "serve.context"}),
        ("rest = ", {"memory.fraction", "gpus.kind"}, {"memory.kv_dtype", "serve.context"}),
        ("pool = ", {"memory.fraction", "memory.kv_dtype"}, {"serve.context"}),
        (
            "- warning `reserve-uncertain`",
            {"memory.fraction"},
            {"memory.kv_dtype", "serve.concurrency"},
        ),
    ],
)
def test_a_step_names_what_is_in_it(start: str, named: set[str], others: set[str]) -> None:
    """Each line of the pool's formula is one by itself, and a finding about the reserve has nothing of the pool's promise."""
    (line,) = (line for each, line in lines_of(STORY, "PLAN.md") if each.startswith(start))
    assert named <= settings_of(line)
    assert not others & settings_of(line)


@pytest.mark.parametrize(
    ("file", "start", "since"),
    [
        ("PLAN.md", "## Findings", "something was found"),
        ("PLAN.md", "## Static budget", "the memory of this service is known"),
        (
            "PLAN.md",
            "Which of these a token costs",
            "it is not known which of several prices a token has",
        ),
        ("PLAN.md", "## Taken for granted", "something is taken for granted"),
        ("PLAN.md", "## Services", None),
        ("PLAN.md", "| | promised", None),
        (
            "ct200/kimi-k2.6.service",
            "RestartPreventExitStatus",
            "a probe tells when the service is ready",
        ),
        ("ct200/kimi-k2.6.service", "After=", "it is a unit of the system, and of no user"),
        ("ct200/kimi-k2.6.service", "KillMode=", None),
    ],
)
def test_a_line_without_figures_says_what_it_is_there_by(
    file: str, start: str, since: str | None
) -> None:
    """The template's own words are the same whatever the settings are, or are there by something, which is said."""
    (line,) = (line for each, line in lines_of(STORY, file) if each.startswith(start))
    assert line.notes == ((TEMPLATE,) if since is None else (f"{FIXED} {since}",))


@pytest.mark.parametrize("template", ["plan.md.j2", "service.j2", "launch.sh.j2", "env.j2"])
def test_what_a_section_is_there_by_has_words(template: str) -> None:
    """Each value that a template of a profile's files asks for has a sentence that says so."""
    asked = re.findall(r"\{%-? if (\w+) %\}", verbatim(template))
    assert [each for each in asked if f"`{each}`" in reason_of_section(each)] == []


def test_what_is_taken_for_granted_names_the_build() -> None:
    """A sentence that an entry of the catalogue brings is told by that, whichever of several it is."""
    lines = lines_of(STORY, "PLAN.md")
    told = [
        line for each, line in lines if each.startswith(("- the flag `--spec", "- a verify step"))
    ]
    assert [facts_of(line) for line in told] == [{"build: assumptions"}] * 2


@pytest.mark.parametrize(
    ("setting", "file", "old", "new"),
    [
        ("serve.port", "base/service", "port = 30000", "port = 30001"),
        ("memory.chunked_prefill", "base/service", "= 8192", "= 8191"),
        ("serve.max_running_requests", STORY, "requests = 8 ", "requests = 9 "),
        ("targets.ct200.user", STORY, 'user = "sglang"', 'user = "other"'),
        ("model.served_name", "base/kimi-k2.6", '"kimi-k2.6"', '"other"'),
        ("speculative.tree_budget", "base/sglang-ddtree", "tree_budget = 8", "tree_budget = 7"),
    ],
)
def test_what_changes_is_what_is_named(
    tree: Checkout, setting: str, file: str, old: str, new: str
) -> None:
    """An edit of a profile changes no line but those that name the setting; held against real compiles."""
    tree.compile(STORY)
    before = read(tree)
    path = tree.profile(file)
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")
    tree.compile(STORY)
    after = read(tree)
    compared = 0
    for name in ("PLAN.md", "ct200/kimi-k2.6.service"):
        lines = lines_of(STORY, name)
        if name not in after or len(after[name]) != len(before[name]):
            continue
        for (_, line), was, now in zip(lines, before[name], after[name], strict=True):
            if was != now:
                compared += 1
                assert setting in settings_of(line), was
    assert compared or setting == "model.served_name"


def read(tree: Checkout) -> dict[str, list[str]]:
    root = tree.out / STORY
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8").split("\n")
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("value", "held"),
    [
        ({"a": 1}, [[], ["a"], []]),
        ({"a": [], "c": {}}, [[], ["a"], ["c"], []]),
        (
            {"a": [1, {"b": [], "c": {"d": 2}}]},
            [[], [], ["a.0"], ["a.1.b", "a.1.c.d"], [], []],
        ),
        ({"a": {"b": [None, "x\ny"]}, "c": "z"}, [[], [], ["a.b.0", "a.b.1"], [], ["c"], []]),
    ],
)
def test_plan_json_is_counted_line_by_line(
    value: dict[str, object], held: Sequence[Sequence[str]]
) -> None:
    """The paths of all that a line holds are given for each line that is written, and what is written is JSON."""
    text = lay_out(value)
    assert json.loads(text) == value
    assert len(text.split("\n")) == len(held) + 1
    assert [[".".join(path) for path in paths] for paths in json_lines(value)] == held


def test_why_a_line(once: Checkout) -> None:
    """A line is asked for by its file and number; settings are told with their values and places, facts with their files."""
    unit = once.out / STORY / "ct200/kimi-k2.6.service"
    number = unit.read_text("utf-8").split("\n").index("  --port 30000 \\") + 1
    done = once.run("why", f"out/{STORY}/ct200/kimi-k2.6.service:{number}")
    assert (done.code, done.err) == (0, "")
    assert done.out == ("--port 30000 \\\n  serve.port = 30_000  profiles/base/service.toml:6:8\n")


def test_why_a_line_from_within_out(once: Checkout) -> None:
    """The path is that from where the user is; a copied file and a template's line say so."""
    done = once.run("why", "launch.sh:7", within=f"out/{STORY}/ct200")
    assert "from the template" in done.out
    assert "from a copy" in once.run("why", f"out/{STORY}/ct200/ready.py:3").out


@pytest.mark.slow
def test_why_a_line_of_a_budget(once: Checkout) -> None:
    """A figure names the entries of the catalogue it is made of, with their keys."""
    review = (once.out / STORY / "PLAN.md").read_text("utf-8").split("\n")
    number = next(n for n, each in enumerate(review, 1) if each.startswith("| logits buffer"))
    done = once.run("why", f"out/{STORY}/PLAN.md:{number}")
    assert done.code == 0
    assert "serve.max_running_requests = 8" in done.out
    assert "compiler/catalog/data/models/moonshotai--Kimi-K2.6.toml: vocabulary" in done.out


def test_a_line_that_moved(once: Checkout, tmp_path: Path) -> None:
    """A line of a file that is not current is found by its text; one that was edited has no history."""
    tree = once.copy(tmp_path / "tree")
    unit = tree.out / STORY / "ct200/kimi-k2.6.service"
    text = unit.read_text("utf-8")
    unit.write_text("# somebody's\n" + text.replace("--port 30000", "--port 9"), "utf-8")
    path = f"out/{STORY}/ct200/kimi-k2.6.service"
    number = text.split("\n").index("  --host 0.0.0.0 \\") + 2
    assert "serve.host" in tree.run("why", f"{path}:{number}").out
    done = tree.run("why", f"{path}:{number + 1}")
    assert (done.code, done.out) == (1, "")
    assert "error[line-unknown]" in done.err
    assert "compile --check --diff" in done.err


@pytest.mark.parametrize(
    "where",
    [
        f"out/{STORY}/PLAN.md:0",
        f"out/{STORY}/PLAN.md:900",
        f"out/{STORY}/nothing.md:1",
        "out/nobody/PLAN.md:1",
    ],
)
def test_a_line_that_is_not_there(once: Checkout, where: str) -> None:
    """`line-unknown`: a line past the end, and a file that no compile writes."""
    done = once.run("why", where)
    assert (done.code, done.out) == (1, "")
    assert "error[line-unknown]" in done.err


def test_a_pipe_in_the_place_of_a_file(tree: Checkout) -> None:
    """It is not waited for: the line is that of the file as it would be compiled."""
    assert tree.run("compile").code == 0
    pipe = tree.out / STORY / "PLAN.md"
    text = pipe.read_text("utf-8").splitlines()[0]
    pipe.unlink()
    os.mkfifo(pipe)
    done = run_forked(tree, "why", f"out/{STORY}/PLAN.md:1")
    assert (done.code, done.out.splitlines()[0]) == (0, text)


@pytest.mark.parametrize("file", ["/etc/hosts", "../elsewhere.service", f"profiles/{STORY}.toml"])
def test_a_file_outside_of_out(once: Checkout, file: str) -> None:
    """`line-unknown`: only what a compile wrote has reasons, and the file is named as it was given."""
    done = once.run("why", f"{file}:1")
    assert (done.code, done.out) == (1, "")
    assert f"error[line-unknown]: `{file}` is not below `out/`" in done.err
    assert ("`poolproof why PROFILE KEY`" in done.err) is file.endswith(".toml")


def test_a_line_of_a_refused_profile(once: Checkout, tmp_path: Path) -> None:
    """A profile that is refused compiles nothing now: that is said, not that no compile writes the file."""
    tree = once.copy(tmp_path / "tree")
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("fraction = 0.93", "fraction = 0.7"))
    done = tree.run("why", f"out/{STORY}/PLAN.md:5")
    assert (done.code, done.out) == (1, "")
    assert f"`{STORY}` does not compile" in done.err


# --- settings -------------------------------------------------------------------------------------


def test_who_wins_and_who_loses(tree: Checkout) -> None:
    """The winner, then each loser with its value and the reason it lost, nearest first."""
    tree.write("base/weak", "[defaults.serve]\nport = 1\n[serve]\nhost = 'a'\n")
    tree.write("base/mid", 'extends = ["base/weak"]\n[serve]\nport = 2\n')
    text = tree.profile(STORY).read_text("utf-8")
    text = text.replace('"base/service"', '"base/service", "base/mid"')
    tree.write(STORY, text.replace("[serve]", "[serve]\nport = 3\nhost = 'b'"))
    done = tree.run("why", STORY, "serve.port", "serve.host")
    assert (done.code, done.err) == (0, "")
    port, host = done.out.split("\n\n") if "\n\n" in done.out else done.out.split("serve.host")
    assert port.split("\n")[:4] == [
        "serve.port = 3",
        f"  profiles/{STORY}.toml:6:8     wins",
        f"  profiles/base/mid.toml:3:8      overridden by {STORY}:  2",
        f"  profiles/base/service.toml:6:8  overridden by {STORY}:  30_000",
    ]
    assert "a default" in port
    assert "overridden" in host


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            '"fit"',
            "the least that keeps the promise: in steps of 0.001, the first at which the pool holds the 200,005 tokens",
        ),
        ('"auto"', "what the engine picks, as sglang 0.5.11 has it for"),
    ],
)
def test_a_word_for_a_number_is_told_with_the_number(tree: Checkout, word: str, said: str) -> None:
    """What `fit` and `auto` come to is said as the plan has it, and that no other file sets it."""
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("fraction = 0.93", f"fraction = {word}"))
    told = tree.run("why", STORY, "memory.fraction").out
    (plan,) = tree.run("check", STORY, "--json").json["plans"]
    assert f"  comes to {plan['fraction']:g}, {said}" in told
    assert "sets it; nothing else does" in told
    assert "comes to" not in tree.run("why", STORY, "serve.port").out


def test_a_fraction_that_keeps_nothing_is_told_as_such(tree: Checkout) -> None:
    """Where no fraction keeps the promise, the number is not called one that does."""
    text = tree.profile(STORY).read_text("utf-8").replace("fraction = 0.93", 'fraction = "fit"')
    tree.write(STORY, text.replace("concurrency = 1", "concurrency = 8"))
    told = tree.run("why", STORY, "memory.fraction").out
    assert "the most there is: no fraction keeps the promise" in told


def test_a_forced_setting(tree: Checkout) -> None:
    """A setting by force says so, and what it wins over."""
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text + "\n[force.memory]\npage_size = 1\n[env]\nA = 'b'\n")
    assert "sets it, by force; nothing else" in tree.run("why", STORY, "memory.page_size").out


def test_items_of_a_list(tree: Checkout) -> None:
    """Each item of a list that was edited has its own place."""
    tree.write("base/list", "[gpus]\nindices = [0, 1]\n")
    text = (
        tree.profile(STORY)
        .read_text("utf-8")
        .replace('"base/service"', '"base/service", "base/list"')
    )
    tree.write(STORY, text + "\n[gpus]\nindices = { append = [2] }\n")
    done = tree.run("why", STORY, "gpus.indices")
    assert "gpus.indices = [0, 1, 2]" in done.out
    assert "item 0  profiles/base/list.toml:2:12" in done.out
    assert f"item 2  profiles/{STORY}.toml:19:23" in done.out


def test_a_setting_that_is_not_set(tree: Checkout) -> None:
    """A default, one without, one that was taken away, and one that the language does not know."""
    assert (
        "parallel.data is not set; the default is 1" in tree.run("why", STORY, "parallel.data").out
    )
    assert tree.run("why", STORY, "model.path").code == 0
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("schema = 1", 'schema = 1\nunset = ["parsers.reasoning"]'))
    done = tree.run("why", STORY, "parsers.reasoning")
    assert "parsers.reasoning is not set" in done.out
    assert "takes it away" in done.out
    assert f'unset by {STORY}:  "kimi_k2"' in done.out
    done = tree.run("why", STORY, "memory.fractoin")
    assert (done.code, done.out) == (1, "")
    assert "`memory.fraction`" in done.err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("--mem-fraction-static", "memory.fraction = "),
        ("mem-fraction-static", "memory.fraction = "),
        ("--tensor-parallel-size", "parallel.tensor = "),
        ("--tp=8", "parallel.tensor = "),
        ("--enable-metrics", "flags.enable-metrics = true"),
        ("enable_metrics", "flags.enable-metrics = true"),
        ("--schedule-policy", "flags.schedule-policy is not set"),
        ("flags.enable_metrics", "flags.enable-metrics = true"),
        ("flags.mem-fraction-static", "memory.fraction = 0.93"),
        ("flags.schedule_policy", "flags.schedule-policy is not set"),
        ("--extra", "flags.extra-metric-labels is not set"),
    ],
)
def test_a_flag_is_its_setting(once: Checkout, asked: str, told: str) -> None:
    """A flag by any of its names, with its dashes, without, or as a key of `flags`, is asked for as the setting that writes it."""
    done = once.run("why", STORY, asked)
    assert done.code == 0, done.err
    assert done.out.startswith(told)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("extra", None),
        ("flags.mem-fraction", "flags.mem-fraction-static"),
        ("flags.enable-metric", "flags.enable-metrics"),
        ("--enable-metric-s", "--enable-metrics"),
    ],
)
def test_what_only_begins_like_a_flag(once: Checkout, asked: str, meant: str | None) -> None:
    """A flag may be cut short as the server's parser takes it, with its dashes; else it is a slip, with what is like it."""
    done = once.run("why", STORY, asked)
    assert (done.code, done.out) == (1, "")
    assert f"there is no setting `{asked}`" in done.err
    assert ("similar" in done.err) is (meant is not None)
    assert meant is None or f"a setting with a similar name exists: `{meant}`" in done.err


def test_a_flag_that_is_set_without_being_there(tree: Checkout) -> None:
    """What a file sets is told, whatever the release has."""
    with tree.profile(STORY).open("a") as file:
        file.write("[flags]\nno-such_flag = true\n")
    assert "flags.no-such_flag = true" in tree.run("why", STORY, "flags.no-such_flag").out


def test_the_verdict_hangs_on_the_promise_in_both_files(once: Checkout) -> None:
    """The line of the verdict names what is promised, the same in PLAN.md and plan.json."""
    for file in ("PLAN.md", "plan.json"):
        lines = (once.out / STORY / file).read_text("utf-8").splitlines()
        (at,) = (n for n, line in enumerate(lines, 1) if re.match(r'\*\*Verdict|  "verdict"', line))
        said = once.run("why", f"out/{STORY}/{file}:{at}").out
        for setting in ("serve.concurrency", "serve.context", "serve.max_running_requests"):
            assert setting in said, file


def test_a_flag_that_the_release_does_not_have(once: Checkout) -> None:
    """It is no setting either, and is not taken for an option of the verb."""
    done = once.run("why", STORY, "--no-such-flag")
    assert (done.code, done.out) == (1, "")
    assert "there is no setting `--no-such-flag`" in done.err


def test_a_table(tree: Checkout) -> None:
    """A table stands for all that is below it."""
    out = tree.run("why", STORY, "parsers").out
    assert "parsers.reasoning" in out
    assert "parsers.tool_call" in out


def test_a_profile_that_does_not_merge(tree: Checkout) -> None:
    """What keeps a profile from merging is said, and nothing is explained."""
    tree.write(STORY, "extends = [")
    for words in (("why", STORY, "memory.fraction"), ("show", STORY)):
        done = tree.run(*words)
        assert (done.code, done.out) == (1, "")
        assert "error[toml-syntax]" in done.err


def test_why_of_nothing(tree: Checkout) -> None:
    """A profile alone is no question."""
    assert tree.run("why", STORY).code == 2


# --- show -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [STORY, FP8, SHORT, "base/service"])
def test_show_is_the_merged_profile(tree: Checkout, name: str) -> None:
    """What is printed is TOML, and says what the merge says."""
    inputs = Inputs(reader=DiskReader(PROFILES), catalog=open_catalog(FolderReader(PROFILES)))
    resolved, _ = resolve(name, inputs)
    assert resolved is not None
    for words in ((), ("--origins",)):
        done = tree.run("show", name, *words)
        assert (done.code, done.err) == (0, "")
        assert tomllib.loads(done.out) == resolved.values


def test_show_says_where_from(tree: Checkout) -> None:
    """With origins each setting has its place; without, defaults are in comments all the same."""
    out = tree.run("show", STORY, "--origins").out
    assert f"fraction = 0.93  # profiles/{STORY}.toml:11:12" in out
    assert "# restarts = 3  # the default" in out
    assert "profiles/" not in tree.run("show", STORY).out


def test_show_as_json(tree: Checkout) -> None:
    """The contract: each setting with its value and its history."""
    found = tree.run("show", STORY, "--json").json
    assert found.keys() == {"schema", "profile", "settings", "defaults", "diagnostics"}
    fraction = found["settings"]["memory.fraction"]
    assert fraction["value"] == "0.93"
    assert fraction["origin"]["file"] == f"profiles/{STORY}.toml"
    assert fraction["others"] == []
    assert found["defaults"]["parallel.data"] == "1"


def test_show_covers_a_secret(tree: Checkout) -> None:
    """What looks like a secret is not repeated, by `show` nor by `why`."""
    secret = "hf_" + "a1B2c3D4e5F6g7H8"
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, f'{text}\n[env]\nHF_TOKEN = "{secret}"\n')
    for words in (("show", STORY), ("show", STORY, "--json"), ("why", STORY, "env")):
        done = tree.run(*words)
        assert "HF_TOKEN" in done.out
        assert secret not in done.out


def test_show_a_profile_that_is_wrong(tree: Checkout) -> None:
    """A profile that merges and is wrong is shown, with what is wrong, and exits 1."""
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("concurrency = 1", 'concurrency = "one"'))
    done = tree.run("show", STORY)
    assert done.code == 1
    assert 'concurrency = "one"' in done.out
    assert "error[wrong-type]" in done.err
