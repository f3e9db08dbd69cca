"""Where a host has a service, as a change sees it: the next generation of the same, or a second one beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkouts import FP8, SHORT, STORY, Checkout, compiled_checkout
from repositories import commit, repository
from test_diff import UPGRADED, installed


PLAIN = UPGRADED.format(version="0.5.11", python="/opt/sglang")
"""One service, of `qwen3-8b.service` on `a`."""

HELD = "/var/lib/poolproof/qwen3-8b"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree in a repository of one commit, with one more service of a unit of its own; not to be changed."""
    tree = compiled_checkout(tmp_path_factory.mktemp("once") / "tree")
    tree.write("up", PLAIN)
    return repository(tree)


@pytest.fixture
def tree(once: Checkout, tmp_path: Path) -> Checkout:
    """A compiled tree in a repository of one commit."""
    return once.copy(tmp_path / "tree")


def told(tree: Checkout, *words: str) -> str:
    """The text of a diff, without its line ends."""
    return " ".join(tree.run("diff", *words).out.split())


def services(tree: Checkout, *words: str) -> list[dict[str, Any]]:
    """The services of a diff in JSON."""
    found: list[dict[str, Any]] = tree.run("diff", *words, "--format", "json").json["services"]
    return found


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (f'{PLAIN}unit = "zz"\n', "zz.service"),
        (PLAIN.replace("[engine]", 'served_name = "zz"\n[engine]'), "zz.service"),
    ],
    ids=["unit", "served name"],
)
def test_another_unit_stands_beside_the_old_one(tree: Checkout, text: str, unit: str) -> None:
    """Neither "restart" nor "no restart": the unit is new, and the old one stays until it is retired, in every form."""
    tree.write("up", text)
    said = "a new unit; qwen3-8b.service stays until `poolproof retire qwen3-8b`"
    assert f"up on a: {said} model" in told(tree)
    assert "1 service moves beside what is installed" in told(tree)
    assert f"| `up on a` | {said} |" in tree.run("diff", "--format", "markdown").out
    (change,) = services(tree)
    assert (change["change"], change["outcome"], change["restart"]) == ("moved", said, None)
    assert change["left"] == {
        "host": "a",
        "unit": "qwen3-8b.service",
        "manager": "system",
        "state_dir": HELD,
    }
    assert change["place"]["unit"] == unit
    assert tree.run("diff", "--exit-code").code == 4


def test_the_unit_that_it_has_anyway(tree: Checkout) -> None:
    """The default that is written out is the same place."""
    tree.write("up", f'{PLAIN}unit = "qwen3-8b"\nmanager = "system"\nstate_dir = "{HELD}"\n')
    (change,) = services(tree)
    assert (change["change"], change["left"]) == ("changed", None)
    assert "up on a: no restart" in told(tree)


def test_another_manager(tree: Checkout) -> None:
    """A unit of the user's manager stands beside that of the system's, which keeps the name and its link at boot."""
    text = PLAIN.replace('user = "sglang"\n', "")
    tree.write("up", f'{text}manager = "user"\nstate_dir = "/home/q/pp"\n')
    assert (
        "up on a: a new unit, of the user manager; that of the system manager stays until "
        f"`poolproof retire {HELD}`" in told(tree)
    )


def test_another_state_dir(tree: Checkout) -> None:
    """A switch refuses it while the old folder has the unit's name: retire there, or keep the folder."""
    tree.write("up", f'{PLAIN}state_dir = "/srv/pp/q"\n')
    said = told(tree)
    assert (
        f"up on a: another state_dir; a switch refuses it while the generations in {HELD} have the unit: "
        f"first `poolproof retire {HELD}`, or keep the state_dir" in said
    )
    assert "no restart" not in said


def test_another_unit_in_the_same_state_dir(tree: Checkout) -> None:
    """A folder holds the generations of one unit; that of the old one is in the way."""
    tree.write("up", f'{PLAIN}unit = "zz"\nstate_dir = "{HELD}"\n')
    assert (
        f"up on a: a new unit; a switch refuses it while {HELD} holds the generations of qwen3-8b.service: "
        "first `poolproof retire qwen3-8b --delete`, or give it another state_dir" in told(tree)
    )


def test_a_renamed_profile_is_the_next_generation(tree: Checkout) -> None:
    """The same unit of the same host is the same service, whatever its profile is called; asked for by either name."""
    tree.profile("up").rename(tree.profile("b"))
    for words in ((), ("HEAD", "b"), ("HEAD", "up")):
        (change,) = services(tree, *words)
        assert (change["profile"], change["profile_before"]) == ("b", "up")
        assert (change["change"], change["restart"], change["settings"]) == ("changed", None, [])
    assert "b on a: in the place of up; no restart" in told(tree)
    page = tree.run("diff", "--format", "markdown").out
    assert "| `b on a` | in the place of up; no restart |" in page
    tree.write("b", PLAIN.replace("fraction = 0.8", "fraction = 0.7"))
    assert "b on a: in the place of up; restart" in told(tree)


def test_two_profiles_that_change_names(tree: Checkout) -> None:
    """What runs decides which is which."""
    other = f'{PLAIN.replace("31000", "32000")}unit = "zz"\n'
    tree.write("b", other)
    commit(tree)
    tree.write("b", PLAIN)
    tree.write("up", other)
    assert {
        (each["profile"], each["profile_before"], each["restart"]) for each in services(tree)
    } == {
        ("b", "up", None),
        ("up", "b", None),
    }


def test_of_several_in_one_place_each_finds_its_own(tree: Checkout) -> None:
    """Alternatives of one unit that are renamed at once are told apart by what they run."""
    for old, new in ((STORY, "a1"), (SHORT, "a2")):
        tree.profile(old).rename(tree.profile(new))
    pairs = {each["profile"]: (each["profile_before"], each["restart"]) for each in services(tree)}
    assert pairs == {"a1": (STORY, None), "a2": (SHORT, None)}


def test_what_others_give_as_well_is_not_to_be_retired(tree: Checkout) -> None:
    """Where another profile gives the unit that a service leaves, or that a new one has, it is named instead."""
    text = tree.profile(SHORT).read_text("utf-8")
    tree.profile(SHORT).unlink()
    assert f"removed; {STORY}, {FP8} still give kimi-k2.6.service" in told(tree)
    commit(tree)
    tree.write("again", text)
    assert f"new, an alternative to {STORY}, {FP8} for kimi-k2.6.service" in told(tree)


def test_a_removed_service_says_how_it_goes(tree: Checkout) -> None:
    """What is installed is taken away by a command, which is named."""
    tree.profile("up").unlink()
    assert "up on a: removed; what is installed stays until `poolproof retire qwen3-8b`" in told(
        tree
    )


def test_a_slip_beside_a_service_in_the_same_place(tree: Checkout) -> None:
    """A profile that does not compile any more is told as that, though another gives its unit now."""
    tree.profile("b").write_text(tree.profile("up").read_text("utf-8"))
    tree.write("up", "schema = 1\n[serve\n")
    assert {each["profile"]: each["change"] for each in services(tree)} == {
        "b": "new",
        "up": "broken",
    }


def test_an_installed_one_whose_profile_has_another_unit(tree: Checkout, tmp_path: Path) -> None:
    """A generation is held against the service of its profile, also where that would stand beside it."""
    for name in (SHORT, FP8):
        tree.profile(name).unlink()
    folder = installed(tree, tmp_path / "gen-7")
    path = tree.profile(STORY)
    path.write_text(
        path.read_text("utf-8").replace("[targets.ct200]", '[targets.ct200]\nunit = "zz"')
    )
    said = "a new unit; kimi-k2.6.service stays until `poolproof retire kimi-k2.6`"
    for words in ((str(folder),), (str(folder), STORY)):
        (change,) = services(tree, *words)
        assert (change["change"], change["outcome"]) == ("moved", said)


def test_what_compiles_on_neither_side(tree: Checkout) -> None:
    """A profile that did not compile and does not is named, each setting that it lacks once, though no service changes."""
    tree.write("torn", 'schema = 1\n[targets.a]\nkind = "systemd"\n')
    commit(tree)
    for words in ((), ("HEAD", "torn")):
        done = tree.run("diff", *words, "--format", "json")
        assert (done.code, done.json["services"]) == (1, [])
        (note,) = (each for each in done.json["notes"] if "torn" in each)
        assert "`torn` compiles on neither side, and was not compared: " in note
        assert (
            note.count("setting-missing")
            == note.count("model.id")
            == note.count("serve.context")
            == 1
        )
        assert {each["code"] for each in done.json["diagnostics"]} == {"setting-missing"}
    assert not any("torn" in each for each in services(tree, "HEAD", "up"))
    assert "torn" not in tree.run("diff", "HEAD", "up").out
    tree.write("torn", 'schema = 1\n[targets.b]\nkind = "systemd"\n')
    assert "because of setting-missing at profiles/torn.toml:1:1 (engine.name, " in told(tree)
