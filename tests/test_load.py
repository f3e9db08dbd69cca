"""Reading profiles: what is read, what is never read, and what is said when it cannot be."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from compiler.language.load import DiskReader, load_document, load_source, name_fault
from memory_reader import MemoryReader, places


BAD_NAMES = (
    "",
    "/etc/passwd",
    "../secret",
    "base/../../secret",
    "base/..",
    "./a",
    "a//b",
    "a/",
    "a\\b",
    "a\0b",
    "a\nb",
    "a\u2028b",
    "a\udcffb",
)


class FailingReader:
    """A disk that gives an error."""

    def __init__(self, fault: OSError) -> None:
        """`fault` is raised by every call."""
        self.fault = fault

    def read(self, name: str) -> bytes | None:
        """As in `load.Reader`."""
        assert name
        raise self.fault

    def names(self) -> tuple[str, ...]:
        """As in `load.Reader`."""
        raise self.fault


def write(root: Path, *names: str, text: str = "") -> DiskReader:
    """Profiles of this text below a folder, and their reader."""
    for name in names:
        file = root / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return DiskReader(root)


def test_a_document_has_values_and_places(tmp_path: Path) -> None:
    """A profile is known by its name, shown by its file, and its values have their places."""
    reader = write(tmp_path, "base/kimi-k2.6", text='[model]\nid = "x"\n')
    document, diagnostics = load_document(reader, "base/kimi-k2.6")
    assert document is not None
    assert not diagnostics
    assert document.name == "base/kimi-k2.6"
    assert document.source.name == "profiles/base/kimi-k2.6.toml"
    assert document.values == {"model": {"id": "x"}}
    assert document.spans["model", "id"].value.column == 6


def test_no_file_is_no_error(tmp_path: Path) -> None:
    """A profile that is not there gives neither a document nor a diagnostic; who asked for it knows what to say."""
    reader = write(tmp_path, "a")
    assert load_document(reader, "b") == (None, ())
    assert load_document(reader, "a.toml/b") == (None, ())


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_no_profile_has_is_never_read(name: str) -> None:
    """A name that leads out of the folder, or that is a second spelling, does not reach the reader."""
    reader = MemoryReader({name: "a = 1"})
    assert name_fault(name) is not None
    assert load_document(reader, name) == (None, ())
    assert load_source(reader, name) is None
    assert reader.read_names == []


@pytest.mark.parametrize("name", ["a", "base/kimi-k2.6", "größe", "a b", "a..b", "...", "%h"])
def test_a_name_that_a_profile_may_have(name: str) -> None:
    """Other names are fine, whatever alphabet they are in."""
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EACCES, "permission denied"), (errno.EIO, "input/output error")],
)
def test_a_file_that_cannot_be_read(number: int, reason: str) -> None:
    """An error of the system is a diagnostic that names the file and the system's reason."""
    reader = FailingReader(OSError(number, os.strerror(number)))
    document, (diagnostic,) = load_document(reader, "base/a")
    assert document is None
    assert diagnostic.code == "profile-unreadable"
    assert diagnostic.summary == f"`base/a` cannot be read: {reason}"
    assert places(diagnostic) == ["base/a.toml:1:1"]
    assert load_source(reader, "base/a") is None


def test_a_directory_is_not_read(tmp_path: Path) -> None:
    """A folder with the name of a profile is said to be one."""
    (tmp_path / "a.toml").mkdir()
    _, (diagnostic,) = load_document(DiskReader(tmp_path), "a")
    assert (diagnostic.code, diagnostic.summary) == (
        "profile-unreadable",
        "`a` cannot be read: is a directory",
    )


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    """A pipe, which would be waited for without end, is an error."""
    os.mkfifo(tmp_path / "a.toml")
    _, (diagnostic,) = load_document(DiskReader(tmp_path), "a")
    assert diagnostic.code == "profile-unreadable"


def test_a_name_too_long_for_the_system(tmp_path: Path) -> None:
    """A name that the file system refuses is an error, not a missing profile."""
    _, (diagnostic,) = load_document(DiskReader(tmp_path), "a" * 5_000)
    assert diagnostic.code == "profile-unreadable"


def test_a_symlink_is_followed(tmp_path: Path) -> None:
    """A profile may be a symlink."""
    reader = write(tmp_path, "a", text="x = 1")
    (tmp_path / "b.toml").symlink_to("a.toml")
    document, _ = load_document(reader, "b")
    assert document is not None
    assert document.values == {"x": 1}
    assert reader.names() == ("a", "b")


def test_a_symlink_to_nowhere_is_missing(tmp_path: Path) -> None:
    """A symlink whose target is gone counts as no profile, one that leads to itself as unreadable."""
    (tmp_path / "a.toml").symlink_to("gone.toml")
    (tmp_path / "b.toml").symlink_to("b.toml")
    assert load_document(DiskReader(tmp_path), "a") == (None, ())
    _, (diagnostic,) = load_document(DiskReader(tmp_path), "b")
    assert diagnostic.code == "profile-unreadable"


def test_names_leave_out_what_is_no_profile(tmp_path: Path) -> None:
    """The names are sorted; recorded boots, a team's catalogue, hidden and other files are not among them."""
    reader = write(
        tmp_path, "z", "a", "base/b", "base/boots/c", "boots/d", "catalog/gpus/e", ".f", ".git/g"
    )
    (tmp_path / "notes.md").write_text("")
    assert reader.names() == ("a", "base/b", "base/boots/c", "z")


def test_names_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A folder that cannot be listed is an error rather than an empty list."""
    with pytest.raises(FileNotFoundError):
        DiskReader(tmp_path / "profiles").names()


def test_a_loop_of_folders_ends(tmp_path: Path) -> None:
    """A folder that is a symlink to one above it is not searched."""
    reader = write(tmp_path, "base/a")
    (tmp_path / "base" / "again").symlink_to(tmp_path)
    assert reader.names() == ("base/a",)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a = 1\r\n# \xc3\xbc\xff", "a.toml:2:4"),
        (b"\xff\xfea\0", "a.toml:1:1"),
        (b"a = '\xed\xa0\x80'", "a.toml:1:6"),
    ],
)
def test_a_file_that_is_not_utf8(data: bytes, place: str) -> None:
    """Other encodings are refused at their first wrong byte."""
    reader = MemoryReader({"a": data})
    document, (diagnostic,) = load_document(reader, "a")
    assert document is None
    assert diagnostic.code == "not-utf8"
    assert places(diagnostic) == [place]
    source = load_source(reader, "a")
    assert source is not None
    assert "\ufffd" in source.text


def test_a_file_with_wrong_syntax_can_be_quoted() -> None:
    """The text of a file without a document is still there for messages."""
    reader = MemoryReader({"a": "a == 1"})
    document, (diagnostic,) = load_document(reader, "a")
    assert document is None
    assert diagnostic.code == "toml-syntax"
    source = load_source(reader, "a")
    assert source is not None
    assert source.name == "profiles/a.toml"
    assert source.line(1) == "a == 1"


def test_wrong_directives_leave_the_document() -> None:
    """A fault of a directive is reported and does not hide the rest of the file."""
    document, (diagnostic,) = load_document(MemoryReader({"a": "schema = 2\nx.y = 1"}), "a")
    assert document is not None
    assert document.values["x"] == {"y": 1}
    assert diagnostic.code == "schema-unknown"
