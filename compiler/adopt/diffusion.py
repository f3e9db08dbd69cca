"""A launch goes in; whether `sglang serve` starts its server for images and video with it comes out, of which nothing is judged.

docs.sglang.io/diffusion: its flags, and the series of models that it has. The server itself looks for `model_index.json` in
the checkpoint, which is not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compiler.adopt.launch import Launch
from compiler.diagnostics import Diagnostic, Label, Span, warning
from compiler.engines.found import Found


_ENTRY = "serve"
_TYPE = "--model-type"
_FLAGS = re.compile(
    r"--(?:num-gpus|(?:sp|ulysses|ring)-degree|(?:dit|vae|text-encoder|image-encoder)-(?:cpu|layerwise)-offload"
    r"|vae-(?:path|precision)|pin-cpu-memory|pipeline-class-name|component-paths\..+|enable-cfg-parallel)(?:=.*)?"
)
_SERIES = re.compile(
    r"(?:^|[/_-])(?:flux\.[12]|(?:fast)?wan-?2\.[12]|hunyuan-?video|qwen-image|z-image|glm-image|cogvideox)",
    re.IGNORECASE,
)
OF_ANOTHER_SERVER = frozenset({"flag-unknown", "flag-value", "model-unknown"})
"""Findings that are about a server of language models."""


def is_diffusion(launch: Launch) -> bool:
    """Whether it is said by the type, by a flag that no server of language models has, or by the model's series."""
    return serves_diffusion([each.text for each in launch.command.words], launch.found)


def serves_diffusion(words: Sequence[str], found: Found) -> bool:
    """The same of a command's words."""
    if _ENTRY not in words[found.entry : found.arguments]:
        return False
    behind = words[found.arguments :]
    # `sglang serve` takes this one for itself, wherever it stands.
    own = words[found.entry :]
    told = [part for each in own for part in each.split("=", 1)]
    if _TYPE in told[:-1]:
        return told[told.index(_TYPE) + 1] == "diffusion"
    return any(_FLAGS.fullmatch(each) or _is_of_series(each) for each in behind)


def _is_of_series(word: str) -> bool:
    """Whether it is a name or a path of such a model."""
    bare = word.rpartition("=")[2]
    return "/" in bare and _SERIES.search(bare) is not None


def diffusion_findings(launch: Launch) -> Iterator[Diagnostic]:
    """`launch-diffusion`."""
    if not is_diffusion(launch):
        return
    yield diffusion(launch.command.words[launch.found.entry].span)


def diffusion(span: Span | None = None) -> Diagnostic:
    """`launch-diffusion`."""
    return warning(
        "launch-diffusion",
        "the launch starts the server for images and video, of which nothing is judged",
        Label(span, "another server, by its flags or its model") if span is not None else None,
        notes=("it has no KV pool whose size could be promised, and flags of its own",),
        help=("leave it as it runs today: servers of language models are what is compiled",),
    )
