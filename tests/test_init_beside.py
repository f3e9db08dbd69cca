"""`init` in a tree that stands: one command adds a service, and nothing that is there is touched."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from checkouts import Done, run
from test_init import figures_of, offered_in


FIRST = ("--model", "Qwen/Qwen3-32B", "--gpu", "h100", "--count", "2", "--host", "node-b")
SECOND = ("--model", "Qwen/Qwen3-8B", "--gpu", "h100", "--count", "1", "--context", "16384")


def init(folder: Path, *words: str) -> Done:
    return run("init", *words, here=folder)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one service."""
    assert init(tmp_path, *FIRST).code == 0
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def profile(folder: Path, name: str) -> dict[str, Any]:
    return tomllib.loads((folder / "profiles" / f"{name}.toml").read_text("utf-8"))


def replace(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / "profiles" / f"{name}.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_second_service_is_added_by_one_command(tree: Path) -> None:
    """Its profile and the fragments that lack are written; all that stood is as it was, and the whole tree passes."""
    before = texts(tree)
    (tree / ".pre-commit-config.yaml").unlink()  # what a team took away stays away
    done = init(tree, *SECOND, "--host", "node-c")
    assert done.code == 0, done.err
    after = texts(tree)
    assert after.keys() - before.keys() == {
        "profiles/base/qwen3-8b.toml",
        "profiles/hw/1x-h100.toml",
        "profiles/qwen3-8b-node-c.toml",
    }
    assert before.keys() - after.keys() == {".pre-commit-config.yaml"}
    assert {name: after[name] for name in before if name in after}.items() <= before.items()
    assert "kept profiles/base/service.toml, which is used as it is" in done.err
    assert run("check", "--strict", here=tree).code == 0
    assert "port" not in profile(tree, "qwen3-8b-node-c")["serve"]


def test_on_the_same_host_it_gets_a_port_and_gpus_of_its_own(tree: Path) -> None:
    """Beside services of the host it takes the next port and the first GPUs that are free, and says so."""
    for model, port, indices in (("Qwen/Qwen3-8B", 30100, [2]), ("Qwen/Qwen3-4B", 30200, [3])):
        done = init(tree, "--model", model, *SECOND[2:], "--host", "node-b")
        assert done.code == 0, done.err
        made = profile(tree, f"{model.partition('/')[2].lower()}-node-b")
        assert made["serve"]["port"] == port
        assert made["gpus"]["indices"] == indices
        assert f"this one gets {indices[0]}" in done.err
    assert run("check", "--strict", here=tree).code == 0
    assert run("fmt", "--check", here=tree).code == 0


def test_another_release_on_the_same_host_gets_an_interpreter_of_its_own(tree: Path) -> None:
    """Where the usual path has another release there, a new fragment names one by its release, and one that stands is kept."""
    old = next(path.stem for path in (tree / "profiles/base").glob("sglang-*"))
    done = init(tree, *SECOND, "--host", "node-b", "--engine", "0.5.13")
    assert done.code == 0, done.err
    own = "/opt/sglang-0.5.13/bin/python"
    assert "others on `node-b` have another release at `/opt/sglang/bin/python`" in done.err
    assert profile(tree, "base/sglang-0.5.13")["engine"]["python"] == own
    assert "engine" not in profile(tree, "qwen3-8b-node-b")
    assert profile(tree, f"base/{old}")["engine"]["python"] == "/opt/sglang/bin/python"
    assert run("check", here=tree).code == 0


def test_a_fragment_of_a_release_that_stands_is_used_beside_another(tree: Path) -> None:
    """Its path is that of other hosts: on one that has another release there, the service names its own."""
    assert init(tree, *SECOND, "--host", "node-c", "--engine", "0.5.13").code == 0
    done = init(tree, *SECOND, "--host", "node-b", "--engine", "0.5.13")
    assert done.code == 0, done.err
    assert profile(tree, "base/sglang-0.5.13")["engine"]["python"] == "/opt/sglang/bin/python"
    assert profile(tree, "qwen3-8b-node-b")["engine"]["python"] == "/opt/sglang-0.5.13/bin/python"
    assert run("check", here=tree).code == 0
    assert run("fmt", "--check", here=tree).code == 0


def test_an_interpreter_that_was_asked_for_is_not_replaced(tree: Path) -> None:
    """`--python` of another release's interpreter is refused, in the words of the options."""
    replace(
        tree,
        f"base/{next(p.stem for p in (tree / 'profiles/base').glob('sglang-*'))}",
        "/opt/sglang/",
        "/srv/sg/",
    )
    asked = ("--engine", "0.5.13", "--python", "/srv/sg/bin/python")
    done = init(tree, *SECOND, "--host", "node-b", *asked)
    assert done.code == 1
    assert "error[interpreter-shared]" in done.err
    assert "`--python /srv/sg/bin/python`: both start" in done.err
    assert "--python /opt/sglang-0.5.13/bin/python" in done.err


def test_an_interpreter_by_its_release_needs_no_other(tmp_path: Path) -> None:
    """Whoever names one as it is advised hears of no other service on the host where there is none."""
    own = "/opt/sglang-0.5.23/bin/python"
    done = init(tmp_path, *FIRST, "--engine", "0.5.23", "--python", own)
    assert done.code == 0, done.err
    assert profile(tmp_path, "base/sglang-0.5.23")["engine"]["python"] == own
    assert "others on" not in done.err


def test_from_within_a_tree_it_is_that_tree(tree: Path) -> None:
    """Whoever stands in a folder of the tree adds to the tree, and no second one is made there."""
    done = init(tree / "profiles" / "base", *SECOND, "--host", "node-c")
    assert done.code == 0, done.err
    assert (tree / "profiles/qwen3-8b-node-c.toml").is_file()
    assert not (tree / "profiles/base/profiles").exists()


@pytest.mark.slow
def test_a_number_of_requests_that_is_offered_is_a_round_one(tmp_path: Path) -> None:
    """Nobody asks for 1,479 requests: what is offered has two figures, and passes."""
    words = ("--model", "Qwen/Qwen3-0.6B", "--gpu", "h100", "--count", "1", "--host", "a")
    more = ("--context", "1024", "--concurrency", "9000")
    done = init(tmp_path, *words, *more)
    assert done.code == 1
    numbers = [int(each) for each in re.findall(r"^  --concurrency (\d+)", done.err, re.MULTILINE)]
    assert numbers
    assert all(each < 100 or each % 10 ** (len(str(each)) - 2) == 0 for each in numbers)


def test_what_a_team_set_is_used_as_it_is(tree: Path) -> None:
    """An address, an interpreter, and an older release of the tree hold for the new service too."""
    replace(tree, "base/service", "port = 30000", "port = 9000")
    engine = next((tree / "profiles" / "base").glob("sglang-*.toml"))
    text = re.sub(r'version = "[^"]*"', 'version = "0.5.11"', engine.read_text("utf-8"))
    engine.unlink()
    path = engine.with_name("sglang-0.5.11.toml")
    path.write_text(text.replace("/opt/sglang/bin", "/srv/venv/bin"), "utf-8")
    replace(tree, "qwen3-32b-node-b", f"base/{engine.stem}", "base/sglang-0.5.11")
    done = init(tree, *SECOND, "--host", "node-b")
    assert done.code == 0, done.err
    made = profile(tree, "qwen3-8b-node-b")
    assert "base/sglang-0.5.11" in made["extends"]
    assert made["serve"]["port"] == 9100
    assert run("compile", here=tree).code == 0
    unit = (tree / "out/qwen3-8b-node-b/node-b/qwen3-8b.service").read_text("utf-8")
    assert "/srv/venv/bin/python" in unit


def test_above_the_last_port_none_is_written(tree: Path) -> None:
    """Where every port that is tried is taken, the shared one stays, and the clash is what refuses the new service."""
    replace(tree, "base/service", "port = 30000", "port = 65500")
    done = init(tree, *SECOND, "--host", "node-b")
    assert done.code == 1
    assert "error[port-clash]" in done.err
    assert "655" in done.err
    assert "656" not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model-path", "/data/q"), "its `model.path` is `/srv/models/Qwen3-32B`, not `/data/q`"),
        (("--python", "/x/python"), "its `engine.python` is `/opt/sglang/bin/python`"),
        (
            (),
            "`profiles/qwen3-32b-node-b.toml` is there already: edit it, or give another `--name`",
        ),
    ],
)
def test_what_stands_otherwise_is_named(tree: Path, words: tuple[str, ...], said: str) -> None:
    """A file that says otherwise than asked for keeps all from being written, and each is told with what to do."""
    before = texts(tree)
    host = FIRST if not words else (*FIRST[:-1], "node-c")
    done = init(tree, *host, *words)
    assert done.code == 1
    assert said in done.err
    assert texts(tree) == before


def test_a_fragment_of_another_thing_is_named(tree: Path) -> None:
    """A fragment that has the name and holds another number of GPUs is not taken for the one that is asked for."""
    (tree / "profiles/hw/1x-h100.toml").write_text(
        'schema = 1\n\n[gpus]\nkind = "h100"\ncount = 4\n', "utf-8"
    )
    done = init(tree, *SECOND, "--host", "node-c")
    assert done.code == 1
    assert "its `gpus.count` is `4`, not `1` (`--count`)" in done.err


@pytest.mark.parametrize("words", [(), ("--engine", "0.5.3")])
@pytest.mark.parametrize("name", ["base/sglang-0.5.23", "base/sglang", "engines/ours"])
def test_a_fragment_of_the_engine_is_found_by_what_it_says(
    tree: Path, name: str, words: tuple[str, ...]
) -> None:
    """One that was upgraded or renamed is used, whatever it is called, and said; no second one is written."""
    replace(tree, "base/sglang-0.5.23", 'version = "0.5.23"', 'version = "0.5.3"')
    path = tree / f"profiles/{name}.toml"
    path.parent.mkdir(exist_ok=True)
    (tree / "profiles/base/sglang-0.5.23.toml").rename(path)
    replace(tree, "qwen3-32b-node-b", '"base/sglang-0.5.23"', f'"{name}"')
    before = texts(tree)
    done = init(tree, *SECOND, "--host", "node-c", *words)
    assert done.code == 0, done.err
    added = texts(tree).keys() - before.keys()
    assert not any("sglang" in each for each in added)
    assert name in profile(tree, "qwen3-8b-node-c")["extends"]
    assert f"kept profiles/{name}.toml" in done.err
    said = f"`profiles/{name}.toml` says sglang 0.5.3: the new service takes its engine from there"
    assert said in done.err


def test_a_fragment_of_more_than_the_engine_is_not_taken(tree: Path) -> None:
    """What also says the model, or names a build, is of the services that extend it."""
    replace(
        tree, "base/qwen3-32b", "[model]", '[engine]\nname = "sglang"\nversion = "0.5.3"\n[model]'
    )
    (tree / "profiles/base/ours.toml").write_text(
        'schema = 1\n\n[engine]\nname = "sglang"\nversion = "0.5.3"\nbuild = "ours"\n', "utf-8"
    )
    done = init(tree, *SECOND, "--host", "node-c", "--engine", "0.5.3")
    assert done.code == 0, done.err
    assert (tree / "profiles/base/sglang-0.5.3.toml").is_file()


def test_a_release_that_nobody_asked_for_is_not_said_to_be(tree: Path) -> None:
    """Where the usual name is taken by a fragment of another kind, the release is the newest, and no option is blamed."""
    replace(tree, "base/sglang-0.5.23", 'version = "0.5.23"', 'version = "9.9.9"')
    done = init(tree, *SECOND, "--host", "node-c")
    assert done.code == 1
    assert "not `0.5.23` (the newest, since there is no `--engine`)" in done.err


def test_smaller_checkpoints_and_a_smaller_cache_are_offered(tmp_path: Path) -> None:
    """Where a model does not fit, its quantised checkpoints are offered, and an fp8 cache; each passes as it is written."""
    words = ("--gpu", "rtx-4090", "--count", "2", "--host", "a")
    for model, context, expected in (
        ("Qwen/Qwen3-32B", "16384", {"--model Qwen/Qwen3-32B-FP8", "--model Qwen/Qwen3-32B-AWQ"}),
        ("Qwen/Qwen3-32B-FP8", "40960", {"--kv-dtype fp8_e4m3"}),
    ):
        done = init(tmp_path, "--model", model, *words, "--context", context)
        assert done.code == 1
        lines = offered_in(done)
        offered = {line.split("  ")[1] for line in lines}
        assert expected <= offered
        for number, option in enumerate(sorted(expected)):
            folder = f"{context}-{number}"
            asked = ("--model", model, *words, "--context", context, *option.split())
            again = init(tmp_path, folder, *asked)
            assert again.code == 0, again.err


def test_weights_that_do_not_fit_are_one_error(tmp_path: Path) -> None:
    """Nothing that follows from weights that do not load is said beside them."""
    words = ("--gpu", "rtx-4090", "--count", "2", "--host", "a", "--concurrency", "64")
    done = init(tmp_path, "--model", "Qwen/Qwen3-32B", *words)
    assert re.findall(r"error\[(.*?)\]", done.err) == ["weights-too-large"]


def test_more_gpus_than_a_host_has(tmp_path: Path) -> None:
    """What no usual host holds is written, with where to read how several serve one model."""
    words = ("--gpu", "h100", "--count", "16", "--host", "node0", "--context", "65536")
    done = init(tmp_path, "--model", "moonshotai/Kimi-K2.6", *words)
    assert done.code == 0, done.err
    assert "few hosts have 16 GPUs" in done.err
    assert "docs/how-to/serve-over-several-nodes.md" in done.err


def test_a_fault_of_a_file_that_stands_is_told_at_its_place(tree: Path) -> None:
    """A shared fragment that is broken is what refuses the new service, and is shown where it is."""
    replace(tree, "base/service", "port = 30000", 'port = "http"')
    done = init(tree, *SECOND, "--host", "node-c")
    assert done.code == 1
    assert "profiles/base/service.toml:6:8" in done.err
    assert not (tree / "profiles/qwen3-8b-node-c.toml").exists()


def test_what_is_offered_beside_others_has_gpus_of_its_own(tree: Path) -> None:
    """More GPUs are those that the host's other services leave, as many as are then written."""
    words = ("--model", "Qwen/QwQ-32B", "--gpu", "h100", "--count", "1", "--context", "40960")
    asked = (*words, "--concurrency", "2", "--host", "node-b", "--name", "more")
    made = init(tree, *asked)
    assert made.code == 1
    (line,) = (" ".join(each.split()) for each in offered_in(made) if "--count 2" in each)
    done = init(tree, *asked, "--count", "2")
    assert done.code == 0, done.err
    assert figures_of(done) in line
    assert profile(tree, "more")["gpus"]["indices"] == [2, 3]


@pytest.mark.parametrize("name", ["prod", "team/prod", "profiles/team/prod.toml"])
def test_a_profile_may_have_a_name_of_its_own(tmp_path: Path, name: str) -> None:
    """The profile is called so, whatever the model and the host are called; its tree compiles."""
    assert init(tmp_path, *FIRST, "--name", name).code == 0
    short = name.removeprefix("profiles/").removesuffix(".toml")
    assert profile(tmp_path, short)["targets"].keys() == {"node-b"}
    assert run("compile", here=tmp_path).out.startswith(f"{short} on node-b  pass")
    again = init(tmp_path, *FIRST, "--name", name)
    assert again.code == 1
    assert (
        f"`profiles/{short}.toml` is there already: edit it, or give another `--name`" in again.err
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        ("../prod", "leads out of its folder"),
        ("/srv/prod", "is an absolute path"),
        ("a//b", "has an empty part"),
        ("boots/prod", "holds facts"),
        (".prod", "begins with a dot"),
        ("a b", "`a b` holds white space, so no file can be named after it"),
        ("up/a b.toml", "holds white space"),
        ("x" * 251, "is too long, so no file can be named after it"),
        ("x" * 5000, "is too long"),
        ("x/" * 3000 + "x", "is too long: a path holds 4,095 bytes at most"),
    ],
    ids=lambda each: each[:20],
)
def test_a_name_that_no_profile_can_have(tmp_path: Path, name: str, why: str) -> None:
    """The rule for names holds before anything is written."""
    done = init(tmp_path, *FIRST, "--name", name)
    assert (done.code, texts(tmp_path)) == (2, {})
    assert why in " ".join(done.err.split())


def test_a_name_too_long_in_a_tree_that_stands(tree: Path) -> None:
    """It is refused as in a new one; the longest that a file can have is taken."""
    before = texts(tree)
    assert init(tree, *SECOND, "--host", "node-b", "--name", "x" * 300).code == 2
    assert texts(tree) == before
    assert init(tree, *SECOND, "--host", "node-b", "--name", "x" * 250).code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--host", "x" * 300), 2, "is too long, so no file can be named after it"),
        (
            ("--host", "x" * 250),
            1,
            "is too long, so no file can be named after it: give a `--name`",
        ),
        (("--model", f"a/{'x' * 300}"), 1, "is too long, so no file can be named after it"),
    ],
    ids=["host", "profile", "model"],
)
def test_what_names_a_file_and_is_too_long(
    tree: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    """A host or a model that files would be called by is refused before anything is planned; a `--name` helps one of them."""
    before = texts(tree)
    done = init(tree, *SECOND, "--host", "node-b", *words)
    assert (done.code, texts(tree)) == (code, before)
    assert said in " ".join(done.err.split())
    assert "memory" not in done.out + done.err


@pytest.mark.parametrize("name", ["base/service", "base/qwen3-32b", "hw/2x-h100"])
def test_a_fragment_is_no_place_for_the_profile(tmp_path: Path, name: str) -> None:
    """A name of what services share is refused, and nothing is written."""
    done = init(tmp_path, *FIRST, "--name", name)
    assert (done.code, texts(tmp_path)) == (1, {})
    assert f"`profiles/{name}.toml` is for what services share: give another `--name`" in done.err


def test_a_profile_of_the_same_unit_is_told(tree: Path) -> None:
    """A second one of a model on its host runs in the other's place; that is said, with what makes it a service of its own."""
    done = init(tree, *FIRST, "--name", "longer")
    assert done.code == 0, done.err
    assert (
        "`qwen3-32b-node-b` has the unit `qwen3-32b` on `node-b`, too: one of them runs" in done.err
    )
    assert "has the unit" not in init(tree, *SECOND, "--host", "node-b").err
