"""`fmt` from end to end: what it writes, what it leaves alone, and what it says."""

from __future__ import annotations

import os
import stat

import pytest

from checkouts import REPOSITORY, STORY, Checkout, run


MESSY = "schema=1\n[serve]\ncontext=200000 # tokens\n"
TIDY = "schema = 1\n\n[serve]\ncontext = 200_000  # tokens\n"


def test_our_profiles_are_laid_out() -> None:
    """The profiles of this repository are as `fmt` would have them."""
    done = run("fmt", "--check", here=REPOSITORY)
    assert (done.code, done.out) == (0, "")


def test_a_messy_profile(tree: Checkout) -> None:
    """`--check` shows the change and exits 3; without it the file is written, its mode kept, and the next run is quiet."""
    path = tree.write("messy", MESSY)
    path.chmod(0o640)
    compared = tree.run("fmt", "--check", "messy")
    assert compared.code == 3
    assert "-context=200000 # tokens\n+context = 200_000  # tokens\n" in compared.out
    assert path.read_text("utf-8") == MESSY
    written = tree.run("fmt")
    assert (written.code, written.out) == (0, "laid out profiles/messy.toml\n")
    assert path.read_text("utf-8") == TIDY
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before = path.stat().st_mtime_ns
    assert tree.run("fmt", "--check").code == 0
    assert tree.run("fmt", "profiles/messy.toml").code == 0
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xef\xbb\xbfschema = 1\n", "toml-syntax"),
        (b"schema = 1\r\n", "edit-refused"),
        (b'description = "\xff"\n', "not-utf8"),
        (b"schema = \n", "toml-syntax"),
        (b"x = 1" + b"0" * 400 + b"\n", "toml-limit"),
    ],
)
def test_what_is_no_profile_text(tree: Checkout, content: bytes, code: str) -> None:
    """A file that cannot be laid out is named with its reason, and neither it nor any other is written."""
    messy = tree.write("messy", MESSY)
    path = tree.write("odd", content)
    for words in (("fmt",), ("fmt", "--check"), ("fmt", "odd", "messy")):
        done = tree.run(*words)
        assert done.code == 1
        assert f"error[{code}]" in done.err
        assert "nothing was written" in done.err
    assert (path.read_bytes(), messy.read_text("utf-8")) == (content, MESSY)


def test_a_symlink_is_left_alone(tree: Checkout) -> None:
    """A symlink would become a file, so it is refused, and so is what is no file at all."""
    (tree.root / "real.toml").write_text(MESSY)
    tree.profile("link").symlink_to(tree.root / "real.toml")
    assert "edit-refused" in tree.run("fmt").err
    assert tree.profile("link").is_symlink()
    tree.profile("folder").mkdir()
    assert "profile-unreadable" in tree.run("fmt", "folder").err


def test_a_file_that_is_not_there(tree: Checkout) -> None:
    """A name that no file has is said, and so is one that no file can have."""
    for name in ("nobody", "../profiles/x", ""):
        done = tree.run("fmt", name)
        assert done.code == 1
        assert "error[" in done.err


def test_a_file_that_cannot_be_written(tree: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system would not, the exit code says the machine, and the file is as it was."""
    path = tree.write("messy", MESSY)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = tree.run("fmt")
    assert (done.code, "edit-unwritable" in done.err) == (5, True)
    assert path.read_text("utf-8") == MESSY
    assert not [each for each in path.parent.iterdir() if each.name.startswith(".")]


def test_a_profile_of_broken_settings(tree: Checkout) -> None:
    """What settings mean is not looked at: a file with an unknown key is laid out all the same."""
    path = tree.write("odd", "schema=2\nfracton=0.9\n")
    assert tree.run("fmt", "odd").code == 0
    assert path.read_text("utf-8") == "schema = 2\nfracton = 0.9\n"


def test_the_schema_line_stays_on_top(tree: Checkout) -> None:
    """An editor reads `#:schema` on the first line only, so no table takes it away."""
    path = tree.write("x", "#:schema ./schema.json\n[memory]\n[serve]\nport=1\n")
    assert tree.run("fmt", "x").code == 0
    assert path.read_text("utf-8") == "#:schema ./schema.json\n\n[serve]\nport = 1\n\n[memory]\n"


def test_formatting_changes_no_verdict(tree: Checkout) -> None:
    """A tree that is laid out anew compiles to the same bytes."""
    for path in (tree.root / "profiles").rglob("k2.6*.toml"):
        path.write_text(path.read_text("utf-8").replace(" = ", "="))
    tree.compile()
    before = tree.standing()
    assert tree.run("fmt").code == 0
    assert tree.compared()[0] == 0
    assert tree.standing() == before
    assert "context = 200_000" in tree.profile(STORY).read_text("utf-8")
