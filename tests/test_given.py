"""What a plan gives the server: typed settings and raw flags under any of a flag's names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from compiler.catalog import open_catalog
from compiler.engines.sglang.given import Given, given_by
from compiler.profile import Argument, Name, Parallel, Version
from plans import story_plan, story_profile


CATALOG = open_catalog()


def given(flags: Mapping[str, Argument] | None = None) -> Given:
    """What the story's profile gives 0.5.11, without its build and with these raw flags."""
    profile = story_profile()
    engine = evolve(profile.engine, build=None)
    release = CATALOG.release("sglang", engine.version)[0]
    return given_by(
        story_plan(profile=evolve(profile, engine=engine, flags=flags or {}), release=release)
    )


def test_a_typed_setting_is_given_under_every_name_of_its_flag() -> None:
    """`parallel.tensor` answers for the flag's full name and for its short one."""
    asked = given()
    assert [asked.whole(name) for name in ("tensor-parallel-size", "tp-size")] == [8, 8]
    assert asked.setting("tensor-parallel-size") == "parallel.tensor"
    assert asked.word("speculative-algorithm") == "DDTREE"


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        ({"nccl-init-addr": "10.0.0.2:5000"}, "dist-init-addr", "10.0.0.2:5000"),
        ({"dist-init-addr": "10.0.0.2:5000"}, "nccl-init-addr", "10.0.0.2:5000"),
        ({"nnodes": 2}, "nnodes", "2"),
    ],
)
def test_a_raw_flag_is_given_under_all_its_names(
    flags: dict[str, Argument], name: str, value: str
) -> None:
    """An alias of the release stands for the flag, on either side."""
    asked = given(flags)
    assert str(asked.value(name)) == value
    assert asked.setting(name) == f"flags.{next(iter(flags))}"


def test_what_is_switched_off_is_not_given() -> None:
    """A flag that is `false` reads as one that is left out, and its setting as where it would stand."""
    asked = given({"enable-lora": False})
    assert asked.value("enable-lora") is None
    assert not asked.on("enable-lora")
    assert asked.setting("enable-lora", "lora-paths") == "flags.enable-lora"


def test_a_renamed_flag_is_asked_for_by_all_its_names() -> None:
    """The first name that is given answers."""
    asked = given({"mamba-scheduler-strategy": "no_buffer"})
    assert asked.word("mamba-radix-cache-strategy", "mamba-scheduler-strategy") == "no_buffer"


@pytest.mark.parametrize(
    ("value", "whole"), [(3, 3), ("3", 3), ("three", None), (True, None), (("3",), None)]
)
def test_a_whole_number_may_be_written_as_text(value: Argument, whole: int | None) -> None:
    """What is no number is none, rather than an error."""
    assert given({"speculative-num-steps": value}).whole("speculative-num-steps") == whole


def test_a_release_that_was_not_read_is_doubted() -> None:
    """A later release than any that was read, and a build nobody described, may judge otherwise."""
    assert given().doubt is None
    profile = story_profile()
    later = evolve(profile, engine=evolve(profile.engine, version=Version("9.9.9"), build=None))
    release = CATALOG.release("sglang", "9.9.9")[0]
    assert "9.9.9" in (given_by(story_plan(profile=later, release=release)).doubt or "")
    build = evolve(profile, engine=evolve(profile.engine, build=Name("unheard-of")))
    release = CATALOG.release("sglang", "0.5.11")[0]
    assert "unheard-of" in (given_by(story_plan(profile=build, release=release)).doubt or "")


def test_a_version_that_is_no_number_is_before_none_and_since_none() -> None:
    """Rules of some releases only hold their tongue there."""
    asked = given()
    assert asked.since("0.5.11")
    assert asked.before("0.5.12")
    assert not asked.before("0.5.11")
    odd = evolve(story_profile(), engine=evolve(story_profile().engine, version=Version("main")))
    unknown = given_by(story_plan(profile=odd))
    assert not unknown.since("0.4.6")
    assert not unknown.before("9.9.9")


def test_a_layout_of_one_is_not_given() -> None:
    """A size of 1 writes no flag."""
    profile = evolve(story_profile(), parallel=Parallel(tensor=8))
    assert given_by(story_plan(profile=profile)).value("data-parallel-size") is None


def test_the_fraction_is_given_as_it_is_found() -> None:
    """A number stands for itself; "fit" is what the plan found, and nothing where it found none."""
    profile = story_profile()
    fit = evolve(profile, memory=evolve(profile.memory, fraction="fit"))
    assert given_by(story_plan()).value("mem-fraction-static") == 0.93
    assert given_by(story_plan(profile=fit)).value("mem-fraction-static") == 0.93
    assert given_by(story_plan(profile=fit, memory=None)).value("mem-fraction-static") is None
