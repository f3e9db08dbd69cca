"""What services of a tree do to each other, beyond the cases in `rules/`: fragments nobody uses, and many at once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from compiler.catalog import FolderReader, open_catalog
from compiler.engines.sglang.answering import SGLANG
from compiler.inputs import Inputs
from compiler.judged import Checked
from compiler.language.load import DiskReader
from compiler.memory.weights import GIB
from compiler.pipeline import check_profiles
from compiler.ranges import Range
from compiler.report.verdicts import tree_lines, verdict_lines
from deployments import check_texts, codes_of, help_of, only_plan


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


@pytest.mark.parametrize(
    "line",
    [
        'extends = ["base/lft"]',
        'extends = ["base/sglang-plain", "/base/left"]',
        'extends = "base/left"',
        'extends = ["base/sglang-plain", 3]',
        'extend = ["base/left"]',
        'defaults.extends = ["base/left"]',
        'serve.extends = ["base/left"]',
    ],
)
def test_nothing_is_called_unused_while_what_extends_it_is_misspelt(
    tmp_path: Path, line: str
) -> None:
    """Where a deployed profile means to extend something and does not, that is the one error: the rest follows from it."""
    text = service(unit="a").replace('extends = ["base/sglang-plain"]', line)
    engine = 'engine = { name = "sglang", version = "0.5.11", python = "/p" }\n'
    text = text if line.startswith("extends") else engine + text
    tree = {"a": text, "base/sglang-plain": BASE, "base/deep": "", "base/left": ""}
    checked = check_tree(tree, tmp_path)
    assert len({each for each in checked.all_diagnostics if each.is_error}) == 1
    assert told(checked, "fragment-unused") == []


def test_a_profile_whose_target_is_misspelt_uses_what_it_extends(tmp_path: Path) -> None:
    """`[target.NAME]` is the one error; what nobody else means to use is told all the same."""
    tree = {
        "a": service(unit="a").replace("targets.one", "target.one"),
        "base/sglang-plain": BASE,
        "base/deep": "",
        "base/left": "",
    }
    checked = check_tree(tree, tmp_path)
    assert told(checked, "unknown-key") == ["unknown table `target`"]
    assert told(checked, "fragment-unused") == ["no deployable profile extends `base/left`"]


def test_what_is_unused_is_told_whatever_it_extends(tmp_path: Path) -> None:
    """A fragment that nobody deploys is unused, and what it would extend is nobody's either."""
    tree = {
        "a": service(unit="a"),
        "base/sglang-plain": BASE,
        "base/deep": "",
        "base/left": 'extends = ["base/blow"]',
        "base/below": "",
    }
    checked = check_tree(tree, tmp_path)
    assert told(checked, "profile-missing") == ["there is no profile `base/blow`"]
    assert told(checked, "fragment-unused") == [
        "no deployable profile extends `base/below`",
        "no deployable profile extends `base/left`",
    ]


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


PORTS = {"a": 30_000, "b": 31_000, "c": 32_000}


def test_what_moves_a_port_is_named_with_its_service(profiles: Path) -> None:
    """A port that a flag gives is not moved by `serve.port`: the advice names the flag, whose it is, and one that passes."""
    met = service(gpu=1, port=31000, unit="b") + 'flags.dist-init-addr = "127.0.0.1:30000"\n'
    checked = check_texts(profiles, {"a": service(unit="a"), "b": met})
    advised = 'flags.dist-init-addr = "127.0.0.1:30001"'
    assert help_of(checked, "port-clash").startswith(f"set `{advised}` of `b`: ")
    mended = service(gpu=1, port=31000, unit="b") + f"{advised}\n"
    assert "port-clash" not in codes_of(
        check_texts(profiles, {"a": service(unit="a"), "b": mended})
    )


def test_the_ports_that_are_offered_pass_together(profiles: Path) -> None:
    """Each service that meets another is offered a port of its own, and all of them taken up meet nowhere."""
    texts = {f"p{n}": service(gpu=n, unit=f"u{n}") for n in range(5)}
    texts["far"] = service(gpu=5, port=30_200, unit="far")
    found = [
        each for each in check_texts(profiles, texts).all_diagnostics if each.code == "port-clash"
    ]
    for each in found:
        moved = re.match(r"set `serve\.port = (\d+)` of `(\w+)`: no service of `one`", each.help[0])
        assert moved is not None, each.help
        texts[moved[2]] = service(
            gpu=int(moved[2].removeprefix("p")), port=int(moved[1]), unit=f"u{moved[2]}"
        )
    assert len(found) == 4
    assert not {"port-clash", "port-range"} & set(codes_of(check_texts(profiles, texts)))


def test_no_note_of_a_clash_repeats_a_label(profiles: Path) -> None:
    """What a label says at its place is not said once more below it."""
    met = service(gpu=1, port=31000, unit="b") + 'flags.dist-init-addr = "127.0.0.1:30000"\n'
    twice = service(unit="c", gpu=2, port=33000) + 'flags.dist-init-addr = "127.0.0.1:33000"\n'
    checked = check_texts(profiles, {"a": service(unit="a"), "b": met, "c": twice})
    found = [each for each in checked.all_diagnostics if each.code == "port-clash"]
    assert len(found) == 2
    for each in found:
        labels = [label.text for label in (each.primary, *each.secondary) if label is not None]
        assert len(labels) == 2
        assert not set(labels) & set(each.notes)


def test_the_gpus_that_are_offered_pass(profiles: Path) -> None:
    """Of services on one GPU all but one are offered those that nobody uses, each its own; where that is not known none are."""
    texts = {name: service(unit=name, port=port) for name, port in PORTS.items()}
    texts["d"] = service(gpu=1, unit="d", port=33_000)
    shared = next(
        each for each in check_texts(profiles, texts).all_diagnostics if each.path == "gpus.indices"
    )
    told = next(line for line in shared.help if "give each its own" in line)
    offered = dict(re.findall(r"`\[(\d+)\]` for `(\w)`", told))
    assert sorted(offered) == ["2", "3"]
    assert told.endswith("no service here uses GPUs 2 to 3, if `one` has them")
    for gpu, name in offered.items():
        texts[name] = service(gpu=int(gpu), unit=name, port=PORTS[name])
    assert set(codes_of(check_texts(profiles, texts))) == {"model-unknown"}


def test_an_address_keeps_its_host(profiles: Path) -> None:
    """What is advised for a port that one server listens on twice can be pasted, and passes."""
    taken = service(unit="a") + 'flags.dist-init-addr = "127.0.0.1:30000"\n'
    advised = 'dist-init-addr = "127.0.0.1:30001"'
    assert f"set `{advised}`" in help_of(check_texts(profiles, {"a": taken}), "port-clash")
    mended = service(unit="a") + f"flags.{advised}\n"
    assert "port-clash" not in codes_of(check_texts(profiles, {"a": mended}))


def test_services_that_pass_are_refused_together(profiles: Path) -> None:
    """What two of them do to each other refuses the row of each; what is of none that is shown refuses the tree."""
    checked = check_texts(profiles, {f"p{n}": service(gpu=n, unit=f"u{n}") for n in range(2)})
    rows = list(verdict_lines(checked.judged))
    assert [
        f"refused by port-clash; memory: {each.verdict}" in row
        for each, row in zip(checked.judged, rows, strict=True)
    ] == [True, True]
    assert list(tree_lines(checked.diagnostics, checked.judged)) == []
    assert list(tree_lines(checked.diagnostics, ())) == [
        "the tree  refused by port-clash: see the errors"
    ]
    warned = [each for each in checked.diagnostics if each.code == "bind-open"]
    assert list(tree_lines(warned, checked.judged)) == []
    alone = check_texts(profiles, {"p0": service(gpu=0, unit="u0")})
    assert "refused" not in "".join(verdict_lines(alone.judged))
    assert list(tree_lines(alone.diagnostics, alone.judged)) == []


def test_every_finding_between_services_says_between_which(profiles: Path) -> None:
    """By profile and host, whatever its rule: a page of one service shows what it shares."""

    def with_folder(unit: str, folder: str, **more: int) -> str:
        text = service(unit=unit, **more)
        return text.replace(' unit = "', f' state_dir = "/srv/{folder}", unit = "')

    checked = check_texts(
        profiles,
        {
            "a": with_folder("u", "a"),
            "b": with_folder("u", "b", gpu=1, port=31000),
            "c": with_folder("v", "a", gpu=2),
            "a/one/d": service(unit="w", gpu=2, port=32000).replace("one =", "two ="),
            "e": service(unit="e", gpu=2, port=33000),
            "f": service(unit="f", gpu=3, port=34000).replace(', unit = "f"', ""),
            "g": service(unit="g", gpu=4, port=35000).replace(', unit = "g"', ""),
        },
    )
    found = {(each.code, each.between) for each in checked.diagnostics}
    assert found == {
        ("unit-clash", (("a", "one"), ("b", "one"))),
        ("unit-shared", (("f", "one"), ("g", "one"))),
        ("state-dir-shared", (("a", "one"), ("c", "one"))),
        ("port-clash", (("a", "one"), ("c", "one"))),
        ("gpu-shared", (("c", "one"), ("e", "one"))),
        ("out-shared", (("a", "one"), ("a/one/d", "two"))),
    }


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


QWEN = """
extends = ["base/sglang-plain"]
model.id = "Qwen/Qwen3-8B"
gpus = {{ kind = "rtx-pro-6000-blackwell", count = 1, indices = [0] }}
serve = {{ context = {context}, concurrency = 1, max_running_requests = 8, port = {port} }}
memory = {{ fraction = {fraction}, chunked_prefill = 2048{more} }}
targets.one = {{ kind = "systemd", unit = "{unit}" }}
"""


def qwen(unit: str, *, more: str = "", context: int = 4096, fraction: object = 0.85) -> str:
    port = 30000 + 1000 * (ord(unit) - ord("a"))
    return QWEN.format(unit=unit, context=context, port=port, fraction=fraction, more=more)


FOR_ONE = re.compile(r"((?:`[^`]+ = [^`]+`(?: and )?)+) in `(\w)`")


@pytest.mark.parametrize(
    ("fractions", "changed"),
    [
        ({"a": 0.85, "b": 0.85}, {"a": ["max_pool_tokens"], "b": ["max_pool_tokens"]}),
        ({"a": 0.4, "b": 0.85}, {"b": ["max_pool_tokens"]}),
        ({"a": 0.85, "b": 0.85, "c": 0.85}, {name: ["max_pool_tokens"] for name in "abc"}),
        ({"a": '"fit"', "b": '"fit"'}, {name: ["max_pool_tokens", "fraction"] for name in "ab"}),
        ({"a": 0.85, "b": 0.2}, {"a": ["max_pool_tokens"], "b": ["max_pool_tokens", "fraction"]}),
    ],
)
def test_services_that_share_a_gpu_on_purpose(
    profiles: Path, fractions: Mapping[str, object], changed: Mapping[str, Sequence[str]]
) -> None:
    """The help holds the fewest pools to their promises, at higher fractions where it must; done so, all promises hold."""
    texts = {name: qwen(name, fraction=fraction) for name, fraction in fractions.items()}
    before = [each for each in check_texts(profiles, texts).all_diagnostics if each.is_error]
    first = before[0].help[0]
    told = {
        name: dict(re.findall(r"`memory\.(\w+) = ([\w.]+)`", settings))
        for settings, name in FOR_ONE.findall(first)
    }
    assert {name: list(settings) for name, settings in told.items()} == changed
    assert first.endswith(f"beside the {'other' if len(texts) == 2 else 'others'}")
    after = {name: mended(name, fractions[name], told.get(name, {})) for name in texts}
    found = check_texts(profiles, after)
    assert set(codes_of(found)) <= {"gpu-shared"}


def mended(name: str, fraction: object, settings: Mapping[str, str]) -> str:
    cap = settings.get("max_pool_tokens")
    more = "" if cap is None else f", max_pool_tokens = {cap}"
    return qwen(name, fraction=settings.get("fraction", fraction), more=more)


def test_a_pool_that_is_held_already_wants_a_higher_fraction(profiles: Path) -> None:
    """Where the caps are there, the fractions alone are named, and the least: a thousandth below it is not enough."""
    texts = {name: qwen(name, fraction=0.2, more=", max_pool_tokens = 4093") for name in "ab"}
    found = next(each for each in check_texts(profiles, texts).all_diagnostics if each.is_error)
    least = re.findall(r"`memory\.fraction = ([\d.]+)` in", found.help[0])
    assert "max_pool_tokens" not in found.help[0]
    assert len(least) == 2
    for step, codes in ((0, {"gpu-shared"}), (-0.001, {"promise-uncertain-beside"})):
        fraction = round(float(least[0]) + step, 3)
        after = {
            name: qwen(name, fraction=fraction, more=", max_pool_tokens = 4093") for name in "ab"
        }
        assert set(codes_of(check_texts(profiles, after))) == codes


def test_no_cap_is_offered_where_none_is_enough(profiles: Path) -> None:
    """Promises that are too large for one GPU, and more services than a finding names, are told without one."""
    large = {name: qwen(name, context=32_768) for name in "ab"}
    large = {
        name: text.replace("concurrency = 1,", "concurrency = 12,") for name, text in large.items()
    }
    large = {name: text.replace("= 8,", "= 12,") for name, text in large.items()}
    for texts in (large, {name: qwen(name) for name in "abcde"}):
        found = [each for each in check_texts(profiles, texts).all_diagnostics if each.is_error]
        assert found
        assert found[0].help[0].startswith("give each its own `gpus.indices`, such as ")


def test_a_forgotten_unit_is_told_with_a_name_that_is_free(profiles: Path) -> None:
    """The name that is offered is the profile's own, and another where a unit of the host has that."""
    texts = {
        "a": service(gpu=0, port=30000, unit="x").replace(', unit = "x"', ""),
        "b": service(gpu=1, port=30100, unit="x").replace(', unit = "x"', ""),
    }
    checked = check_texts(profiles, texts)
    assert help_of(checked, "unit-shared").split("\n") == [
        'to have both, set `unit = "b"` in `[targets.one]` of `b`',
        'where one is meant to replace the other, set `unit = "nobodys"` in both targets',
    ]
    texts["c"] = service(gpu=2, port=30200, unit="b")
    assert '`unit = "b-2"`' in help_of(check_texts(profiles, texts), "unit-shared")


def test_what_says_that_two_services_are_meant(profiles: Path) -> None:
    """GPUs without one in common, and another port, are each a reason of its own."""
    one, other = (service(gpu=gpu, port=30000 + gpu, unit="x") for gpu in (0, 1))
    for gpu, port, notes in (
        (
            1,
            30001,
            ["one uses GPU 0, the other GPU 1", "one listens on port 30000, the other on 30001"],
        ),
        (1, 30000, ["one uses GPU 0, the other GPU 1"]),
        (0, 30001, ["one listens on port 30000, the other on 30001"]),
    ):
        other = service(gpu=gpu, port=port, unit="x")
        texts = {n: t.replace(', unit = "x"', "") for n, t in (("a", one), ("b", other))}
        checked = check_texts(profiles, texts)
        (found,) = (each for each in checked.all_diagnostics if each.code == "unit-shared")
        assert [each.partition(":")[0] for each in found.notes[:-1]] == notes


@pytest.mark.parametrize("more", ["", ", max_pool_tokens = 4093"])
def test_what_others_take_is_lost_once(profiles: Path, more: str) -> None:
    """What is taken is missing from the pool and from the reserve together: a pool that stays whole leaves all of it to the reserve."""
    plan = only_plan(check_texts(profiles, {"a": qwen("a", fraction=0.5, more=more)}))
    memory = plan.memory
    assert memory is not None
    taken = Range.exactly(10.0)
    left = SGLANG.beside(memory, taken=taken, most_tokens=plan.profile.memory.max_pool_tokens)
    lost = memory.reserve.available_gib.best - left.reserve.available_gib.best
    pool = (memory.pool.tokens.best - left.pool.tokens.best) * memory.pool.cell_bytes / GIB
    assert lost + pool == pytest.approx(10.0, abs=0.01)
    assert lost == pytest.approx(10.0 if more else 5.0, abs=0.01)


def test_what_is_taken_may_be_known_badly(profiles: Path) -> None:
    """Whatever others may hold, what is left is a range, and no more than there was."""
    plan = only_plan(
        check_texts(profiles, {"a": qwen("a", fraction=0.2, more=", max_pool_tokens = 9000")})
    )
    memory = plan.memory
    assert memory is not None
    for high in (0.0, 1.0, 20.0, 90.0):
        for best in (0.0, high / 2, high):
            left = SGLANG.beside(memory, taken=Range(0.0, best, high), most_tokens=9000)
            assert left.reserve.available_gib.low <= memory.reserve.available_gib.low
            assert left.reserve.available_gib.best <= memory.reserve.available_gib.best
            assert left.pool.tokens.low <= memory.pool.tokens.low
