"""Programs of SGLang's family that start no server of it: a command goes in; a clause about what it is comes out.

docs.sglang.io (router, diffusion, bench_serving), github.com/ai-dynamo/dynamo (components/src/dynamo/sglang),
github.com/sgl-project/sglang-jax, mini-sglang, and sglang-omni.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


_BEHIND = "which holds no model: adopt the launches of the servers behind it"
_OWN = "which has a parser and pools of its own"
_MODULES: Mapping[str, str] = {
    "sglang_router.launch_server": "SGLang's router with a server behind it for each of its `--dp-size`: adopt one of these, `python -m sglang.launch_server` with the flags that are not the router's, and without `--dp-size`",
    "sglang_router": f"SGLang's router, {_BEHIND}",
    "sglang.srt.disaggregation.mini_lb": f"SGLang's balancer, {_BEHIND}",
    "sglang.srt.disaggregation.launch_lb": f"SGLang's balancer, {_BEHIND}",
    "dynamo.sglang": "a worker of Dynamo, which hands the flags of SGLang on: judge these by `poolproof adopt --check -- python -m sglang.launch_server ...`",
    "sglang.bench": "a benchmark of SGLang",
    "sglang.multimodal_gen": "SGLang's server for images and video, which has no KV pool",
    "sgl_jax": "SGLang for TPUs, which counts memory in another way",
    "minisgl": f"Mini-SGLang, {_OWN}",
}
_COMMANDS: Mapping[tuple[str, str], str] = {
    ("sglang", "generate"): "SGLang's generator of images and video, which has no KV pool",
    ("sgl-omni", "serve"): f"SGLang-Omni, {_OWN}",
    ("sglang-omni", "serve"): f"SGLang-Omni, {_OWN}",
    ("smg", "launch"): f"SGLang's gateway, {_BEHIND}",
}


def other_program(words: Sequence[str]) -> tuple[str, str] | None:
    """The words that name such a program, and what it is; `None` where there is none."""
    for first, second in pairwise(words):
        told = _COMMANDS.get((first.rpartition("/")[2], second))
        if told is None and first == "-m":
            # A blank behind a backslash is a part of the word.
            module = second.strip()
            told = next((said for name, said in _MODULES.items() if _is_of(module, name)), None)
        if told is not None:
            return f"{first} {second.strip()}", told
    return None


def _is_of(module: str, name: str) -> bool:
    return module == name or module.startswith((f"{name}.", f"{name}_"))
