"""What services of a tree do to each other, beyond the cases in `rules/`: fragments nobody uses, and many at once."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from compiler.catalog import FolderReader, open_catalog
from compiler.language.load import DiskReader
from compiler.pipeline import Checked, Inputs, check_profiles
from compiler.report.verdicts import tree_lines
from deployments import check_texts


SHARED = Path(__file__).parent / "rules" / "shared"
SERVICE = """
extends = ["base/sglang-plain"]
model.id = "example/nobodys"
gpus = {{ kind = "rtx-pro-6000-blackwell", count = 1, indices = [{gpu}] }}
serve = {{ context = 4096, port = {port} }}
memory.fraction = 0.5
targets.one = {{ kind = "systemd", unit = "{unit}" }}
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """A tree with what the cases share."""
    return Path(shutil.copytree(SHARED, tmp_path / "profiles"))


def service(*, gpu: int = 0, port: int = 30000, unit: str) -> str:
    return SERVICE.format(gpu=gpu, port=port, unit=unit)


def check_tree(texts: Mapping[str, str], folder: Path) -> Checked:
    """Check a whole tree of these profiles."""
    profiles = folder / "profiles"
    for name, text in texts.items():
        path = profiles / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    reader = DiskReader(profiles)
    inputs = Inputs(reader=reader, catalog=open_catalog(FolderReader(profiles)))
    return check_profiles(reader.names(), inputs, whole=True)


def told(checked: Checked, code: str) -> list[str]:
    return [each.summary for each in checked.all_diagnostics if each.code == code]


BASE = 'extends = ["base/deep"]\n[engine]\nname = "sglang"\nversion = "0.5.11"\npython = "/p"\n'


def test_a_fragment_that_nobody_extends_is_told(tmp_path: Path) -> None:
    """`fragment-unused`: a warning for each that no deployable profile reaches, however far away it is used."""
    tree = {
        "a": service(unit="a"),
        "base/sglang-plain": BASE,
        "base/deep": "[parsers]\n",
        "base/left": 'extends = ["base/below"]\n',
        "base/below": "",
    }
    found = told(check_tree(tree, tmp_path), "fragment-unused")
    assert found == [
        "no deployable profile extends `base/below`",
        "no deployable profile extends `base/left`",
    ]


def test_nothing_is_called_unused_while_a_file_cannot_be_read(tmp_path: Path) -> None:
    """A file that is no TOML may be the one that extends it."""
    tree = {
        "a": service(unit="a"),
        "base/sglang-plain": BASE,
        "base/deep": "",
        "base/left": "",
        "b": "extends = [",
    }
    assert told(check_tree(tree, tmp_path), "fragment-unused") == []


def test_named_profiles_call_nothing_unused(profiles: Path) -> None:
    """A run over some profiles has not seen who uses the others."""
    assert told(check_texts(profiles, {"base/new": ""}), "fragment-unused") == []


def test_many_services_on_one_port_are_one_finding_each(profiles: Path) -> None:
    """Each service is held against those before it, so that n of them give n - 1 findings, not n x n."""
    texts = {f"p{n:02}": service(gpu=n, unit=f"u{n}") for n in range(20)}
    found = told(check_texts(profiles, texts), "port-clash")
    assert found == [
        f"`p00` and `p{n:02}` on `one` both listen on port 30000" for n in range(1, 20)
    ]


def test_a_tree_is_refused_whose_services_pass(profiles: Path) -> None:
    """What two of them do to each other stands behind the verdict of each."""
    checked = check_texts(profiles, {f"p{n}": service(gpu=n, unit=f"u{n}") for n in range(2)})
    assert list(tree_lines(checked.diagnostics)) == [
        "the tree  refused by port-clash: see the errors"
    ]
    alone = check_texts(profiles, {"p0": service(gpu=0, unit="u0")})
    assert list(tree_lines(alone.diagnostics)) == []


def test_services_on_two_hosts_are_no_neighbours(profiles: Path) -> None:
    """The same GPU and port on another host is another GPU and port."""
    texts = {
        "a": service(unit="a"),
        "b": service(unit="b").replace("targets.one", "targets.two"),
    }
    assert {each.code for each in check_texts(profiles, texts).all_diagnostics} == {"model-unknown"}


def test_a_setting_by_force_is_told_once(profiles: Path) -> None:
    """Two profiles that a forced setting reaches have it in their own findings, and these are the same."""
    texts = {
        "base/incident": '[force.env]\nNCCL_DEBUG = "INFO"\n',
        **{
            name: service(gpu=gpu, port=port, unit=name).replace(
                '["base/sglang-plain"]', '["base/sglang-plain", "base/incident"]'
            )
            for name, gpu, port in (("a", 0, 30000), ("b", 1, 31000))
        },
    }
    found = [
        each for each in check_texts(profiles, texts).all_diagnostics if each.code == "force-in-use"
    ]
    assert len(found) == 2
    assert found[0] == found[1]
