"""Advice that is taken as it stands: what it says to set is the end of the matter, and leads to no other advice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner

from compiler.catalog import open_catalog
from compiler.catalog.moves import releases_with
from compiler.checks import flags
from compiler.checks.meant import flag_meant
from compiler.checks.table import find_flag
from compiler.cli.adopt import command as adopt
from compiler.cli.predict import command as predict
from compiler.diagnostics import Diagnostic
from compiler.engines.known import ENGINES
from compiler.engines.sglang import needless
from compiler.facts import Release
from compiler.language import elsewhere, settings
from compiler.language.load import top_of
from compiler.origins import Origins
from compiler.plan import Option
from deployments import check_text


_SET = re.compile(r"`(?P<setting>[a-z_.]+) = (?P<value>[^`]+)`")
_NAME = re.compile(r"let `gpus\.indices` name (?P<count>\d+) GPU")

PROFILE = """\
schema = 1
[model]
id = "Qwen/Qwen3-8B"
path = "/srv/models/Qwen3-8B"
[engine]
name = "sglang"
version = "0.5.23"
python = "/opt/sglang/bin/python"
{engine}
[gpus]
kind = "{gpu}"
count = {count}
{indices}
[parallel]
tensor = {tensor}
[serve]
context = 8192
[memory]
fraction = 0.8
{more}
[targets.a]
kind = "systemd"
user = "sglang"
"""


def profile(
    *,
    gpu: str = "h200",
    count: int = 1,
    tensor: int = 1,
    indices: list[int] | None = None,
    engine: str = "",
    more: str = "",
) -> str:
    """A small model on one large card."""
    named = f"indices = {indices}" if indices else ""
    return PROFILE.format(
        gpu=gpu, count=count, tensor=tensor, indices=named, engine=engine, more=more
    )


def found(tmp_path: Path, text: str, code: str) -> list[Diagnostic]:
    """The findings of a code."""
    checked = check_text(tmp_path / "profiles", text)
    return [each for each in checked.all_diagnostics if each.code == code]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("named", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("tensor", [1, 2, 4])
def test_gpus_that_do_not_agree(tmp_path: Path, tensor: int, named: int, count: int) -> None:
    """What the first finding says to set is enough, whichever of the count, the indices, and the layout is another one."""
    told: dict[str, Any] = {"tensor": tensor, "count": count, "indices": list(range(named))}
    before = found(tmp_path, profile(**told), "gpu-count")
    assert bool(before) == (count != tensor or named not in {0, count})
    if not before:
        return
    (advice,) = before[0].help
    told |= {
        each["setting"].removeprefix("gpus."): tomllib.loads(f"x = {each['value']}")["x"]
        for each in _SET.finditer(advice)
    }
    if longer := _NAME.search(advice):
        told["indices"] = list(range(int(longer["count"])))
    assert found(tmp_path, profile(**told), "gpu-count") == []
    assert told["tensor"] == tensor


_BACKENDS = [
    ("b200", "fa3", "Qwen/Qwen3-8B"),
    ("rtx-pro-6000-blackwell", "fa3", "Qwen/Qwen3-8B"),
    ("a100", "trtllm_mha", "Qwen/Qwen3-8B"),
    ("mi300x", "fa3", "Qwen/Qwen3-8B"),
    ("b200", "fa3", "openai/gpt-oss-120b"),
    ("h200", "trtllm_mla", "deepseek-ai/DeepSeek-V3"),
    ("b200", "fa3", "Qwen/Qwen3-Next-80B-A3B-Instruct"),
    ("h200", "trtllm_mla", "Qwen/Qwen3-8B"),
    ("b200", "trtllm_mha", "deepseek-ai/DeepSeek-V3"),
]
"""A GPU, a backend that does not run there or not for the model, and that model."""
_CODES = frozenset({"backend-gpu", "backend-model", "backend-hybrid"})


@pytest.mark.parametrize("flag", [None, "attention-backend", "decode-attention-backend"])
@pytest.mark.parametrize("version", ["0.5.3", "0.5.11", "0.5.23"])
@pytest.mark.parametrize(("gpu", "backend", "model"), _BACKENDS)
def test_a_backend_that_runs_there(
    tmp_path: Path, gpu: str, backend: str, model: str, version: str, flag: str | None
) -> None:
    """Where the engine refuses a backend, a value that it takes there is named, as a setting or as a flag."""

    def text(backend: str) -> str:
        said = f'"{backend}"'
        typed, raw = (
            (f"attention_backend = {said}", "")
            if flag is None
            else ("", f"[flags]\n{flag} = {said}")
        )
        made = profile(gpu=gpu, engine=typed, more=raw)
        return made.replace("Qwen/Qwen3-8B", model).replace("0.5.23", version)

    def errors(backend: str) -> list[Diagnostic]:
        checked = check_text(tmp_path / "profiles", text(backend))
        return [each for each in checked.all_diagnostics if each.code in _CODES]

    before = errors(backend)
    if version == "0.5.23" or gpu == "b200":
        assert before
    for each in before:
        meant = re.match(r"set `(?P<setting>[a-z_.-]+) = \"(?P<value>\w+)\"`", each.help[0])
        assert meant, each.help
        assert meant["setting"] == (flag or "engine.attention_backend")
        assert errors(meant["value"]) == []


@pytest.mark.parametrize(("gpu", "backend", "model"), _BACKENDS)
def test_a_backend_that_runs_there_in_a_command(
    gpu: str, backend: str, model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`predict` says it in flags."""
    monkeypatch.chdir(tmp_path)
    start = "python -m sglang.launch_server --trust-remote-code --model-path"
    words = ["--gpu", gpu, "--engine", "0.5.23", "--", *start.split(), model]
    before = CliRunner().invoke(
        predict, [*words, "--attention-backend", backend], standalone_mode=False
    )
    meant = re.search(r"help: set `--attention-backend (\w+)`", before.output)
    assert meant, before.output
    after = CliRunner().invoke(
        predict, [*words, "--attention-backend", meant[1]], standalone_mode=False
    )
    assert not any(f"[{code}]" in after.output for code in _CODES)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("enable_metrics = true", "write `enable-metrics`"),
        ("--enable-metrics = true", "write `enable-metrics`"),
        ("enable_metricss = true", "a flag with a similar name exists: `--enable-metrics`"),
        (
            "chunked_prefill_size = 4096",
            "set `memory.chunked_prefill = 4096` and remove `flags.chunked_prefill_size`",
        ),
        (
            "mem_fraction_static = 0.7",
            "remove `flags.mem_fraction_static`: `memory.fraction` is set, and writes `--mem-fraction-static`",
        ),
        (
            "chunked_prefil_size = 4096",
            "a flag with a similar name exists: set `memory.chunked_prefill = 4096` (`--chunked-prefill-size`) in its place",
        ),
        (
            "mem_fraction_statik = 0.7",
            "remove `flags.mem_fraction_statik`: `memory.fraction` is set, and writes `--mem-fraction-static`",
        ),
        ("tp = 2", None),
        ("tp_size = 2", "set `parallel.tensor = 2` and remove `flags.tp_size`"),
        ("nonsense_of_mine = 1", "remove `flags.nonsense_of_mine`"),
        (
            "enable_metrics = true\nenable-metrics = true",
            "remove `flags.enable_metrics`: `flags.enable-metrics` is set, too",
        ),
    ],
)
def test_a_flag_with_underscores(tmp_path: Path, line: str, meant: str | None) -> None:
    """It is looked up as it should be spelt, so that nothing else is found once that is written."""
    text = profile(more=f"[flags]\n{line}").replace("[parallel]\ntensor = 1\n", "")
    before = found(tmp_path, text, "bad-value")
    assert [each.help[0] for each in before] == ([] if meant is None else [meant])
    key = line.partition(" ")[0]
    if meant is not None and meant.startswith("write "):
        after = check_text(tmp_path / "profiles", text.replace(key, meant[7:-1], 1))
        assert [each for each in after.all_diagnostics if each.is_error] == []


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (
            "chunked-prefil-size = 4096",
            "a flag with a similar name exists: set `memory.chunked_prefill = 4096` (`--chunked-prefill-size`) in its place",
        ),
        (
            "chunked-prefill-siz = 4096",
            "write it in full: set `memory.chunked_prefill = 4096` (`--chunked-prefill-size`) in its place",
        ),
        (
            "trust-remote-cod = true",
            "write it in full: set `model.trust_remote_code = true` (`--trust-remote-code`) in its place",
        ),
        (
            "mem-fraction-statik = 0.7",
            "remove `flags.mem-fraction-statik`: `memory.fraction` is set, and writes `--mem-fraction-static`",
        ),
        # A value that the setting cannot hold stands under `[flags]`.
        ("kv-cache-dtipe = 'fp4_e2m1'", "a flag with a similar name exists: `--kv-cache-dtype`"),
    ],
)
def test_a_flag_nearly_named_that_a_setting_writes(tmp_path: Path, line: str, meant: str) -> None:
    """The setting is named at once, so that doing what is said does not lead to a flag that is given twice."""
    text = profile(more=f"[flags]\n{line}")
    (before,) = found(tmp_path, text, "flag-unknown")
    assert before.help == (meant,)
    said = _SET.search(meant)
    if said is not None:
        table, _, key = said["setting"].partition(".")
        mended = profile(more="").replace(f"[{table}]\n", f"[{table}]\n{key} = {said['value']}\n")
        after = check_text(tmp_path / "profiles", mended)
        assert [each for each in after.all_diagnostics if each.is_error] == []


@pytest.mark.parametrize(
    ("table", "line", "meant"),
    [
        ("serve", "context_length = 4096", "`serve.context` writes `--context-length`"),
        ("serve", "max_model_len = 4096", "here it is called `serve.context`"),
        ("serve", "ctx = 4096", "here it is called `serve.context`"),
        ("memory", "mem_fraction_static = 0.8", "`memory.fraction` writes `--mem-fraction-static`"),
        ("memory", "gpu_memory_utilization = 0.8", "here it is called `memory.fraction`"),
        ("gpus", 'model = "h100"', "here it is called `gpus.kind`"),
        ("memory", "enable_metrics = true", "write `enable-metrics = true` under `[flags]`"),
        ("memory", "enable_metrics = false", "leave it out: `--enable-metrics` is on where"),
        ("model", 'load_format = "dummy"', 'write `load-format = "dummy"` under `[flags]`'),
        ("speculative", "num_steps = 3", "write `speculative-num-steps = 3` under `[flags]`"),
        ("memory", "zzzz = 1", "`[memory]` may hold `fraction`"),
    ],
)
def test_a_key_by_the_name_of_another_tool(
    tmp_path: Path, table: str, line: str, meant: str
) -> None:
    """A key that is a flag of the release, or what others call a setting, is told what it is here; alone, where it replaces it."""
    text = profile()
    if f"[{table}]" in text:
        text = text.replace(f"[{table}]\n", f"[{table}]\n{line}\n")
    else:
        text += f'[{table}]\nalgorithm = "eagle"\n{line}\n'
    (unknown,) = found(tmp_path, text, "unknown-key")
    assert unknown.help[0].startswith(meant)


@pytest.mark.parametrize("name", ["context_length", "max_model_len"])
def test_a_key_by_another_name_is_one_mistake(tmp_path: Path, name: str) -> None:
    """What stands under another tool's name is not missing under its own."""
    text = profile()
    renamed = text.replace("\ncontext = ", f"\n{name} = ")
    assert renamed != text
    checked = check_text(tmp_path / "profiles", renamed)
    assert [each.code for each in checked.all_diagnostics] == ["unknown-key"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("float16", "a cache has this format where the model runs in it: leave it at `auto`"),
        ("e4m3", "here it is called `fp8_e4m3`"),
        ("fp4", "a cache in four bits has no word here: set `flags.kv-cache-dtype`"),
        ("fp8", 'write `"fp8_e4m3"` or `"fp8_e5m2"`'),
    ],
)
def test_a_format_by_another_name(tmp_path: Path, written: str, meant: str) -> None:
    """A format of the cache that has no such word here is told what it is, and never a word of another format."""
    text = profile().replace("[memory]\n", f'[memory]\nkv_dtype = "{written}"\n')
    (wrong,) = found(tmp_path, text, "bad-value")
    assert wrong.help[0].startswith(meant)


def test_names_of_elsewhere_are_no_names_of_ours() -> None:
    """Each leads to a setting that there is, from a table where it is none itself; no key of a table of flags is a setting."""
    for path, names in elsewhere.NAMES.items():
        assert settings.find_setting(path) is not None
        for name in names.split():
            is_free = path[0] == "flags"
            assert (settings.find_setting((*path[:-1], name)) is not None) == is_free
            assert elsewhere.called_here((*path[:-1], name)) == path


FLAGS_OF_OTHERS = {
    name: path[1]
    for path, names in elsewhere.NAMES.items()
    for name in names.split()
    if path[0] == "flags"
}
"""The flag that another engine's flag stands for, both without dashes."""


@pytest.mark.parametrize(("name", "flag"), FLAGS_OF_OTHERS.items())
def test_a_flag_of_elsewhere_stands_for_one_of_a_release(name: str, flag: str) -> None:
    """A release takes the counterpart, which no typed setting writes; none takes the other engine's name."""
    assert releases_with(f"--{flag}", engine="sglang")
    assert f"--{flag}" not in ENGINES["sglang"].owned_flags()
    assert not releases_with(f"--{name.replace('_', '-')}", engine="sglang")
    assert elsewhere.flag_here(f"--{name.replace('_', '-')}") == ("flags", flag)


@pytest.mark.parametrize("version", open_catalog().versions("sglang"))
def test_what_a_flag_of_elsewhere_is_called_is_true_of_each_release(version: str) -> None:
    """Advice about another engine's flag names none that the release has not."""
    release, _ = open_catalog().release("sglang", version, None)
    assert release is not None
    for name in FLAGS_OF_OTHERS:
        option = Option(flag=f"--{name.replace('_', '-')}", values=(), setting="")
        _, advice = flag_meant(option, release=release, outcome="")
        for each in re.findall(r"`(?:flags\.|--)([a-z0-9-]+)`", " ".join(advice)):
            assert find_flag(release, f"--{each}") is not None, (name, advice)


def test_a_flag_that_no_release_needs() -> None:
    """What has no counterpart is a flag of no release, and is told why and what to do; a flag in it is one of the newest."""
    newest, _ = open_catalog().release("sglang", open_catalog().versions("sglang")[-1], None)
    assert newest is not None
    for name, said in needless.REASONS.items():
        assert not releases_with(f"--{name}", engine="sglang")
        assert elsewhere.flag_here(f"--{name}") is None
        assert said.count(": ") == 1, name
        for each in re.findall(r"`(--[a-z-]+)`", said):
            assert find_flag(newest, each) is not None, each


def test_the_flags_of_another_engine_lead_to_no_other_finding(tmp_path: Path) -> None:
    """For each release read, what a flag of vLLM is said to be called is taken by that release, and is not on its way out."""
    names = [
        f"--{word.replace('_', '-')}"
        for several in elsewhere.NAMES.values()
        for word in several.split()
    ]
    catalog, at = open_catalog(), Origins(document=top_of("a"))
    rules = (flags.exists, flags.current, flags.parses, flags.once)
    (judged,) = check_text(tmp_path / "profiles", profile()).judged
    for version in catalog.versions("sglang"):
        release, _ = catalog.release("sglang", version, None)
        assert release is not None
        plan = evolve(judged.planned, release=release, options=())
        for name in names:
            option = Option(flag=name, values=(), setting=f"flags.{name[2:]}")
            _, advice = flag_meant(option, release=release, outcome="")
            if not any("what it is called here" in each for each in advice):
                continue
            changed = evolve(plan, options=tuple(followed(advice[0].partition(":")[0], release)))
            told = [each for rule in rules for each in rule.judge(changed, at)]
            assert not told, (version, name, advice, told)


_SAMPLES = {None: (), "int": ("1",), "float": ("0.5",), "json": ("{}",), "int-with-suffix": ("1",)}


def followed(advice: str, release: Release) -> Iterator[Option]:
    """The options of whoever sets what is said, with some value where none is."""
    owned = ENGINES["sglang"].owned_flags()
    for each in re.finditer(r"`(?P<setting>[\w.-]+)(?: = \"(?P<value>[^\"]*)\")?`", advice):
        setting, value = each["setting"], each["value"]
        name = f"--{setting.removeprefix('flags.')}"
        if "." in setting and not setting.startswith("flags."):
            written = [flag for flag, owner in owned.items() if owner == setting]
            assert not written or any(find_flag(release, flag) for flag in written), setting
            continue
        known = find_flag(release, name)
        assert known is not None, name
        words = (
            (known.choices[:1] or _SAMPLES.get(known.takes, ("x",))) if value is None else (value,)
        )
        yield Option(flag=name, values=words, setting=f"flags.{name[2:]}")


def test_what_is_otherwise_here_is_said_of_names_that_are_known() -> None:
    """A difference is told of a flag only that has a counterpart."""
    for name in elsewhere.OTHERWISE:
        assert elsewhere.flag_here(f"--{name.replace('_', '-')}") is not None


def test_a_flag_with_underscores_of_no_known_engine(tmp_path: Path) -> None:
    """A fragment without an engine is told the spelling alone."""
    text = "schema = 1\n[flags]\nchunked_prefill_size = 1\n"
    (one,) = found(tmp_path, text, "bad-value")
    assert one.help == ("write `chunked-prefill-size`",)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("--speculative-draft Qwen/Qwen3-1.7B", "--speculative-draft-model-path"),
        ("--speculative-draft /srv/models/draft", "--speculative-draft-model-path"),
        ("--tokeniser-path Qwen/Qwen3-8B", "--tokenizer-path"),
        ("--enable-metricss", "--enable-metrics"),
        ("--tensor-paralel-size 2", "--tensor-parallel-size"),
    ],
)
def test_a_flag_that_takes_such_a_value(words: str, meant: str) -> None:
    """Of the flags that are named alike, the one that takes a model or a path is proposed for one."""
    start = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    told = ["--gpu", "h200", "--engine", "0.5.23", "--", *start.split(), *words.split()]
    said = CliRunner().invoke(predict, told, standalone_mode=False).output
    assert f"a flag with a similar name exists: `{meant}`" in " ".join(said.split())


@pytest.mark.parametrize(
    ("flag", "setting"),
    [
        ("--max-model-len", "--context-length"),
        ("--gpu-memory-utilization", "--mem-fraction-static"),
        ("--max-num-seqs", "--max-running-requests"),
        (
            "--enforce-eager",
            "--cuda-graph-backend-decode disabled` and `--cuda-graph-backend-prefill disabled",
        ),
        ("--no-enable-prefix-caching", "--disable-radix-cache"),
        ("--seed", "--random-seed"),
        ("--tokenizer", "--tokenizer-path"),
        ("-tp", "--tensor-parallel-size"),
    ],
)
def test_a_flag_of_another_engine(flag: str, setting: str) -> None:
    """A flag that only another engine has is told what it is called here, in the words of whoever asked."""
    start = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    told = ["--gpu", "h200", "--engine", "0.5.23", "--", *start.split(), flag, "1"]
    said = CliRunner().invoke(predict, told, standalone_mode=False).output
    assert f"set `{setting}`: that is what it is called here" in " ".join(said.split())


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("--enable-prefix-caching", "prefixes are kept without being asked"),
        ("--swap-space", "nothing is swapped to the host"),
        ("--disable-log-requests", "requests are not logged unless `--log-requests` is given"),
    ],
)
def test_a_flag_without_a_counterpart(flag: str, why: str, tmp_path: Path) -> None:
    """A flag of another engine that has no counterpart is said to have none, and why: in a command and in a profile."""
    start = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    told = ["--gpu", "h200", "--engine", "0.5.23", "--", *start.split(), flag]
    said = " ".join(CliRunner().invoke(predict, told, standalone_mode=False).output.split())
    advice = f"leave it out: it has no counterpart in sglang, since {why}"
    assert advice in said
    (wrong,) = found(tmp_path, profile(more=f"[flags]\n{flag[2:]} = true"), "flag-unknown")
    assert wrong.help[0].startswith(advice)


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("enforce-eager", 'set `cuda-graph-backend-decode = "disabled"` and `cuda-graph-back'),
        ("gpu-memory-utilization", "set `memory.fraction`: that is what it is called here; its"),
    ],
)
def test_a_flag_of_another_engine_in_a_profile(flag: str, meant: str, tmp_path: Path) -> None:
    """In a profile the counterpart is a setting, and where its number is another one that is said."""
    (wrong,) = found(tmp_path, profile(more=f"[flags]\n{flag} = 0.9"), "flag-unknown")
    assert wrong.help[0].startswith(meant)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (
            'kv-cache-dtype = "fp8"',
            "set `memory.kv_dtype` in place of `flags.kv-cache-dtype`: it writes `--kv-cache-dtype`; values that begin so exist",
        ),
        (
            'kv-cache-dtype = "fp8_e4m"',
            'set `memory.kv_dtype = "fp8_e4m3"` in place of `flags.kv-cache-dtype`: it writes',
        ),
        (
            'kv-cache-dtype = "none"',
            "set `memory.kv_dtype` in place of `flags.kv-cache-dtype`: it writes `--kv-cache-dtype`, with all of these values but",
        ),
        ('kv-cache-dtype = "nvfp"', "a similar value exists: `nvfp4`"),
        ('page-size = "x"', "set `memory.page_size` in place of `flags.page-size`: it writes"),
        (
            'speculative-algorithm = "EAGL"',
            'set `speculative.algorithm = "eagle"` in place of `flags.speculative-algorithm`',
        ),
        ('grammar-backend = "xgrama"', "a similar value exists: `xgrammar`"),
    ],
)
def test_a_raw_value_that_is_none_is_told_the_typed_setting_first(
    tmp_path: Path, flag: str, said: str
) -> None:
    """`flag-value` names the setting that writes the flag, so that nobody mends a value that has to move; not where it may stay."""
    (wrong,) = found(tmp_path, profile(more=f"[flags]\n{flag}"), "flag-value")
    assert wrong.help[0].startswith(said)


def test_a_raw_value_that_has_to_go_is_not_judged(tmp_path: Path) -> None:
    """`flag-duplicated` alone is said of a flag that a setting of the file writes, whatever its value is."""
    text = profile(more='[flags]\ncontext-length = "long"')
    assert [each.path for each in found(tmp_path, text, "flag-duplicated")] == [
        "flags.context-length"
    ]
    assert not found(tmp_path, text, "flag-value")


@pytest.mark.parametrize("flag", ['kv-cache-dtype = "nvfp4"', "attn-cp-size = 0"])
def test_what_a_flag_does_is_not_known_at_the_flag(tmp_path: Path, flag: str) -> None:
    """`flag-unpriced` stands where the flag is written, by whichever of its names."""
    text = profile(more=f"[flags]\n{flag}")
    (unknown,) = found(tmp_path, text, "flag-unpriced")
    assert unknown.primary is not None
    assert text.splitlines()[unknown.primary.span.line - 1] == flag


@pytest.mark.parametrize("words", ["-tp 2", "--tensor_parallel_size 2"])
def test_a_flag_that_no_profile_can_hold(words: str) -> None:
    """`launch-lost`: of another engine's spelling the release's own flag is told, and nothing else is said of it."""
    start = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    told = ["--check", "--engine", "0.5.23", "--", *start.split(), *words.split()]
    said = CliRunner().invoke(adopt, told, standalone_mode=False).output
    assert "`--tensor-parallel-size`" in said
    assert "flag-unknown" not in said


def test_a_command_that_names_no_model() -> None:
    """Where the model stands in a file that is not here, that is said, and no empty name."""
    told = "--gpu h200 --engine 0.5.23 -- python -m sglang.launch_server --config /gone.yaml"
    said = CliRunner().invoke(predict, told.split(), standalone_mode=False).output
    assert "warning[model-unknown]: what is told here names no model" in said
    assert "``" not in said
