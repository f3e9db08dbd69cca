"""A team's own release or build, described from a wheel or a source tree: what changes, and the file that says so."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from compiler.catalog import Catalog, open_catalog
from compiler.catalog.overlay import Overlay, new_choices, overlay
from compiler.diagnostics import Diagnostic
from compiler.engines.adding import AddedEngine, add_engine
from compiler.facts import Action, Flag, Release
from test_catalog import Files


BASE = {
    "--a": Flag(name="--a", takes="str", choices=("x", "y")),
    "--b": Flag(name="--b"),
    "--c": Flag(name="--c", takes="int", default=1),
    "--d": Flag(name="--d"),
}
STOCK = """
class ServerArgs:
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--speculative-algorithm", type=str, choices=["EAGLE", "NGRAM"])
        parser.add_argument("--port", type=int, default=30000)
        parser.add_argument("--gone", action="store_true")
"""
PRIVATE = """
class ServerArgs:
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--speculative-algorithm", type=str, choices=["EAGLE", "NGRAM", "TREE"])
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--tree-budget", type=int)
        parser.add_argument("--tree", action=argparse.BooleanOptionalAction, default=None)
        parser.add_argument("--widths", type=int, nargs="+", default=[])
        parser.add_argument("--mode", nargs="?", const="a\\"b", default="")
"""


def wheel(folder: Path, text: str, *, version: str) -> Path:
    path = folder / f"sglang-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sglang/srt/server_args.py", text)
        archive.writestr(
            f"sglang-{version}.dist-info/METADATA", f"Name: sglang\nVersion: {version}\n\n"
        )
    return path


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A catalogue whose release 0.9.0 was described from a wheel."""
    added = sound(add(wheel(tmp_path, STOCK, version="0.9.0"), open_catalog()))
    return open_catalog(Files({f"catalog/{added.name}": added.text}))


def add(
    path: Path, catalog: Catalog, *, build: str | None = None, release: str | None = None
) -> tuple[AddedEngine | None, tuple[Diagnostic, ...]]:
    return add_engine(path, engine="sglang", catalog=catalog, build=build, release=release)


def sound(found: tuple[AddedEngine | None, tuple[Diagnostic, ...]]) -> AddedEngine:
    added, faults = found
    assert faults == ()
    assert added is not None
    return added


def release_of(files: Mapping[str, str], version: str, build: str | None = None) -> Release:
    release, faults = open_catalog(Files(files)).release("sglang", version, build)
    assert faults == ()
    assert release is not None
    return release


def test_an_overlay_tells_four_things_apart() -> None:
    """Flags that are new, that take more values, that differ otherwise, and that are gone."""
    wider = Flag(name="--a", takes="str", choices=("x", "y", "z"))
    other = Flag(name="--c", takes="int", default=2)
    new = Flag(name="--e")
    flags = {"--a": wider, "--b": BASE["--b"], "--c": other, "--e": new}
    assert overlay(BASE, flags) == Overlay(
        added=(new,), widened=(wider,), changed=(other,), removed=("--d",)
    )
    assert overlay(BASE, flags).flags == (wider, other, new)
    assert overlay(BASE, BASE) == Overlay()


@pytest.mark.parametrize(
    ("flag", "widened"),
    [
        (Flag(name="--a", takes="str", choices=("y", "x", "z")), True),
        (Flag(name="--a", takes="str"), True),
        (Flag(name="--a", takes="str", choices=("x", "z")), False),
        (Flag(name="--a", takes="str", choices=("y", "x")), False),
        (Flag(name="--a", takes="int", choices=("x", "y", "z")), False),
    ],
)
def test_more_values_is_all_that_widens(flag: Flag, widened: bool) -> None:  # noqa: FBT001
    """A flag is widened when it takes all it took and more, and nothing else about it changed."""
    found = overlay({"--a": BASE["--a"]}, {"--a": flag})
    assert (found.widened, found.changed) == (((flag,), ()) if widened else ((), (flag,)))


def test_new_choices_are_those_the_release_lacks() -> None:
    """The choices a build adds to a flag, of a flag it has otherwise or not at all."""
    flags = {"--a": Flag(name="--a", takes="str", choices=("z", "x", "y"))}
    assert new_choices(BASE, overlay(BASE, flags), flag="--a") == ("z",)
    assert new_choices(BASE, overlay(BASE, BASE), flag="--a") == ()
    assert new_choices(BASE, overlay(BASE, flags), flag="--q") == ()


def test_a_release_is_described_by_its_table(tmp_path: Path) -> None:
    """The file of a release stands beside ours, and the catalogue finds the release in it."""
    path = wheel(tmp_path, STOCK, version="0.9.0")
    added = sound(add(path, open_catalog()))
    assert added.name == "engines/sglang/0.9.0.json"
    assert added.summary == ("4 flags of sglang 0.9.0",)
    assert sound(add(path, open_catalog())) == added
    release = release_of({f"catalog/{added.name}": added.text}, "0.9.0")
    assert release.read_version == "0.9.0"
    assert list(release.flags) == ["--gone", "--model-path", "--port", "--speculative-algorithm"]


def test_a_build_is_described_by_what_it_changes(tmp_path: Path, catalog: Catalog) -> None:
    """The overlay put on the release gives the build's flags, all of them and no other."""
    stock = sound(add(wheel(tmp_path, STOCK, version="0.9.0"), open_catalog()))
    path = wheel(tmp_path, PRIVATE, version="0.9.0+tree")
    added = sound(add(path, catalog, build="acme/tree"))
    assert added.name == "engines/sglang/builds/acme--tree.toml"
    assert added.summary == (
        "adds `--mode`, `--tree`, `--tree-budget`, `--widths`",
        "takes more values for `--speculative-algorithm`",
        "changes `--port`",
        "has no `--gone`",
    )
    files = {f"catalog/{each.name}": each.text for each in (stock, added)}
    release = release_of(files, "0.9.0", "acme/tree")
    assert release.build is not None
    assert release.build.algorithms == ("tree",)
    whole = sound(add(path, open_catalog(), release="0.9.1"))
    built = release_of({f"catalog/{whole.name}": whole.text}, "0.9.1")
    assert dict(release.flags) == dict(built.flags)
    assert release.flags["--tree"] == Flag(name="--tree", action=Action.PAIR)
    assert release.flags["--widths"].default == ()
    assert release.flags["--mode"].const == 'a"b'
    assert release.aliases == built.aliases


def test_a_build_that_changes_no_flag_is_still_one(tmp_path: Path, catalog: Catalog) -> None:
    """A build whose flags are the release's has a file too: what it does with memory may differ."""
    added = sound(add(wheel(tmp_path, STOCK, version="0.9.0"), catalog, build="same"))
    assert added.summary == ("has the same 4 flags as the release",)
    assert "[[flags]]" not in added.text


def test_a_build_of_a_release_that_was_not_read(tmp_path: Path, catalog: Catalog) -> None:
    """The nearest lower release stands in, and it is said that the difference counts as the build's."""
    path = wheel(tmp_path, PRIVATE, version="0.9.3")
    added, faults = add(path, catalog, build="tree")
    assert added is not None
    (fault,) = faults
    assert not fault.is_error
    assert fault.summary == "sglang 0.9.3 was not read; it is compared with 0.9.0"
    assert 'release = "0.9.0"' in added.text


@pytest.mark.parametrize(
    ("engine", "build", "release", "code", "wording"),
    [
        ("sglan", None, None, "engine-unreadable", "the flags of `sglan` cannot be read here"),
        ("sglang", "a b", None, "catalogue-id", "`a b` is no id"),
        ("sglang", "../x", None, "catalogue-id", "is no id"),
        ("sglang", None, "newest", "engine-unreadable", "`newest` is no release"),
        ("sglang", "tree", "0.1.0", "engine-unreadable", "there is no table of sglang 0.1.0"),
    ],
)
def test_what_cannot_be_described(
    tmp_path: Path, *, engine: str, build: str | None, release: str | None, code: str, wording: str
) -> None:
    """An engine nobody reads, a bad id, a release that is none or older than all: an error, and nothing to write."""
    path = wheel(tmp_path, STOCK, version="0.9.0")
    added, faults = add_engine(
        path, engine=engine, catalog=open_catalog(), build=build, release=release
    )
    assert added is None
    (fault,) = faults
    assert (fault.code, fault.is_error) == (code, True)
    assert wording in fault.summary


def test_a_tree_that_does_not_say_its_release(tmp_path: Path) -> None:
    """A checkout does not say which release it is; the error says how to."""
    file = tmp_path / "python" / "sglang" / "srt" / "server_args.py"
    file.parent.mkdir(parents=True)
    file.write_text(STOCK, encoding="utf-8")
    added, (fault,) = add(tmp_path, open_catalog())
    assert added is None
    assert "does not say which release it is" in fault.summary
    assert sound(add(tmp_path, open_catalog(), release="0.9.0")).name.endswith("0.9.0.json")


def test_what_is_no_engine_is_not_described(tmp_path: Path) -> None:
    """What the extractor refuses is refused here, with its own words."""
    path = tmp_path / "x.whl"
    path.write_bytes(b"PK")
    added, (fault,) = add(path, open_catalog())
    assert added is None
    assert "it is no wheel" in fault.summary
