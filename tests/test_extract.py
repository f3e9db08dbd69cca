"""Flags out of source that is not run: the three ways releases declare them, what only a run would tell, and what is no SGLang."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.extract import Extracted, extract
from compiler.facts import Action, Flag


CALLS = """
import argparse
import dataclasses
import json
import sys
from typing import List, Optional

import torch
from sglang.srt.layers.names import BACKENDS, ReasoningParser

CHOICES = ["a", "b"]


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    port: int = 30_000
    buckets: Optional[List[float]] = None
    limit: Optional[int] = sys.maxsize
    urls: List[str] = dataclasses.field(default_factory=list)

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", "--model", type=str, required=True, help="x")
        parser.add_argument("--port", type=int, default=ServerArgs.port)
        group = parser.add_argument_group("more")
        group.add_argument("--limit", type=int, default=ServerArgs.limit)
        group.add_argument("--tp-size", "--tensor-parallel-size", type=int, default=1, dest="tp")
        names = list(ReasoningParser.Detectors.keys())
        parser.add_argument("--parser", type=str, choices=["auto"] + names, default=None)
        parser.add_argument("--backend", type=str, choices=CHOICES + BACKENDS)
        parser.add_argument("--level", type=int, choices=[0, 1, 2], default=0)
        parser.add_argument("--buckets", type=float, nargs="+", default=ServerArgs.buckets)
        parser.add_argument("--urls", type=str, nargs="*", default=ServerArgs.urls)
        parser.add_argument("--ratio", nargs="?", const=0.5, type=float)
        parser.add_argument("--overrides", type=json.loads)
        parser.add_argument("--fast", action="store_true")
        parser.add_argument("--record", action=argparse.BooleanOptionalAction, default=True)
        parser.add_argument("--lora-paths", nargs="*", action=LoRAPathAction)
        parser.add_argument("--old", action=DeprecatedAction, help="NOTE: --old is deprecated. Use `--new`.")
        parser.add_argument("--gone", action="store_true", help="Deprecated. Nothing takes its place.")


class LoRAPathAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, [json.loads(each) for each in values])


class DeprecatedAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        raise ValueError(self.help)
"""
NAMES = """
from enum import Enum

BACKENDS = [*("c", "d")]


class Parser:
    pass


class ReasoningParser:
    Detectors = {"one": Parser, "two": Parser}


class Mode(Enum):
    NONE = 0
    ALL = 1
"""
FIELDS = """
from typing import Annotated, Dict, List, Literal, Optional, Union

from sglang.srt.arg_groups.arg_utils import A, Arg
from sglang.srt.arg_groups.argparse_actions import DeprecatedStoreTrueAction
from sglang.srt.layers.names import Mode
from sglang.srt.utils import human_readable_int

LEVELS = ("low", "high")


class ServerArgs:
    model_path: A[str, Arg(help="x", aliases=["--model"])]
    host: A[str, "The host"] = "127.0.0.1"
    tp_size: A[int, Arg(help="x", cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
    context_length: A[Optional[int], Arg(help="x", type_parser=human_readable_int)] = None
    kind: A[Literal["a", "b"], "x"] = "a"
    maybe: A[Optional[Literal[1, 2]], "x"] = None
    levels: A["List[str]", Arg(help="x", choices=LEVELS)] = []
    numbers: A[list[int] | None, Arg(help="x", nargs="*")] = None
    fast: A[bool, "x"] = False
    lora: A[Optional[bool], "x"] = None
    mode: A[Union[str, int, None], "x"] = None
    pair: A[bool, Arg(help="x", action=argparse.BooleanOptionalAction)] = True
    stream: A[bool, Arg(help="x", action=DeprecatedStoreTrueAction, action_kwargs={"new_flag": "--stream-x"})] = False
    twice: A[int, "x"] = 1
    twice: A[int, "x"] = 2
    hidden: A[int, Arg(help="x", no_cli=True)] = 0
    bare: int = 0

    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--modes", choices=[m.name.lower() for m in _modes()], default=_declared_default("host"))
        parser.add_argument(
            "--stop", action=DeprecatedAction, error_message="gone, use --go", help="Removed. Use --go."
        )


def _modes():
    module = sys.modules.get("x")
    if module is not None:
        return list(module.Modes)
    return list(Mode)


class DeprecatedAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        if self.error_message is not None:
            parser.error(self.error_message)
        warn(option_string)
"""
NAMESPACES = """
from sglang.srt.arg_groups.fields.memory import Memory
from sglang.srt.arg_groups.fields.model import Model


class ServerArgs:
    own: A[int, "x"] = 3

    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--policy-too", default=_declared_default("policy"))


_INPUT_NAMESPACES = [Model, Memory]
"""
MODEL = """
class Model(msgspec.Struct):
    _NS_PATH = "model"
    model_path: A[str, "x"]
"""
MEMORY = """
from ..choices import POLICIES


class Memory(msgspec.Struct):
    _NS_PATH = "memory"
    policy: A[str, Arg(help="x", choices=POLICIES)] = "lru"
    config: A[Optional[Dict[str, int]], Arg(help="x", type_parser=json.loads)] = None
    graph: A[Optional[dict], Arg(help="x", type_parser=parse_cuda_graph_config_arg)] = None


def parse_cuda_graph_config_arg(raw):
    return raw


class Phase:
    DECODE = "decode"


ALLOWED_KEYS_PER_PHASE = {Phase.DECODE: ("backend", "bs")}
"""
METADATA = "Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.99\n\nA server.\n"


def tree(server_args: str, **more: str) -> dict[str, str]:
    """The files of an engine; further ones by their dotted name with `__` for the dots."""
    files = {"sglang/srt/server_args.py": server_args, "sglang/srt/layers/names.py": NAMES}
    files |= {f"sglang/srt/{name.replace('__', '/')}.py": text for name, text in more.items()}
    return files


def wheel(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**files, "sglang-0.5.99.dist-info/METADATA": METADATA}.items():
            archive.writestr(name, text)
    return path


def folder(path: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    return path


def flags_of(path: Path) -> dict[str, Flag]:
    extracted, faults = extract(path)
    assert faults == ()
    assert extracted is not None
    return {flag.name: flag for flag in extracted.flags}


def only_fault(found: tuple[Extracted | None, tuple[Diagnostic, ...]]) -> Diagnostic:
    extracted, faults = found
    assert extracted is None
    (fault,) = faults
    assert fault.code == "engine-unreadable"
    assert fault.is_error
    return fault


def test_calls_of_add_argument(tmp_path: Path) -> None:
    """Names, dest, values, choices from other modules, defaults of fields, and all kinds of actions are read."""
    flags = flags_of(wheel(tmp_path / "x.whl", tree(CALLS)))
    assert list(flags) == sorted(flags)
    assert list(flags.values()) == [
        Flag(name="--backend", takes="str", choices=("a", "b", "c", "d")),
        Flag(name="--buckets", takes="float", nargs="+"),
        Flag(name="--fast"),
        Flag(name="--gone", deprecated="the release is about to drop it"),
        Flag(name="--level", takes="int", choices=("0", "1", "2"), default=0),
        Flag(name="--limit", takes="int", default=2**63 - 1),
        Flag(name="--lora-paths", takes="str", nargs="*", action=Action.LORA_LIST, custom=True),
        Flag(name="--model-path", aliases=("--model",), takes="str", required=True),
        Flag(name="--old", action=Action.REFUSE, deprecated="use `--new`", custom=True),
        Flag(name="--overrides", takes="json"),
        Flag(name="--parser", takes="str", choices=("auto", "one", "two")),
        Flag(name="--port", takes="int", default=30_000),
        Flag(name="--ratio", takes="float", nargs="?", const=0.5),
        Flag(name="--record", action=Action.PAIR, default=True),
        Flag(
            name="--tp-size", aliases=("--tensor-parallel-size",), dest="tp", takes="int", default=1
        ),
        Flag(name="--urls", takes="str", nargs="*", default=()),
    ]


def test_annotated_fields(tmp_path: Path) -> None:
    """A field's type says what its flag takes, its mark says the rest; a bare field and a hidden one make no flag."""
    flags = flags_of(wheel(tmp_path / "x.whl", tree(FIELDS)))
    assert list(flags.values()) == [
        Flag(name="--context-length", takes="int-with-suffix"),
        Flag(name="--fast"),
        Flag(name="--host", takes="str", default="127.0.0.1"),
        Flag(name="--kind", takes="str", choices=("a", "b"), default="a"),
        Flag(name="--levels", takes="str", nargs="+", choices=("low", "high"), default=()),
        Flag(name="--lora", action=Action.TRUE_OR_UNSET),
        Flag(name="--maybe", takes="int", choices=("1", "2")),
        Flag(name="--mode", takes="str"),
        Flag(name="--model-path", aliases=("--model",), takes="str", required=True),
        Flag(name="--modes", takes="str", choices=("none", "all"), default="127.0.0.1"),
        Flag(name="--numbers", takes="int", nargs="*"),
        Flag(name="--pair", action=Action.PAIR, default=True),
        Flag(name="--stop", action=Action.REFUSE, deprecated="use `--go`", custom=True),
        Flag(name="--stream", deprecated="use `--stream-x`", custom=True),
        Flag(
            name="--tensor-parallel-size",
            aliases=("--tp-size",),
            dest="tp_size",
            takes="int",
            default=1,
        ),
        Flag(name="--twice", takes="int", default=2),
    ]


def test_fields_of_namespaces(tmp_path: Path) -> None:
    """Fields of the classes that the settings are put together from count like the settings' own."""
    files = tree(
        NAMESPACES,
        arg_groups__fields__model=MODEL,
        arg_groups__fields__memory=MEMORY,
        arg_groups__choices='POLICIES = ["lru", "lfu"]',
    )
    keys = ("decode.backend", "decode.bs")
    assert list(flags_of(wheel(tmp_path / "x.whl", files)).values()) == [
        Flag(name="--config", takes="json"),
        Flag(name="--graph", takes="cuda-graph-config", keys=keys),
        Flag(name="--model-path", takes="str", required=True),
        Flag(name="--own", takes="int", default=3),
        Flag(name="--policy", takes="str", choices=("lru", "lfu"), default="lru"),
        Flag(name="--policy-too", takes="str", default="lru"),
    ]


@pytest.mark.parametrize("inside", ["", "python", "sglang"])
def test_a_folder_is_read_like_a_wheel(tmp_path: Path, inside: str) -> None:
    """An unpacked wheel, a checkout, and the package's own folder give the same flags; only the first says its release."""
    expected = flags_of(wheel(tmp_path / "x.whl", tree(CALLS)))
    root = tmp_path / "tree"
    folder(root / "python" if inside == "python" else root, tree(CALLS))
    if not inside:
        folder(root, {"sglang-0.5.99.dist-info/METADATA": METADATA})
    extracted, faults = extract(root / "sglang" if inside == "sglang" else root)
    assert faults == ()
    assert extracted is not None
    assert {flag.name: flag for flag in extracted.flags} == expected
    assert extracted.version == (None if inside else "0.5.99")


def test_what_only_a_run_would_tell_is_left_open_and_said(tmp_path: Path) -> None:
    """Choices of a running platform, an unknown reader and an unknown action leave a flag that takes everything."""
    calls = """
class ServerArgs:
    def add_cli_args(parser):
        parser.add_argument("--backend", choices=platform.backends())
        parser.add_argument("--shape", type=parse_shape)
        parser.add_argument("--odd", action=OddAction)
        parser.add_argument(make_name())
"""
    extracted, faults = extract(wheel(tmp_path / "x.whl", tree(calls)))
    assert extracted is not None
    assert extracted.flags == (
        Flag(name="--backend", takes="str"),
        Flag(name="--odd", takes="str", custom=True),
        Flag(name="--shape", takes="parse_shape"),
    )
    assert [(each.code, each.is_error) for each in faults] == [("engine-unreadable", False)] * 4
    summaries = "\n".join(each.summary for each in faults)
    for part in ("`--backend`", "`choices`", "`--shape`", "`type`", "`action`", "line 7 of"):
        assert part in summaries


@pytest.mark.parametrize("help_", ["Not deprecated.", "Takes the place of a deprecated flag."])
def test_a_flag_that_only_mentions_deprecation_stays(tmp_path: Path, help_: str) -> None:
    """A help text counts by its start: one that mentions another flag's end does not end this one."""
    calls = f"""
class ServerArgs:
    def add_cli_args(parser):
        parser.add_argument("--new", help="{help_}")
"""
    assert flags_of(wheel(tmp_path / "x.whl", tree(calls)))["--new"].deprecated is None


def test_what_is_no_sglang(tmp_path: Path) -> None:
    """A wheel or a folder of something else is refused, and told by what it lacks."""
    other = wheel(tmp_path / "other-1.0-py3-none-any.whl", {"other/__init__.py": ""})
    for path in (other, folder(tmp_path / "empty", {"README": "x"})):
        fault = only_fault(extract(path))
        assert (
            fault.summary == f"`{path.name}` is no SGLang: it holds no `sglang/srt/server_args.py`"
        )


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        ("x = 1", "declares its flags in no way that is known here"),
        ("class ServerArgs:\n    pass", "declares its flags in no way that is known here"),
        ("class ServerArgs(:", "line 1 of `sglang/srt/server_args.py` is no Python"),
        ("x = '" + "a\0", "is no Python"),
    ],
)
def test_a_tree_that_declares_nothing(tmp_path: Path, text: str, wording: str) -> None:
    """A file that is there and says nothing of flags, or is no Python, is refused."""
    assert wording in only_fault(extract(wheel(tmp_path / "x.whl", tree(text)))).summary


def test_a_damaged_wheel(tmp_path: Path) -> None:
    """A wheel that was cut off, or has a damaged file, is refused; a bare text and a path to nothing too."""
    whole = wheel(tmp_path / "x.whl", tree(CALLS)).read_bytes()
    cut = tmp_path / "cut.whl"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "no wheel, or its end is missing" in only_fault(extract(cut)).summary
    damaged = tmp_path / "damaged.whl"
    at = whole.index(b"server_args.py") + 60
    damaged.write_bytes(
        whole[:at] + bytes(255 - byte for byte in whole[at : at + 40]) + whole[at + 40 :]
    )
    assert "`sglang/srt/server_args.py` in it is damaged" in only_fault(extract(damaged)).summary
    text = tmp_path / "text.whl"
    text.write_text("hello", encoding="utf-8")
    assert "no wheel" in only_fault(extract(text)).summary
    assert "no such file or directory" in only_fault(extract(tmp_path / "nothing.whl")).summary


def test_a_file_that_is_no_utf8(tmp_path: Path) -> None:
    """Source that is no UTF-8 is refused by its name."""
    path = wheel(tmp_path / "x.whl", {"sglang/srt/server_args.py": b"\xff"})
    assert "`sglang/srt/server_args.py` in it is not UTF-8" in only_fault(extract(path)).summary


def test_source_that_goes_in_circles(tmp_path: Path) -> None:
    """Names that refer to one another end in a flag that is left open, not in a hang."""
    calls = """
from sglang.srt.server_args import LOOP as LOOP
A = B
B = A
class ServerArgs:
    def add_cli_args(parser):
        parser.add_argument("--a", choices=A)
        parser.add_argument("--b", choices=LOOP)
        parser.add_argument("--c", choices=f())
def f():
    return f()
"""
    extracted, faults = extract(wheel(tmp_path / "x.whl", tree(calls)))
    assert extracted is not None
    assert [flag.choices for flag in extracted.flags] == [(), (), ()]
    assert len(faults) == 3
