"""What a change does: against revisions of real repositories, folders, and installed plans, in each form."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from checkouts import (
    DEPLOYABLE,
    FP8,
    REPOSITORY,
    SHORT,
    STORY,
    UNIT,
    Checkout,
    command,
    compiled_checkout,
    environment,
)
from compiler.diff.markdown import LONGEST
from repositories import commit, everything, git, repository


BROKEN = "schema = 1\n[serve\n"


UPGRADED = """schema = 1
[model]
id = "Qwen/Qwen3-8B"
path = "/models/qwen"
[engine]
name = "sglang"
version = "{version}"
python = "{python}/bin/python"
[gpus]
kind = "h200"
count = 1
[serve]
context = 32_768
max_running_requests = 8
port = 31000
[memory]
fraction = 0.8
[targets.a]
kind = "systemd"
user = "sglang"
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree in a repository of one commit; not to be changed."""
    return repository(compiled_checkout(tmp_path_factory.mktemp("once") / "tree"))


@pytest.fixture
def tree(once: Checkout, tmp_path: Path) -> Checkout:
    """A compiled tree in a repository of one commit."""
    return once.copy(tmp_path / "tree")


def edit(tree: Checkout, name: str, old: str, new: str) -> None:
    """Replace what stands once in a profile."""
    path = tree.profile(name)
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def services(tree: Checkout, *words: str) -> dict[str, dict[str, object]]:
    """The services of `diff --format json`, by profile."""
    return {
        each["profile"]: each
        for each in tree.run("diff", *words, "--format", "json").json["services"]
    }


# --- which two ----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("HEAD~1..HEAD",), ("HEAD~1", "HEAD"), ("HEAD~1..HEAD", STORY)])
def test_two_revisions_are_compared_with_each_other(tree: Checkout, words: tuple[str, ...]) -> None:
    """Of two revisions the working tree is neither: both are compiled from git, and places are of the later one."""
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.94")
    commit(tree)
    edit(tree, STORY, "fraction = 0.94", "fraction = 0.95")
    done = tree.run("diff", *words)
    assert (done.code, done.err) == (0, "")
    assert re.match(
        r"HEAD~1 \([0-9a-f]{12}\) -> HEAD \([0-9a-f]{12}\): 1 service changes", done.out
    )
    assert "memory.fraction  0.93 -> 0.94" in " ".join(done.out.split(" "))
    assert "no service changes" in tree.run("diff", "HEAD..HEAD").out
    assert tree.run("diff", "HEAD~1..").out == tree.run("diff", "HEAD~1..HEAD").out
    assert tree.run("diff", "..HEAD~1").out == tree.run("diff", "HEAD..HEAD~1").out


def test_what_is_wrong_in_a_later_revision_is_shown_in_its_own_text(tree: Checkout) -> None:
    """A finding of a revision quotes the file as that revision has it, and refuses."""
    edit(tree, STORY, "context = 200_000", "context = 260_000")
    commit(tree)
    edit(tree, STORY, "context = 260_000", "context = 200_000")
    done = tree.run("diff", "HEAD~1..HEAD")
    assert done.code == 1
    assert "context = 260_000" in done.err


@pytest.mark.parametrize(
    ("word", "named"),
    [("HEAD..nobody", "nobody"), ("nobody..HEAD", "nobody"), ("HEAD...HEAD", "HEAD...HEAD")],
)
def test_a_range_of_what_is_not_there(tree: Checkout, word: str, named: str) -> None:
    """The revision that there is not is named, on either side; three dots are no range here."""
    done = tree.run("diff", word)
    assert done.code == 1
    assert f"there is no revision `{named}`" in done.err


def test_a_folder_above_is_no_range(tree: Checkout) -> None:
    """`..` in a path is a folder."""
    other = tree.copy(tree.root.parent / "other")
    edit(other, STORY, "fraction = 0.93", "fraction = 0.92")
    done = tree.run("diff", "../other", STORY)
    assert done.code == 0, done.err
    assert "memory.fraction  0.92 -> 0.93" in done.out


# --- what changes ---------------------------------------------------------------------------------


def test_nothing_changed(tree: Checkout) -> None:
    """A tree as it was committed changes nothing, which exits 0 also where 4 was asked for."""
    done = tree.run("diff", "--exit-code")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        r"HEAD \([0-9a-f]{12}\) -> the working tree: no service changes\n", done.out
    )


@pytest.mark.parametrize("form", ["text", "markdown"])
@pytest.mark.parametrize("name", ["schema.json", ".#draft.toml", "notes.md", "boots/.k26.toml.swp"])
def test_a_committed_file_that_is_no_profile(tree: Checkout, form: str, name: str) -> None:
    """What editors keep beside the profiles, such as the committed schema, is no input on either side."""
    path = tree.root / "profiles" / name
    path.write_text("{}\n", "utf-8")
    commit(tree)
    assert "no service changes" in tree.run("diff", f"--format={form}").out
    path.unlink()
    assert name not in tree.run("diff", f"--format={form}").out


def test_an_engine_that_is_upgraded_in_its_place(tree: Checkout) -> None:
    """Another release for the same interpreter leaves the unit as it is: it is to be installed, and then restarted."""
    tree.write("up", UPGRADED.format(version="0.5.10", python="/opt/sglang"))
    commit(tree)
    tree.write("up", UPGRADED.format(version="0.5.11", python="/opt/sglang"))
    change = services(tree)["up"]
    assert {each["path"] for each in change["files"]}.isdisjoint({"out/up/a/up.service"})  # type: ignore[attr-defined]
    restart = change["restart"]
    assert isinstance(restart, dict)
    assert restart["reasons"] == ["engine"]
    install = "sglang 0.5.11 for `/opt/sglang/bin/python`, which ran sglang 0.5.10"
    assert restart["install"] == install
    said = tree.run("diff").out
    assert "up on a: restart, once its engine is installed\n" in said
    assert f"install {install} restart engine; down for about " in " ".join(said.split())
    assert "1 service changes, with 1 restart" in said
    assert f"install first: {install.replace('`', '')[:10]}" in tree.run(
        "diff", "--format", "markdown"
    ).out.replace("`", "")
    assert tree.run("diff", "--exit-code").code == 4
    tree.write("up", UPGRADED.format(version="0.5.11", python="/opt/sglang-0.5.11"))
    restart = services(tree)["up"]["restart"]
    assert isinstance(restart, dict)
    assert restart["install"] is None
    assert "up on a: restart\n" in tree.run("diff").out


def test_values_of_settings_have_their_types_for_tools(tree: Checkout) -> None:
    """In JSON a text is a text without quotes, a list a list, and what a side does not set null."""
    edit(tree, STORY, "concurrency = 1", "concurrency = 1\nport = 31000")
    edit(tree, STORY, "fraction = 0.93", 'fraction = "fit"\nkv_dtype = "fp8_e4m3"')
    edit(
        tree,
        STORY,
        "[targets.ct200]",
        "[gpus]\nindices = [0, 1, 2, 3, 4, 5, 6, 7]\n\n[targets.ct200]",
    )
    changed = services(tree)[STORY]["settings"]
    assert isinstance(changed, list)
    found = {each["name"]: (each["old"], each["new"]) for each in changed}
    assert found == {
        "gpus.indices": (None, [0, 1, 2, 3, 4, 5, 6, 7]),
        "memory.fraction": (0.93, "fit"),
        "memory.kv_dtype": (None, "fp8_e4m3"),
        "serve.port": (30000, 31000),
    }
    page = tree.run("diff", "--format", "markdown").out
    assert '| `memory.kv_dtype` | not set | `"fp8_e4m3"` |' in page
    assert tree.run("diff", "--format", "json").json["schema"] == 3


def test_a_new_service_has_no_figures_before(tree: Checkout) -> None:
    """Of a service that was not, and of one that is no more, one figure stands: there is no other to be unknown."""
    tree.write(
        "more", tree.profile(STORY).read_text("utf-8").replace("[targets.ct200]", "[targets.b]")
    )
    tree.profile(FP8).unlink()
    for form in ("text", "markdown"):
        said = tree.run("diff", "--format", form).out
        assert "not known" not in said
        assert re.search(r"pool, tokens:? +[\d,]+ \([\d,]+ to [\d,]+\)$", said, re.MULTILINE)


def test_a_setting_with_what_it_does(tree: Checkout) -> None:
    """A changed fraction is told with its place, the pool and the reserve before and after, and the restart."""
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.94")
    (service,) = services(tree).values()
    assert service["settings"] == [
        {
            "name": "memory.fraction",
            "old": 0.93,
            "new": 0.94,
            "old_place": f"profiles/{STORY}.toml:11:12",
            "new_place": f"profiles/{STORY}.toml:11:12",
        }
    ]
    before, after = service["before"], service["after"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert before["pool_tokens"]["best"] < after["pool_tokens"]["best"]
    assert before["reserve_margin_gib"]["best"] > after["reserve_margin_gib"]["best"]
    restart = service["restart"]
    assert isinstance(restart, dict)
    assert restart["reasons"] == ["command line", "unit"]
    # 595.2 GB at 1 GB/s and five minutes: the figures of the start timeout, without its safety.
    assert restart["expected_s"] == 595 + 300
    assert restart["limit_s"] == 1800
    paths = {each["path"] for each in service["files"]}  # type: ignore[attr-defined]
    assert paths == {
        f"out/{STORY}/{each}"
        for each in (
            "PLAN.md",
            "memory.svg",
            "plan.json",
            "ct200/kimi-k2.6.service",
            "ct200/launch.sh",
        )
    }


def test_what_a_running_service_would_not_notice_is_no_restart(tree: Checkout) -> None:
    """A larger promise changes the probe alone, and a description what systemd shows: as a switch decides it."""
    edit(tree, SHORT, "concurrency = 3", "concurrency = 2")
    less = tree.run("diff").out
    assert f"{SHORT} on ct200: no restart\n" in less
    assert "with 1 restart" not in less
    commit(tree)
    edit(tree, SHORT, "concurrency = 2", "concurrency = 3")
    more = " ".join(tree.run("diff").out.split())
    assert f"{SHORT} on ct200: no restart, if what runs keeps the larger promise" in more
    commit(tree)
    edit(tree, SHORT, 'description = "', 'description = "Still ')
    assert f"{SHORT} on ct200: no restart\n" in tree.run("diff").out


def test_of_what_is_refused_nothing_restarts(tree: Checkout) -> None:
    """Its command line would be another, and is not written: that is said, and it is not among what restarts."""
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.85")
    done = tree.run("diff")
    assert done.code == 1
    assert f"{STORY} on ct200: refused, so nothing of it is written\n" in done.out
    assert "with 1 restart" not in done.out
    assert "  restart " not in done.out


def test_a_comment_changes_no_service(tree: Checkout) -> None:
    """A file that differs in a comment is listed with whom it reaches; no service changes, and the exit is 0."""
    edit(tree, "base/service", "# What every service here has in common.", "# What all have.")
    done = tree.run("diff", "--exit-code")
    assert done.code == 0
    assert "no service changes" in done.out
    assert f"~ base/service.toml: {STORY}, {FP8}, {SHORT}" in done.out


def test_a_base_lists_every_service_it_touches(tree: Checkout) -> None:
    """A setting of a shared fragment changes each service that extends it, with the fragment's place."""
    edit(tree, "base/service", "port = 30000", "port = 30001")
    found = services(tree)
    assert found.keys() == DEPLOYABLE
    places = [setting["new_place"] for each in found.values() for setting in each["settings"]]  # type: ignore[attr-defined]
    assert places == ["profiles/base/service.toml:6:8"] * 3
    done = tree.run("diff", "--exit-code")
    assert done.code == 4
    # All three give the one unit of the host, where one of them runs.
    assert (
        "3 services change, with 1 restart; 3 are alternatives for kimi-k2.6.service on ct200"
        in (" ".join(done.out.split()))
    )


def test_a_boot_changes_what_is_predicted(tree: Checkout) -> None:
    """No setting changes when a recorded boot does, and yet the pool: both are told."""
    edit(tree, "boots/ct200-0.85", "pool_tokens = 101_134", "pool_tokens = 100_134")
    done = tree.run("diff", SHORT)
    assert "pool, tokens  101,134 (101,134 to 101,135) -> 100,13" in done.out
    assert "settings" not in done.out
    assert "~ boots/ct200-0.85.toml" in done.out


def test_new_and_removed_services(tree: Checkout) -> None:
    """A profile that is new, and one of another unit that is gone."""
    text = tree.profile(SHORT).read_text("utf-8")
    tree.profile(SHORT).unlink()
    tree.write("k2.6-34k", f'{text}unit = "k34"\n')
    found = services(tree)
    assert {name: each["change"] for name, each in found.items()} == {
        "k2.6-34k": "new",
        SHORT: "removed",
    }
    assert found[SHORT]["restart"] is None


def test_only_the_named_profiles(tree: Checkout) -> None:
    """With profiles, only theirs; one without a REF is compared with HEAD."""
    edit(tree, "base/service", "port = 30000", "port = 30001")
    assert services(tree, "HEAD", STORY).keys() == {STORY}
    assert services(tree, f"profiles/{SHORT}.toml", FP8).keys() == {SHORT, FP8}


def test_a_promise_that_is_broken(tree: Checkout) -> None:
    """A change that is refused is shown, with its verdict and no file, and exits 1."""
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.85")
    done = tree.run("diff", "--exit-code")
    assert done.code == 1
    assert "verdict  uncertain -> refused" in done.out
    assert "found    error pool-too-small" in done.out
    assert "out/" not in done.out
    assert "error[pool-too-small]" in done.err


def test_fit_that_finds_another_fraction(tree: Checkout) -> None:
    """A fraction of "fit" is the same setting, and its figure another."""
    edit(tree, SHORT, "fraction = 0.85", 'fraction = "fit"')
    commit(tree)
    edit(tree, SHORT, "context = 32_768", "context = 30_000")
    (service,) = services(tree).values()
    assert [each["name"] for each in service["settings"]] == ["serve.context"]  # type: ignore[attr-defined]
    assert service["before"]["fraction"] > service["after"]["fraction"]  # type: ignore[index]


# --- what it is compared with ---------------------------------------------------------------------


@pytest.mark.slow
def test_revisions_by_any_name(tree: Checkout) -> None:
    """A branch, a tag, a hash, and an expression name the same commit."""
    first = git(tree.root, "rev-parse", "HEAD")
    git(tree.root, "tag", "v1")
    edit(tree, SHORT, "fraction = 0.85", "fraction = 0.86")
    commit(tree)
    for name in ("v1", first, first[:10], "HEAD~1", "main~1"):
        assert services(tree, name).keys() == {SHORT}, name
    assert services(tree, "main") == {}


def test_a_tree_inside_a_repository(once: Checkout, tmp_path: Path) -> None:
    """The tree may be a folder of its repository, and the user in a folder of the tree."""
    inside = once.copy(tmp_path / "whole" / "deep" / "tree")
    shutil.rmtree(inside.root / ".git")
    outside = Checkout(tmp_path / "whole")
    git(outside.root, "init", "--quiet")
    commit(outside)
    edit(inside, SHORT, "fraction = 0.85", "fraction = 0.86")
    done = inside.run("diff", within="profiles/base")
    assert f"{SHORT} on ct200: restart" in done.out


def test_a_fragment_that_is_a_link(tree: Checkout) -> None:
    """A symlink in a revision is followed, as on the disk."""
    fragment = tree.profile("base/service")
    shutil.move(fragment, tree.root / "profiles" / "shared.toml")
    fragment.symlink_to("../shared.toml")
    commit(tree)
    assert services(tree) == {}
    edit(tree, "shared", "port = 30000", "port = 30001")
    assert services(tree).keys() == DEPLOYABLE


def test_profiles_that_are_a_link_within_the_revision(tree: Checkout) -> None:
    """They are read where the link leads, as on the disk."""
    (tree.root / "profiles").rename(tree.root / "deploy")
    (tree.root / "profiles").symlink_to("deploy")
    commit(tree)
    assert services(tree) == {}


@pytest.mark.parametrize("kind", ["a link", "a loop", "a submodule"])
def test_profiles_that_are_elsewhere(tree: Checkout, tmp_path: Path, kind: str) -> None:
    """A link out of the revision, and a submodule, are said to be unread: nothing is called new for it."""
    profiles = tree.root / "profiles"
    kept = tmp_path / "kept"
    profiles.rename(kept)
    if kind == "a submodule":
        git(tree.root, "rm", "-r", "--quiet", "--cached", "profiles")
        head = git(tree.root, "rev-parse", "HEAD")
        git(tree.root, "update-index", "--add", "--cacheinfo", f"160000,{head},profiles")
        git(tree.root, "commit", "--quiet", "--message", "a submodule")
    else:
        profiles.symlink_to(kept if kind == "a link" else "profiles")
        commit(tree)
        profiles.unlink()
    shutil.copytree(kept, profiles)
    done = tree.run("diff")
    assert done.code == 1
    assert "error[git-unusable]: no revision can be read: `profiles` is a " in done.err
    assert "new" not in done.out


@pytest.mark.parametrize("words", [("nowhere",), ("HEAD", "nobody"), ("",)])
def test_a_failure_is_an_object_too(tree: Checkout, words: tuple[str, ...]) -> None:
    """Who reads JSON gets the findings, as of other verbs."""
    done = tree.run("diff", *words, "--format", "json")
    assert done.code == 1
    assert [each["severity"] for each in done.json["diagnostics"]] == ["error"]
    assert done.json["diagnostics"][0]["summary"] in done.err.replace("\n          ", " ")


def test_a_plan_is_named_by_its_folder(tree: Checkout) -> None:
    """Its file is no revision, and the message says what to name."""
    tree.run("compile")
    plan = next((tree.root / "out").rglob("plan.json")).relative_to(tree.root)
    done = tree.run("diff", str(plan))
    assert done.code == 1
    assert f"`{plan}` is a file, and neither a revision nor a folder" in done.err
    assert f"poolproof diff {plan.parent}" in done.err


def test_a_target_is_compared_by_its_own_folder(tree: Checkout) -> None:
    """As `switch` is given it: its plan stands above; a folder there that is no target is said."""
    tree.run("compile")
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.94")
    whole = tree.run("diff", f"out/{STORY}").out
    assert tree.run("diff", f"out/{STORY}/ct200").out == whole
    assert f"{STORY} on ct200: restart" in whole
    (tree.out / STORY / "other").mkdir()
    done = tree.run("diff", f"out/{STORY}/other")
    assert (done.code, "it has no target `other`" in done.err) == (1, True)


def test_the_gpus_of_a_service_are_told_from_their_number(tree: Checkout) -> None:
    """Indices are called GPUs beside how many there are, against a folder's plan as against a tree."""
    edit(tree, STORY, "[memory]", "[gpus]\nindices = [8, 9, 10, 11, 12, 13, 14, 15]\n\n[memory]")
    tree.run("compile")
    said = "GPUs 8 x rtx-pro-6000-blackwell as GPUs 8 to 15"
    assert said in " ".join(tree.run("diff").out.split())
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.94")
    done = " ".join(tree.run("diff", f"out/{STORY}").out.split())
    assert f"{said}, unit" in done
    edit(tree, STORY, "[8, 9, 10", "[7, 9, 10")
    done = " ".join(tree.run("diff", f"out/{STORY}").out.split())
    assert (
        "GPUs 8 x rtx-pro-6000-blackwell as GPUs 7, 9, 10, 11, 12, 13, 14, 15 "
        "(was 8 x rtx-pro-6000-blackwell as GPUs 8 to 15)" in done
    )


def test_a_fragment_is_no_service(tree: Checkout) -> None:
    """Asked for by name nothing of it is compared, which is said, and who is made of it may be asked."""
    edit(tree, "base/service", "chunked_prefill = 8192", "chunked_prefill = 4096")
    done = tree.run("diff", "HEAD", "base/service")
    assert "no service changes" in done.out
    assert "`base/service` is a fragment, and no service: `poolproof affected" in done.err
    assert "is a fragment" not in tree.run("diff", "HEAD", STORY).err


def test_another_folder(tree: Checkout, once: Checkout) -> None:
    """A folder with `profiles/` is compared as a tree, without git."""
    shutil.rmtree(tree.root / ".git")
    edit(tree, SHORT, "fraction = 0.85", "fraction = 0.86")
    assert services(tree, str(once.root)).keys() == {SHORT}


def installed(tree: Checkout, folder: Path, name: str = STORY) -> Path:
    """A generation as it lies on a host."""
    shutil.copytree(tree.out / name / "ct200", folder)
    for file in ("plan.json", "PLAN.md"):
        shutil.copy(tree.out / name / file, folder)
    return folder


def test_an_installed_generation(tree: Checkout, tmp_path: Path) -> None:
    """An installed plan is compared with the service of its unit: nothing, then what a change does to its flags."""
    folder = installed(tree, tmp_path / "gen-7")
    done = tree.run("diff", str(folder), "--exit-code")
    assert (done.code, done.err) == (0, "")
    edit(tree, STORY, "max_running_requests = 8 ", "max_running_requests = 9 ")
    done = tree.run("diff", str(folder), "--exit-code")
    assert done.code == 4
    assert "--max-running-requests  8 -> 9" in done.out
    assert f"~ out/{UNIT}" in done.out


def test_an_alternative_in_the_place_of_an_installed_one(tree: Checkout, tmp_path: Path) -> None:
    """A named profile of the same unit and host is what would take the installed one's place."""
    folder = installed(tree, tmp_path / "gen-7")
    (service,) = services(tree, str(folder), SHORT).values()
    flags = {each["name"]: (each["old"], each["new"]) for each in service["options"]}  # type: ignore[attr-defined]
    assert flags == {
        "--context-length": ("200000", "32768"),
        "--max-running-requests": ("8", "64"),
        "--mem-fraction-static": ("0.93", "0.85"),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "no plan"),
        ('{"schema": 2}', "schema 2"),
        ('{"schema": 1}', "no plan"),
        ('{"schema": 1, "targets": {"a": {}}}', "does not say `engine`"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_plan_that_cannot_be_read(
    tree: Checkout, tmp_path: Path, text: str | bytes, reason: str
) -> None:
    """`plan-unreadable`: whatever is wrong with a `plan.json` is one finding."""
    (tmp_path / "plan.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = tree.run("diff", str(tmp_path))
    assert done.code == 1
    assert done.out == ""
    assert "error[plan-unreadable]" in done.err
    assert reason in done.err


# --- what cannot be compared ----------------------------------------------------------------------


def test_a_revision_that_is_not_there(tree: Checkout) -> None:
    """`revision-unknown`: the name, one like it, exit 1, and nothing on stdout."""
    git(tree.root, "branch", "release")
    done = tree.run("diff", "relaese")
    assert (done.code, done.out) == (1, "")
    assert "error[revision-unknown]: there is no revision `relaese`" in done.err
    assert "`release`" in done.err


def test_a_branch_that_is_called_otherwise(tree: Checkout) -> None:
    """Where no name is like the one asked for, as `main` and `master` are not, those that there are are named."""
    git(tree.root, "branch", "-m", "main", "master")
    assert "there is `master`" in tree.run("diff", "main").err
    for number in range(8):
        git(tree.root, "branch", f"x{number}")
    assert (
        "there are `master`, `x0`, `x1`, `x2`, `x3`, `x4`, and 3 more"
        in tree.run("diff", "main").err
    )


def test_a_revision_that_looks_like_an_option(tree: Checkout) -> None:
    """What begins with a dash is never handed to git as an option."""
    done = tree.run("diff", "--", "--output=x")
    assert done.code == 1
    assert "revision-unknown" in done.err
    assert not (tree.root / "x").exists()


def test_a_shallow_clone(tree: Checkout, tmp_path: Path) -> None:
    """In a shallow clone the way out is told; what it has is compared."""
    edit(tree, SHORT, "fraction = 0.85", "fraction = 0.86")
    tree.compile()
    commit(tree)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{tree.root}", str(shallow))
    clone = Checkout(shallow)
    done = clone.run("diff", "HEAD~1")
    assert done.code == 1
    assert "git fetch --unshallow" in done.err
    assert clone.run("diff").code == 0


def test_no_repository(tree: Checkout) -> None:
    """`git-unusable`: a tree that no repository is around."""
    shutil.rmtree(tree.root / ".git")
    done = tree.run("diff", GIT_CEILING_DIRECTORIES=str(tree.root.parent))
    assert (done.code, done.out) == (1, "")
    assert "error[git-unusable]" in done.err
    assert "not a git repository" in done.err


def test_no_git(tree: Checkout, tmp_path: Path) -> None:
    """`git-unusable`: a machine without git; a folder is compared all the same."""
    done = tree.run("diff", PATH=str(tmp_path))
    assert done.code == 1
    assert "git is not installed" in done.err
    assert tree.run("diff", ".", PATH=str(tmp_path)).code == 0


def test_a_repository_without_a_commit(tree: Checkout) -> None:
    """A repository that was only made has no HEAD to compare with."""
    shutil.rmtree(tree.root / ".git")
    git(tree.root, "init", "--quiet")
    done = tree.run("diff")
    assert done.code == 1
    assert "there is no commit yet" in done.err


def test_a_revision_before_the_profiles(tree: Checkout) -> None:
    """A revision without `profiles/` makes everything new, and that is said."""
    git(tree.root, "checkout", "--quiet", "--orphan", "empty")
    git(tree.root, "rm", "--quiet", "-r", "--cached", ".")
    git(tree.root, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    done = tree.run("diff")
    assert done.code == 0
    assert "3 services are new" in done.out
    assert "there are no profiles at HEAD" in done.err


def test_a_revision_of_another_schema(tree: Checkout) -> None:
    """Profiles that this compiler does not read are told apart from those that are new."""
    text = tree.profile(SHORT).read_text("utf-8")
    tree.write(SHORT, text.replace("schema = 1", "schema = 0"))
    commit(tree)
    tree.write(SHORT, text)
    done = tree.run("diff")
    assert done.code == 0
    assert f"{SHORT} on ct200: compiles, and did not before" in done.out
    assert f"because of schema-unknown at profiles/{SHORT}.toml:1:10" in done.out
    assert "in a schema that this compiler does not read" in done.err


def test_a_profile_that_compiles_here_only(tree: Checkout) -> None:
    """What did not compile before has nothing to be compared with; the others are compared."""
    text = tree.profile(SHORT).read_text("utf-8")
    tree.write(SHORT, BROKEN)
    commit(tree)
    tree.write(SHORT, text)
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.94")
    found = services(tree)
    assert {name: each["change"] for name, each in found.items()} == {
        SHORT: "mended",
        STORY: "changed",
    }


def test_a_profile_that_compiled_there_only(tree: Checkout) -> None:
    """What does not compile any more is told with its reason, beside the others, and exits 1."""
    tree.write(SHORT, BROKEN)
    edit(tree, STORY, "fraction = 0.93", "fraction = 0.94")
    done = tree.run("diff", "--exit-code")
    assert done.code == 1
    assert f"{SHORT} on ct200: does not compile" in done.out
    assert f"because of toml-syntax at profiles/{SHORT}.toml:2:" in done.out
    assert f"{STORY} on ct200: restart" in done.out
    assert "error[toml-syntax]" in done.err


def test_what_does_not_compile_has_no_figures(tree: Checkout) -> None:
    """In every form a service that a slip broke has the figures and the verdict of the side that compiles only, marked as those."""
    tree.write(SHORT, BROKEN)
    rows = [
        each
        for each in tree.run("diff", "--format", "markdown").out.splitlines()
        if each[:1] == "|"
    ]
    (row,) = (each for each in rows if "does not compile" in each)
    _, _, outcome, pool, needed, margin, verdict, _ = map(str.strip, row.split("|"))
    assert (outcome, verdict) == ("does not compile", "pass → does not compile")
    assert all(each.endswith(" → not known") for each in (pool, needed, margin))
    text = tree.run("diff").out
    assert "verdict  pass -> does not compile" in text
    figures = [each for each in text.splitlines() if each.startswith("    ")]
    assert figures
    assert all(each.endswith(" -> not known") for each in figures if "  " in each.strip())
    commit(tree)
    git(tree.root, "checkout", "HEAD~1", "--", ".")
    assert "verdict  does not compile -> pass" in tree.run("diff").out


def test_a_profile_that_is_on_no_side(tree: Checkout) -> None:
    """A name that neither side has is a mistake, not an empty answer."""
    done = tree.run("diff", "HEAD", "k2.6-32")
    assert (done.code, done.out) == (1, "")
    assert "error[profile-missing]" in done.err
    assert f"`{SHORT}`" in done.err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "there is no `out/` yet"),
        (lambda out: (out / UNIT).unlink(), "`out/` is not what the profiles give"),
        (lambda out: (out / UNIT).write_text("x"), "`out/` is not what the profiles give"),
    ],
    ids=["missing", "a file is missing", "edited"],
)
def test_an_out_that_is_not_current(
    tree: Checkout, damage: Callable[[Path], object], said: str
) -> None:
    """A missing or dirty `out/` is said, on stderr, and changes neither the comparison nor the exit code."""
    damage(tree.out)
    done = tree.run("diff", "--exit-code")
    assert done.code == 0
    assert said in done.err
    assert "no service changes" in done.out


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_nothing_is_written(tree: Checkout, form: str) -> None:
    """Not a byte of the tree or the repository changes, its index and its locks included."""
    edit(tree, "base/service", "port = 30000", "port = 30001")
    before = everything(tree.root)
    tree.run("diff", "--format", form)
    assert everything(tree.root) == before


# --- how it is shown ------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_bytes_again(tree: Checkout) -> None:
    """Two runs print the same, in each form."""
    edit(tree, "base/service", "port = 30000", "port = 30001")
    for form in ("text", "markdown", "json"):
        once, again = (tree.run("diff", "--format", form).out for _ in range(2))
        assert once == again


def test_forty_columns(tree: Checkout) -> None:
    """On a narrow terminal lines are broken between words; only a word that is longer runs over."""
    edit(tree, "base/service", "port = 30000", "port = 30001")
    done = tree.run("diff", COLUMNS="40")
    long = [line for line in done.out.splitlines() if len(line) > 40]
    assert all(len(line.removeprefix("    ~ ").split()) == 1 for line in long)
    assert done.out.count("serve.port") == 3


@pytest.mark.slow
def test_a_reader_that_goes_away(tree: Checkout) -> None:
    """A pipe that closes early takes nothing from the exit code, and prints no complaint."""
    edit(tree, "base/service", "port = 30000", "port = 30001")
    words = " ".join(command("diff", "--exit-code", "--format", "json"))
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -c 1; echo ${{PIPESTATUS[0]}}"],
        cwd=tree.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr.count("Traceback")) == ("{4\n", 0)


NASTY = "a | b <script>alert(1)</script> `x` @everyone #1 ](http://example.org) </details> $& *_~"


def test_markdown_escapes_everything(tree: Checkout) -> None:
    """What a profile says stays text: in code, a bar escaped; no HTML, no mention, no link, no end of a fold."""
    edit(tree, SHORT, "many requests of up to 32k tokens", NASTY)
    out = tree.run("diff", "--format", "markdown").out
    (row,) = (line for line in out.splitlines() if "alert" in line)
    assert re.search(r"(?<!\\)\|", row.strip("| ").split(" | ")[2]) is None
    assert row.count("``") >= 2
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert out.count("<details>") == out.count("</details>") - 1  # the one inside the code
    assert out.startswith("<!-- poolproof-diff -->\n### Poolproof: 1 service changes\n")


@pytest.mark.slow
def test_markdown_is_short(tree: Checkout) -> None:
    """A change of a hundred services fits into a comment: the first in full, the rest counted."""
    text = tree.profile(SHORT).read_text("utf-8")
    for number in range(100):
        tree.write(f"many/p{number:03}", text)
    out = tree.run("diff", "--format", "markdown").out
    assert len(out) <= LONGEST
    assert "100 services are new" in out
    assert "and 50 more" in out
    assert out.count("\n<details>\n") >= 2


def test_pools_of_replicas_are_counted(tree: Checkout) -> None:
    """Where each replica has a pool it is said how many there are, in every form: fewer and larger ones are no growth."""
    edit(tree, SHORT, "[memory]", "[parallel]\ndata = 8\ndp_attention = true\n\n[memory]")
    assert re.search(r"needed, tokens  98,319 -> [\d,]+ x 8\n", tree.run("diff").out)
    assert re.search(r"98,319 → [\d,]+ x 8 \|", tree.run("diff", "--format", "markdown").out)
    (service,) = tree.run("diff", "--format", "json").json["services"]
    assert (service["before"]["replicas"], service["after"]["replicas"]) == (1, 8)


def test_a_secret_is_covered(tree: Checkout) -> None:
    """A value that looks like a secret is not repeated in any form."""
    secret = "hf_" + "a1B2c3D4e5F6g7H8"
    edit(tree, SHORT, "[targets.ct200]", f'[env]\nHF_TOKEN = "{secret}"\n\n[targets.ct200]')
    for form in ("text", "markdown", "json"):
        out = tree.run("diff", "--format", form).out
        assert secret not in out
        assert "env.HF_TOKEN" in out


def test_the_contract(tree: Checkout) -> None:
    """The keys of the JSON are what tools build on; nothing may be taken away."""
    edit(tree, SHORT, "fraction = 0.85", "fraction = 0.86")
    found = json.loads(tree.run("diff", "--format", "json").out)
    assert found.keys() == {"schema", "old", "new", "services", "inputs", "notes", "diagnostics"}
    assert found["services"][0].keys() == {
        *("profile", "target", "change", "identity", "identity_before", "settings", "options"),
        *("environment", "before", "after", "verdict_before", "verdict_after", "findings_new"),
        *("findings_gone", "restart", "files", "reasons"),
        *("profile_before", "outcome", "place", "left", "others"),
    }
    assert found["inputs"] == [{"path": f"{SHORT}.toml", "state": "changed", "profiles": [SHORT]}]


@pytest.mark.slow
def test_this_repository_has_a_head() -> None:
    """The verb works on the repository it is developed in, where that is one."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not in a repository")
    assert Checkout(REPOSITORY).run("diff").code in (0, 1)


# --- affected -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("base/service", DEPLOYABLE),
        ("profiles/base/service.toml", DEPLOYABLE),
        (STORY, {STORY}),
        ("profiles/boots/ct200-0.85.toml", DEPLOYABLE),
        ("boots/ct200-0.85", DEPLOYABLE),
        ("compiler/catalog/data/models/moonshotai--Kimi-K2.6.toml", DEPLOYABLE),
        ("profiles/catalog/gpus/rtx-pro-6000-blackwell.toml", DEPLOYABLE),
        ("compiler/catalog/data/engines/sglang/builds/ddtree.toml", DEPLOYABLE),
        ("compiler/catalog/data/gpus/h100.toml", set()),
    ],
)
def test_affected(once: Checkout, file: str, expected: set[str]) -> None:
    """A fragment, a profile, a boot, and an entry of the catalogue list the profiles that are made of them."""
    done = once.run("affected", file)
    assert (done.code, done.err) == (0, "")
    assert set(done.out.split()) == expected


def test_affected_by_a_fragment_that_is_gone(tree: Checkout) -> None:
    """A fragment that was removed still touches those that extend it."""
    tree.profile("base/service").unlink()
    assert set(tree.run("affected", "base/service").out.split()) == DEPLOYABLE


@pytest.mark.parametrize(
    ("broken", "file", "unseen"),
    [
        (("torn", b"[broken\n"), "base/service", ["torn"]),
        (("torn", b"[broken\n"), "profiles/boots/ct200-0.85.toml", ["torn"]),
        (("torn", b"extends = 3\n[targets.a]\n"), "base/service", ["torn"]),
        (("torn", b'extends = ["base/none"]\n[targets.a]\n'), "base/service", []),
        (("torn", b'extends = ["base/none"]\n[targets.a]\n'), "boots/ct200-0.85", ["torn"]),
        (("torn", b'extends = ["base/kimi-k2.6"]\n'), "base/service", []),
    ],
)
def test_affected_says_what_may_be_touched_too(
    tree: Checkout, broken: tuple[str, bytes], file: str, unseen: list[str]
) -> None:
    """A profile of which nobody knows whether it has the file is said, in text and JSON; one that is known not to is not."""
    tree.write(*broken)
    done = tree.run("affected", file)
    assert (done.code, set(done.out.split())) == (0, DEPLOYABLE)
    assert ("`torn` cannot be read whole and may be touched too" in done.err) is bool(unseen)
    told = tree.run("affected", file, "--json").json
    assert (told["unseen"], set(told["files"][file])) == (unseen, DEPLOYABLE)


def test_affected_through_a_fragment_that_nobody_can_read(tree: Checkout) -> None:
    """What extends a torn fragment may have anything above it; the fragment is no service itself."""
    tree.profile("base/kimi-k2.6").write_text("[broken\n", "utf-8")
    told = tree.run("affected", "hw/8x-rtx-pro-6000", "base/kimi-k2.6", "gone.md", "--json").json
    assert {name for several in told["files"].values() for name in several} == DEPLOYABLE
    assert told["unseen"] == []
    (tree.root / "profiles" / "apart.toml").write_text("x = 1\n", "utf-8")
    done = tree.run("affected", "apart")
    assert (done.code, done.out) == (0, "")
    assert done.err.count(" may be touched too") == len(DEPLOYABLE)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("poolproof.toml", "says which compiler may compile the tree"),
        ("README.md", "is there, and no profile is made of it"),
    ],
)
def test_affected_by_a_file_beside_the_profiles(tree: Checkout, file: str, said: str) -> None:
    """A file that is there touches no profile, and is not said to be missing: a change may have any file in it."""
    (tree.root / "README.md").write_text("x\n", "utf-8")
    done = tree.run("affected", file, SHORT)
    assert (done.code, done.out) == (0, f"{SHORT}\n")
    assert f"`{file}` {said}" in done.err


def test_affected_by_what_a_change_took_away(tree: Checkout) -> None:
    """A file of a commit that is renamed or removed is among those of a change, and touches nothing more; JSON has it, too."""
    path = tree.profile(STORY)
    path.rename(path.with_name("renamed.toml"))
    done = tree.run("affected", f"profiles/{STORY}.toml", "profiles/renamed.toml")
    assert (done.code, done.out) == (0, "renamed\n")
    assert done.err == f"`profiles/{STORY}.toml` is gone, and no profile asks for it\n"
    asked = tree.run("affected", STORY, "--json").json
    assert (asked["files"], asked["diagnostics"]) == ({STORY: []}, [])
    shutil.rmtree(tree.root / ".git")
    assert tree.run("affected", STORY).code == 1


def test_affected_by_what_is_not_there(once: Checkout) -> None:
    """`file-unknown`: a misspelt file is a mistake, not an empty answer; the others are answered."""
    done = once.run("affected", "base/servcie", SHORT)
    assert (done.code, done.out) == (1, f"{SHORT}\n")
    assert "error[file-unknown]" in done.err
    assert "profiles/base/service.toml" in done.err


@pytest.mark.parametrize(
    ("folder", "within", "expected"),
    [
        ("profiles/base", ".", DEPLOYABLE),
        ("base/", ".", DEPLOYABLE),
        (".", "profiles/base", DEPLOYABLE),
        (".", ".", DEPLOYABLE),
        ("..", "profiles/base", DEPLOYABLE),
        ("profiles/apart", ".", {"of-apart"}),
        ("apart", "profiles", {"of-apart"}),
        ("compiler/catalog/data/builds", ".", None),
        ("compiler/catalog/data/gpus", ".", DEPLOYABLE),
        ("profiles/boots", ".", DEPLOYABLE),
        ("docs", ".", set()),
    ],
)
def test_affected_by_a_folder(
    tree: Checkout, folder: str, within: str, expected: set[str] | None
) -> None:
    """Of a folder that stands all files below it are meant, and it is said to be one; a shipped one that is not is unknown."""
    (tree.root / "docs").mkdir()
    if "apart" in folder:
        tree.write("apart/more", "x = 1\n")
        tree.write("of-apart", 'extends = ["apart/more"]\n[targets.a]\n')
    done = tree.run("affected", folder, within=within)
    if expected is None:
        assert (done.code, done.out) == (1, "")
        return
    assert (done.code, set(done.out.split())) == (0, expected)
    said = "these are made of files below it" if expected else "no profile is made of a file below"
    assert f"`{folder}` is a folder" in done.err
    assert said in done.err
    told = tree.run("affected", folder, "--json", within=within).json
    assert (set(told["files"][folder]), told["diagnostics"]) == (expected, [])


def test_affected_by_a_name_where_the_user_is(once: Checkout) -> None:
    """A name is one within the folder of profiles, too."""
    for name, within in (("base/service", "profiles"), ("service", "profiles/base")):
        assert set(once.run("affected", name, within=within).out.split()) == DEPLOYABLE


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("docs/old.md", 0),
        ("profiles/apart/more.toml", 0),
        ("apart/more", 0),
        ("docs", 1),
        ("profiles/apart", 1),
        ("docs/*.md", 1),
        ("../old.md", 1),
    ],
)
def test_affected_by_a_folder_that_is_gone(tree: Checkout, file: str, code: int) -> None:
    """What git remembers is a file, wherever in the tree it was; a folder that is gone, or a pattern, is none."""
    tree.write("apart/more", "x = 1\n")
    (tree.root / "docs").mkdir()
    (tree.root / "docs" / "old.md").write_text("x\n", "utf-8")
    commit(tree)
    shutil.rmtree(tree.root / "docs")
    shutil.rmtree(tree.root / "profiles" / "apart")
    done = tree.run("affected", file)
    assert done.code == code, done.err
    assert ("is gone, and no profile asks for it" in done.err) is (code == 0)


def test_affected_prints_no_name_raw(tree: Checkout) -> None:
    """A line break, or what steers a terminal, in a file's name is spelled out: on either stream a line is a name."""
    bad = "a\nb\x1b[31m"
    (tree.root / f"{bad}.md").write_text("x\n", "utf-8")
    tree.write(bad, "[torn\n")
    (tree.root / f"{bad} folder").mkdir()
    done = tree.run("affected", f"{bad}.md", f"{bad} none", f"{bad} folder", f"profiles/{bad}.toml")
    assert done.code == 1
    assert "\x1b" not in done.err + done.out
    assert done.out == "a\\u000ab\\u001b[31m\n"
    assert done.err.count("`a\\u000ab\\u001b[31m") == 3


def test_affected_by_a_name_as_git_quotes_it(once: Checkout) -> None:
    """A name in git's quotes is told how git gives it without."""
    done = once.run("affected", '"profiles/base/\\303\\251 y.toml"')
    assert done.code == 1
    assert "git diff --name-only -z" in done.err
    assert "core.quotePath=false" in done.err


def test_an_empty_revision(once: Checkout) -> None:
    """An empty word, such as that of a variable nobody set, is not the folder we stand in."""
    done = once.run("diff", "")
    assert (done.code, done.out) == (1, "")
    assert "error[revision-unknown]" in done.err
