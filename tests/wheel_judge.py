"""The judge: the parser in an engine's own wheel, its imports stubbed. Run by `wheels.py`, not by pytest.

    python wheel_judge.py FOLDER < requests.jsonl > answers.jsonl

FOLDER holds the unpacked wheel and, beside `sglang`, what its declarations really need (`msgspec`, `yaml`). Everything else
that it imports is a stub which answers to everything, so that no GPU, no torch and no weights are needed. A request is
`{"argv": [...], "entry": "module" | "serve"}`; an answer is `{"values": {...}}` or `{"refused": "the message"}`. The first answer
is the parser itself: its actions.
"""

# ruff: noqa: ANN401, ARG002, D102, D105 - stubs take and give anything, and are called by Python itself
# mypy: disable-error-code="explicit-override"
# (`override` is of Python 3.12.)

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self


# What is asked whether it is there, and is better not.
ABSENT = frozenset({"npu", "musa", "xpu", "hpu", "mps"})
NOT_INSTALLED = frozenset({"torch_npu", "torchao", "vllm"})
# Parts of the engine that declare no flag and would want a real torch.
STUBBED = (
    "sglang.srt.platforms",
    "sglang.srt.models",
    "sglang.srt.model_executor.model",
    "sglang.srt.model_executor.cuda_graph_runner",
    "sglang.srt.model_executor.forward",
)
# Parts that must be the engine's own: what they cannot do is a fault of this judge.
NEEDED = ("sglang.srt.server_args", "sglang.srt.arg_groups")
REAL = frozenset({"msgspec", "yaml", "_yaml", "orjson"})


class Anything:
    """Answers to everything with itself, and is false, empty and zero."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ABSENT:
            raise AttributeError(name)
        return (lambda *_, **__: False) if name == "is_available" else Anything()

    def __call__(self, *given: Any, **named: Any) -> Any:
        """As a decorator it leaves what it decorates."""
        plain = len(given) == 1 and isinstance(given[0], types.FunctionType | type)
        return given[0] if plain and not named else Anything()

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (Parent,)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, item: object) -> bool:
        return False

    def __index__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __fspath__(self) -> str:
        return "/"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def _self(self, *_: object) -> Any:
        return self

    def _false(self, *_: object) -> bool:
        return False

    __getitem__ = __or__ = __ror__ = __and__ = __add__ = _self
    __lt__ = __gt__ = __le__ = __ge__ = _false


class Parent:
    """What a class that inherits from a stub inherits."""

    def __init_subclass__(cls, **_: object) -> None:
        """Takes every keyword."""


class StubModule(types.ModuleType):
    """A module that has everything."""

    __version__ = "9.9.9"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (self.__name__ == "torch" and name in ABSENT):
            raise AttributeError(name)
        return getattr(Anything(), name)


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stubs for what is not here; and for a part of the engine that fails over one."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in NOT_INSTALLED or top in REAL:
            return None
        stub = importlib.machinery.ModuleSpec(name, self, is_package=True)
        if top != "sglang" or name.startswith(STUBBED):
            return stub
        found = importlib.machinery.PathFinder.find_spec(name, path)
        if found is None:
            return (
                stub if isinstance(sys.modules.get(name.rpartition(".")[0]), StubModule) else None
            )
        if found.loader is not None and not name.startswith(NEEDED):
            found.loader = Softly(found.loader)
        return found

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = StubModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class Softly(importlib.abc.Loader):
    """Runs a module, and makes a stub of the rest of one that fails."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        try:
            self.loader.exec_module(module)
        except Exception:  # noqa: BLE001 - whatever a stub leads to
            module.__class__ = StubModule


def load_engine(folder: str) -> Any:
    """`sglang.srt.server_args` of an unpacked wheel, without what `sglang` itself imports."""
    sys.path.insert(0, folder)
    sys.meta_path.insert(0, Stubs())
    for name in ("sglang", "sglang.srt", "sglang.cli"):
        package = types.ModuleType(name)
        package.__path__ = [f"{folder}/{name.replace('.', '/')}"]
        sys.modules[name] = package
    return importlib.import_module("sglang.srt.server_args")


def build_once(server_args: Any) -> argparse.ArgumentParser:
    """The engine's parser, which it would build anew for every command line; some releases take a tenth of a second."""
    parser = argparse.ArgumentParser()
    server_args.ServerArgs.add_cli_args(parser)
    server_args.ServerArgs.add_cli_args = staticmethod(lambda _: None)
    server_args.argparse = types.SimpleNamespace(
        **{**vars(argparse), "ArgumentParser": lambda **_: parser}
    )
    # What it does with the parser's answer, setting up its log first, is beyond the parser.
    server_args.logging = Anything()
    return parser


def describe(parser: argparse.ArgumentParser) -> list[dict[str, object]]:
    """The actions of the parser."""
    return [
        {
            "names": action.option_strings,
            "dest": action.dest,
            "action": type(action).__name__,
            "type": getattr(action.type, "__name__", None),
            "nargs": action.nargs,
            "const": action.const,
            "choices": None if action.choices is None else [str(each) for each in action.choices],
            "default": action.default,
            "required": action.required,
        }
        for action in parser._actions  # noqa: SLF001 - there is no other way to ask
    ]


def entries(server_args: Any) -> dict[str, Callable[[list[str]], argparse.Namespace]]:
    """How the server is started, up to what its parser gives."""
    server_args.ServerArgs.from_cli_args = classmethod(lambda _, namespace: namespace)
    module: Callable[[list[str]], argparse.Namespace] = server_args.prepare_server_args
    try:
        serve = importlib.import_module("sglang.cli.serve")
    except ModuleNotFoundError:
        return {"module": module}
    kept: list[argparse.Namespace] = []
    launch = types.ModuleType("sglang.launch_server")
    launch.run_server = kept.append  # type: ignore[attr-defined]
    sys.modules["sglang.launch_server"] = launch
    plugins = types.ModuleType("sglang.srt.plugins")
    plugins.load_plugins = lambda: None  # type: ignore[attr-defined]
    sys.modules["sglang.srt.plugins"] = plugins
    for name, value in (
        ("get_is_diffusion_model", lambda _: False),
        ("is_registered_native_pipeline", lambda _: False),
        ("kill_process_tree", lambda *_, **__: None),
    ):
        setattr(serve, name, value)

    def through_serve(argv: list[str]) -> argparse.Namespace:
        kept.clear()
        serve.serve(None, argv)
        if not kept:
            raise SystemExit("starts no server")
        return kept[0]

    return {"module": module, "serve": through_serve}


def answer(start: Callable[[list[str]], argparse.Namespace], argv: list[str]) -> dict[str, object]:
    """What the parser makes of a command line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            namespace = start(argv)
    except SystemExit as end:
        message = said.getvalue().rpartition("error: ")[2].strip() or str(end.code)
        return {"refused": message}
    except Exception as fault:  # noqa: BLE001 - the server ends with a traceback
        return {"refused": f"{type(fault).__name__}: {fault}"}
    values = {name: value for name, value in vars(namespace).items() if not name.startswith("_")}
    return {"values": values}


def main(folder: str) -> None:
    """Answer every request."""
    server_args = load_engine(folder)
    parser = build_once(server_args)
    sys.stdout.write(json.dumps(describe(parser), default=str) + "\n")
    starts = entries(server_args)
    for line in sys.stdin:
        request = json.loads(line)
        start = starts.get(request["entry"])
        given = {"refused": "no such entry"} if start is None else answer(start, request["argv"])
        sys.stdout.write(json.dumps(given, default=str) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
