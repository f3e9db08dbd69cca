"""The profiles of a new tree: four fragments that later services share, and one that is deployed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from attrs import frozen

from compiler.facts import comes_as_code
from compiler.language.written import key_toml, number_toml, text_toml, written
from compiler.profile import Argument
from compiler.starter.wanted import FirstService
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Fragments(Value):
    """The names of what a service extends, by the reason for which each changes."""

    service: str
    model: str
    engine: str
    hardware: str

    @property
    def all(self) -> tuple[str, ...]:
        """Each of them, in the order in which they are extended."""
        return (self.service, self.model, self.engine, self.hardware)


def fragments(wanted: FirstService) -> Fragments:
    """The names of the fragments of a service."""
    return Fragments(
        service="base/service",
        model=f"base/{wanted.name}",
        engine=wanted.engine_fragment or f"base/{wanted.engine}-{wanted.version}",
        hardware=f"hw/{wanted.count}x-{wanted.gpu}",
    )


def profile_files(wanted: FirstService) -> Mapping[str, str]:
    """The text of each profile, by its name."""
    names = fragments(wanted)
    return {
        names.service: _SERVICE + _flags_of(wanted.flags),
        names.model: _model(wanted),
        names.engine: _engine(wanted),
        names.hardware: _hardware(wanted),
        wanted.profile: _deployed(wanted),
    }


_SERVICE = """\
schema = 1

# What every service here has in common. `127.0.0.1` is for a proxy on the same host; an open address wants an API key.
[serve]
host = "127.0.0.1"
port = 30000
"""


def _flags_of(flags: Mapping[str, Argument]) -> str:
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
{_trust(wanted)}{_flags_of(wanted.model_flags)}"""


def _trust(wanted: FirstService) -> str:
    """That the code of the checkpoint is run, where it does not load without."""
    if not wanted.custom_code:
        return ""
    said = comes_as_code(wanted.custom_code)
    return f"trust_remote_code = true  # {said}: read it before you run it\n"


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
    names = fragments(wanted)
    extends = "".join(f"    {text_toml(each)},\n" for each in names.all)
    return f"""\
schema = 1
extends = [
{extends}]
description = {text_toml(f"{wanted.model} on {wanted.target}")}
{_gpus(wanted)}{_interpreter(wanted)}{_parallel(wanted)}
# The promise: {_holders(wanted)} must hold concurrency x context.
[serve]
context = {number_toml(wanted.context)}
concurrency = {wanted.concurrency}
{_requests(wanted)}{_port(wanted)}{_memory(wanted)}{_flags(wanted)}
[targets.{key_toml(wanted.target)}]
kind = "systemd"
user = {text_toml(wanted.user)}
"""


def _holders(wanted: FirstService) -> str:
    several = wanted.layout is not None and wanted.layout.data > 1
    if not several:
        return "the pool"
    return f"the pools of all {'groups' if wanted.layout and wanted.layout.dp_attention else 'copies'} together"


def _requests(wanted: FirstService) -> str:
    """Fewer that run than the engine takes by itself, and why."""
    if wanted.requests is None:
        return ""
    return f"{_comment(wanted.requests_said)}max_running_requests = {wanted.requests}\n"


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
    rows += "dp_attention = true\n" if layout.dp_attention else ""
    return f"\n{_comment(layout.said(wanted.count))}[parallel]\n{rows}" if rows else ""


def _port(wanted: FirstService) -> str:
    """Another than that of all, where a service of the host has that one."""
    return f"port = {wanted.port}  # of its own on this host\n" if wanted.port else ""


def _gpus(wanted: FirstService) -> str:
    """The GPUs that no other service of the host uses, where there are others."""
    if not wanted.indices:
        return ""
    indices = ", ".join(map(str, wanted.indices))
    return f"\n[gpus]\nindices = [{indices}]  # the host's other services use others\n"


def _interpreter(wanted: FirstService) -> str:
    """Another than that of all with this release, where a service of the host has another release there."""
    if wanted.own_python is None:
        return ""
    return f"\n[engine]\npython = {text_toml(wanted.own_python)}  # the other one has another release on this host\n"


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
        text = _GUESSED
    elif wanted.fraction is None:
        text = _LEAST
    else:
        least = f'"fit" is the least that keeps the promise; `poolproof fit {wanted.profile} --max pool` tells the most.'
        text = (
            f"\n{_comment(f'{_usual(wanted)} {least}')}[memory]\nfraction = {wanted.fraction:g}\n"
        )
    return text + _kv_dtype(wanted.kv_dtype)


def _kv_dtype(dtype: str) -> str:
    """The number format of the KV cache, where one is asked for; what it costs, where it is one of 8 bits."""
    if not dtype:
        return ""
    half = "  # half the memory of a token; check answers" if dtype.startswith("fp8_") else ""
    return f"kv_dtype = {text_toml(dtype)}{half}\n"


_LEAST = """
[memory]
fraction = "fit"  # "fit" is the least that keeps the promise; what it comes to stands in PLAN.md
"""


def _usual(wanted: FirstService) -> str:
    """Which fraction it is, beside the engine's own."""
    if wanted.fraction is None or wanted.picked is None or wanted.fraction == wanted.picked:
        return "What the engine would pick by itself: the rest of the pool keeps prefixes for later requests."
    if wanted.fraction > wanted.picked:
        return f"The engine would pick {wanted.picked:g}, and the promise needs more than that."
    if wanted.shares:
        return f"The engine would pick {wanted.picked:g}, and the host uses the same memory: this leaves it some."
    return f"The engine would pick {wanted.picked:g}, which leaves too little beside the pool: this is the most that surely passes."


# Near what the engine would take by itself: 0.85 to 0.88 on a server GPU, in its own arithmetic.
_GUESSED = """
# 0.85 is not proved: nobody had described the model or the GPU for `poolproof init`; `poolproof catalog` tells how to.
[memory]
fraction = 0.85
"""
