"""The JSON schema: it says of a file what the compiler says, as far as a schema can."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft7Validator

from checkouts import REPOSITORY, run
from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.host.measuring import SETTABLE
from compiler.language.settings import ANY_KEY, all_settings
from compiler.schema import boot_schema, profile_schema
from deployments import check_text


RULES = REPOSITORY / "tests" / "rules"
OF_THE_FILE = frozenset(
    {
        "unknown-key",
        "wrong-type",
        "bad-value",
        "misplaced-key",
        "schema-unknown",
        "list-edit-nothing",
        "merge-shape",
    }
)
"""The findings that a schema may share: what is wrong with one file, whatever it extends."""
NOT_SAID = frozenset({"toml-syntax", "toml-limit", "not-utf8"})
PROFILES = sorted(
    path
    for path in (REPOSITORY / "profiles").rglob("*.toml")
    if path.parent.name not in {"boots", "catalog"}
)
BOOTS = sorted((REPOSITORY / "profiles" / "boots").glob("*.toml"))
CASES = sorted(path for path in RULES.glob("*/*.toml") if path.parent.name != "shared")


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with what the cases share."""
    folder = tmp_path_factory.mktemp("tree") / "profiles"
    shutil.copytree(RULES / "shared", folder)
    return folder


@pytest.fixture(scope="module")
def catalog(profiles: Path) -> Catalog:
    """What is known in that tree."""
    return open_catalog(FolderReader(profiles))


def validators(schema: Any) -> tuple[Any, Any]:  # noqa: ANN401 - JSON and what reads it
    """The same schema under both drafts."""
    of_draft_4 = {**schema, "$schema": Draft4Validator.META_SCHEMA["id"]}
    return Draft7Validator(schema), Draft4Validator(of_draft_4)


OF_PROFILES = validators(profile_schema())
OF_BOOTS = validators(boot_schema())


def faults(values: Any, *, by: tuple[Any, Any] = OF_PROFILES) -> list[str]:  # noqa: ANN401 - JSON
    """What a validator says, under both drafts alike."""
    found, other = ([error.message for error in each.iter_errors(values)] for each in by)
    assert len(found) == len(other)
    return found


def test_the_schema_is_current() -> None:
    """docs/schema.json is what `poolproof schema` prints."""
    done = run("schema", here=REPOSITORY)
    assert done.code == 0
    assert (REPOSITORY / "docs" / "schema.json").read_text("utf-8") == done.out


@pytest.mark.parametrize("make", [profile_schema, boot_schema])
def test_the_schemas_are_schemas(make: Any) -> None:  # noqa: ANN401 - one of two functions
    """Both are valid schemas of draft 7 and of draft 4."""
    Draft7Validator.check_schema(make())
    Draft4Validator.check_schema({**make(), "$schema": Draft4Validator.META_SCHEMA["id"]})


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_of_ours_is_valid(path: Path) -> None:
    """The schema takes every profile of this repository."""
    assert faults(tomllib.loads(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", BOOTS, ids=lambda path: path.stem)
def test_every_boot_of_ours_is_valid(path: Path) -> None:
    """The schema takes every recorded boot of this repository, and misses what is missing."""
    values = tomllib.loads(path.read_text("utf-8"))
    assert faults(values, by=OF_BOOTS) == []
    del values["pool_tokens"]
    assert faults(values, by=OF_BOOTS)


@pytest.mark.slow  # every case that there is
def test_the_cases_of_the_rules(profiles: Path, catalog: Catalog) -> None:
    """A case that loads is valid, and one with an unknown key or a wrong type is not."""
    refused = 0
    for path in CASES:
        text = path.read_text("utf-8")
        found = {each.code for each in check_text(profiles, text, catalog=catalog).all_diagnostics}
        if found & NOT_SAID:
            continue
        said = faults(json.loads(json.dumps(tomllib.loads(text), default=str)))
        if not found & OF_THE_FILE:
            assert said == [], path
        if found & {"unknown-key", "wrong-type"}:
            assert said, path
            refused += 1
    assert refused


@pytest.mark.parametrize(
    "text",
    [
        "[memry]\nfraction = 0.9",
        "[memory]\nfracton = 0.9",
        '[memory]\nfraction = "most"',
        "[serve]\ncontext = 8",
        "[serve]\nport = 70_000",
        '[serve]\ncontext = "200k"',
        "[force.serve]\ncontext = true",
        '[defaults]\nextends = ["x"]',
        "[defaults.memory]\nfracton = 0.9",
        'extends = "base"',
        "schema = 2",
        "[env]\nA = 1",
        '[targets.x]\nkind = "docker"',
        '[targets.x]\nkind = "systemd"\nstart_timeout = "soon"',
        '[model]\nid = ""',
        '[model]\npath = "srv/models"',
        "[gpus]\nindices = [-1]",
        "[gpus]\nindices = { append = [-1] }",
        "[gpus]\nindices = { add = [1] }",
        "[gpus]\nindices = {}",
        "[flags]\nmem = { a = 1 }",
        '[secrets]\napi_key = "sk-1"',
        '[speculative]\nalgorithm = "guess"',
    ],
)
def test_what_is_no_profile(text: str) -> None:
    """A key that there is not, a value of another type, out of its bounds, or none of a few words is refused."""
    assert faults(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[memory]\nfraction = "fit"',
        "[memory]\nfraction = 1",
        '[env]\nA = ""',
        "[gpus]\nindices = [0, 1]",
        "[gpus]\nindices = { append = [2], remove = [0] }",
        '[flags]\nlog-level = "info"\nenable-metrics = true\ncuda-graph-bs = [1, 2]',
        "[flags]\ncuda-graph-bs = { prepend = [4] }",
        '[targets.x]\nkind = "systemd"\nstart_timeout = "1h 30min"',
        '[force.targets.x]\nuser = "root"',
        'unset = ["speculative"]',
        '[accept]\npool-likely-short = "measured"',
    ],
)
def test_what_is_a_profile(text: str) -> None:
    """What the language allows in a file by itself, the schema allows."""
    assert faults(tomllib.loads(text)) == []


def test_every_setting_is_described() -> None:
    """Each setting of the language stands in the schema with its meaning, its unit, and its default."""
    schema = profile_schema()
    for setting in all_settings():
        node: Any = schema
        for key in setting.path:
            node = (
                schema["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
            )
            node = node["additionalProperties"] if key == ANY_KEY else node["properties"][key]
        if setting.path[-1] != ANY_KEY:
            assert node["description"].startswith(setting.help)
            assert setting.unit is None or f"({setting.unit})" in node["description"]
            assert setting.required == node["description"].endswith("; required")
            assert node.get("default") == (
                None
                if setting.default in ((), {})
                else json.loads(json.dumps(setting.default, default=str))
            )


@pytest.mark.parametrize("key", ["name", "file", "shipped"])
def test_a_boot_does_not_say_where_it_stands(tmp_path: Path, key: str) -> None:
    """What follows from a boot's place is no key of its file: not for an editor, not for the loader, not for `measure`."""
    profiles = tmp_path / "profiles"
    shutil.copytree(REPOSITORY / "profiles", profiles)
    boot = profiles / "boots" / BOOTS[0].name
    boot.write_text(f"{key} = true\n{boot.read_text('utf-8')}", "utf-8")
    _, found = open_catalog(FolderReader(profiles)).boots()
    assert [each.summary for each in found] == [f"unknown key `{key}`"]
    assert key not in boot_schema()["properties"]
    assert key not in SETTABLE
