"""The profiles of a new tree: four fragments that later services share, and one that is deployed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from compiler.language.written import key_toml, number_toml, text_toml, written
from compiler.profile import Argument
from compiler.starter.wanted import FirstService


def profile_files(wanted: FirstService) -> Mapping[str, str]:
    """The text of each profile, by its name."""
    return {
        "base/service": _SERVICE + _first_flags(wanted.flags),
        f"base/{wanted.name}": _model(wanted),
        f"base/{wanted.engine}-{wanted.version}": _engine(wanted),
        f"hw/{hardware(wanted)}": _hardware(wanted),
        wanted.profile: _deployed(wanted),
    }


def hardware(wanted: FirstService) -> str:
    """The name of the fragment of its GPUs."""
    return f"{wanted.count}x-{wanted.gpu}"


_SERVICE = """\
schema = 1

# What every service here has in common. `127.0.0.1` is for a proxy on the same host; an open address wants an API key.
[serve]
host = "127.0.0.1"
port = 30000
"""


def _first_flags(flags: Mapping[str, Argument]) -> str:
    if not flags:
        return ""
    return "\n[flags]\n" + "".join(
        f"{key_toml(name)} = {written(value, key=name)}\n" for name, value in flags.items()
    )


def _model(wanted: FirstService) -> str:
    return f"""\
schema = 1

[model]
id = {text_toml(wanted.model)}
path = {text_toml(wanted.model_path)}
served_name = {text_toml(wanted.name)}
"""


def _engine(wanted: FirstService) -> str:
    return f"""\
schema = 1

[engine]
name = {text_toml(wanted.engine)}
version = {text_toml(wanted.version)}
python = {text_toml(wanted.python)}
"""


def _hardware(wanted: FirstService) -> str:
    return f"""\
schema = 1

[gpus]
kind = {text_toml(wanted.gpu)}
count = {wanted.count}

[parallel]
tensor = {wanted.count}
"""


def _deployed(wanted: FirstService) -> str:
    parents = (
        "base/service",
        f"base/{wanted.name}",
        f"base/{wanted.engine}-{wanted.version}",
        f"hw/{hardware(wanted)}",
    )
    extends = "".join(f"    {text_toml(each)},\n" for each in parents)
    return f"""\
schema = 1
extends = [
{extends}]
description = {text_toml(f"{wanted.model} on {wanted.target}")}
{_parallel(wanted)}
# The promise: {_holders(wanted)} must hold concurrency x context.
[serve]
context = {number_toml(wanted.context)}
concurrency = {wanted.concurrency}
{_memory(wanted)}{_flags(wanted)}
[targets.{key_toml(wanted.target)}]
kind = "systemd"
user = {text_toml(wanted.user)}
"""


def _holders(wanted: FirstService) -> str:
    several = wanted.layout is not None and wanted.layout.data > 1
    return "the pools of all copies together" if several else "the pool"


def _parallel(wanted: FirstService) -> str:
    """What this model wants otherwise than the fragment of the GPUs, and why."""
    layout = wanted.layout
    if layout is None:
        return ""
    sizes = {
        "tensor": (layout.tensor, wanted.count),
        "pipeline": (layout.pipeline, 1),
        "data": (layout.data, 1),
        "expert": (layout.expert, 1),
    }
    rows = "".join(f"{key} = {size}\n" for key, (size, plain) in sizes.items() if size != plain)
    return f"\n{_comment(layout.said(wanted.count))}[parallel]\n{rows}" if rows else ""


def _flags(wanted: FirstService) -> str:
    layout = wanted.layout
    if layout is None or not layout.whole_vision:
        return ""
    return f"\n{_comment(layout.said(wanted.count))}[flags]\nmm-enable-dp-encoder = true\n"


_WIDE = 120


def _comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, _WIDE - len("# ")))


def _memory(wanted: FirstService) -> str:
    if not wanted.is_described:
        return _GUESSED
    if wanted.fraction is None:
        return _LEAST
    return _USUAL.format(fraction=wanted.fraction, name=wanted.profile)


_LEAST = """
[memory]
fraction = "fit"  # "fit" is the least that keeps the promise; what it comes to stands in PLAN.md
"""
_USUAL = """
# `poolproof init` wrote the engine's own pick here, or as near to it as promise and reserve allow: the rest keeps prefixes for
# later requests. "fit" is the least that keeps the promise; `poolproof fit {name} --max pool` tells the most.
[memory]
fraction = {fraction:g}
"""
# Near what the engine would take by itself: 0.85 to 0.88 on a server GPU, in its own arithmetic.
_GUESSED = """
# 0.85 is not proved: nobody had described the model or the GPU for `poolproof init`; `poolproof catalog` tells how to.
[memory]
fraction = 0.85
"""
