"""The settings as data: complete, in order, and able to answer what may stand where."""

from __future__ import annotations

import pytest

from compiler.language.settings import (
    ANY_KEY,
    all_settings,
    find_setting,
    known_keys,
    list_settings,
    required_below,
)
from compiler.language.typed import structure_value
from compiler.profile import Profile
from compiler.quantities import Duration


def test_every_path_is_there_once_and_has_help() -> None:
    """No setting is listed twice, and each has a sentence that says what it is."""
    paths = [each.path for each in all_settings()]
    assert len(paths) == len(set(paths))
    assert all(each.help.strip() and each.type for each in all_settings())


def test_a_setting_knows_its_type_unit_and_bounds() -> None:
    """What a reference needs to print is there: type in words, unit, default, and bounds."""
    context = find_setting(("serve", "context"))
    assert context is not None
    assert (context.type, context.unit, context.required) == (
        "a whole number or `auto`",
        "tokens",
        True,
    )
    assert context.at_least == 16
    fraction = find_setting(("memory", "fraction"))
    assert fraction is not None
    assert fraction.type == "a number, `fit`, or `auto`"
    assert (fraction.at_least, fraction.at_most) == (None, None)
    port = find_setting(("serve", "port"))
    assert port is not None
    assert (port.default, port.at_least, port.at_most) == (30000, 1, 65535)


def test_a_setting_under_a_key_of_the_users_choice_is_found() -> None:
    """A path of real keys finds the setting whose path has `*` in that place."""
    timeout = find_setting(("targets", "ct200", "stop_timeout"))
    assert timeout is not None
    assert timeout.path == ("targets", ANY_KEY, "stop_timeout")
    assert timeout.default == Duration(120)
    variable = find_setting(("env", "NCCL_DEBUG"))
    assert variable is not None
    assert variable.default is None


@pytest.mark.parametrize("path", [(), ("serve",), ("serve", "contxt"), ("serve", "context", "x")])
def test_what_is_no_setting_is_not_found(path: tuple[str, ...]) -> None:
    """Tables, unknown keys and what lies below a setting are no settings."""
    assert find_setting(path) is None


def test_the_lists_are_those_that_merge_may_edit() -> None:
    """`append` and the like apply to the settings typed as lists, and to any raw flag."""
    assert list_settings() == {("gpus", "indices"), ("flags", ANY_KEY)}


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        (("gpus",), ("kind", "count", "indices")),
        (("env",), (ANY_KEY,)),
        (("targets",), (ANY_KEY,)),
        (("secrets",), ("api_key",)),
        (("secrets", "api_key"), ("file",)),
        (("serve", "port"), ()),
        (("nothing",), ()),
    ],
)
def test_the_keys_of_a_table_are_known(path: tuple[str, ...], keys: tuple[str, ...]) -> None:
    """Each table knows its keys in order; what is no table has none."""
    assert known_keys(path) == keys


def test_the_tables_at_the_top_are_the_profiles_fields() -> None:
    """The keys at the top are the fields of `Profile`, in their order."""
    assert known_keys(()) == tuple(each.name for each in Profile.__attrs_attrs__)
    assert known_keys(("targets", "ct200")) == known_keys(("targets", "other"))


def test_what_an_optional_table_requires_counts_once_it_is_there() -> None:
    """A setting that only its own optional table requires is not required of the profile."""
    below_top = {each.path for each in required_below(())}
    assert ("speculative", "algorithm") not in below_top
    assert ("serve", "context") in below_top
    assert [each.path for each in required_below(("speculative",))] == [
        ("speculative", "algorithm")
    ]
    assert [each.path for each in required_below(("targets", "x"))] == [
        ("targets", ANY_KEY, "kind")
    ]


def test_required_is_what_structuring_asks_for() -> None:
    """An empty profile misses exactly the tables that hold the required settings."""
    _, faults = structure_value({}, Profile)
    assert {each.path for each in faults} == {each.path[:1] for each in required_below(())}
