"""A fact goes in; the text of a catalogue file comes out, laid out and commented for a person to complete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from compiler.facts import Gpu, Interconnect
from compiler.language.written import key_toml, number_toml, text_toml
from compiler.ranges import Range


def gpu_toml(gpu: Gpu) -> str:
    """The file of a GPU; the same text for the same GPU. A memory range it does not have is left open in a comment."""
    free = gpu.free_before_load_gib
    lines = [
        f"id = {text_toml(gpu.id)}",
        "",
        "# As the driver prints them: nvidia-smi --query-gpu=name,memory.total --format=csv",
        f"names = {texts_toml(gpu.names)}",
        f"total_mib = {number_toml(gpu.total_mib)}",
        "",
        "# Free memory of one GPU once CUDA and NCCL are up and before weights load, GiB, over all known starts:",
        "# SGLang's line `Load weight begin` prints it. Without it a profile's pool is told from a recorded boot only.",
        "# free_before_load_gib = { low = 0.0, best = 0.0, high = 0.0 }"
        if free is None
        else f"free_before_load_gib = {_range(free)}",
        "",
        f"compute_capability = {text_toml(gpu.compute_capability)}",
        f"multiprocessors = {number_toml(gpu.multiprocessors)}",
        "",
        f"# {', '.join(f'`{each}`' for each in get_args(Interconnect))}: what joins the cards of a host.",
        f"interconnect = {text_toml(gpu.interconnect)}",
        "",
        '# Where each figure is from: an address, a log, or how it was worked out. "*" stands for all the others.',
        "[sources]",
        *(f"{key_toml(key)} = {text_toml(source)}" for key, source in sorted(gpu.sources.items())),
    ]
    return "\n".join(lines) + "\n"


def texts_toml(texts: Iterable[str]) -> str:
    """A TOML array of texts, one a line when there are several."""
    several = [text_toml(each) for each in texts]
    if len(several) <= 1:
        return f"[{''.join(several)}]"
    return "[\n" + "".join(f"    {each},\n" for each in several) + "]"


def _range(range_: Range) -> str:
    return f"{{ low = {range_.low}, best = {range_.best}, high = {range_.high} }}"
