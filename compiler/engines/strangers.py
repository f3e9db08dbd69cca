"""Servers of language models that are no engines here: the words of a command, or an image's name, go in; whose they are comes out.

docs.vllm.ai, github.com/ggml-org/llama.cpp, huggingface.co/docs/text-generation-inference, docs.ollama.com,
nvidia.github.io/TensorRT-LLM, lmdeploy.readthedocs.io.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from compiler.engines.known import ENGINES
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Stranger(Value):
    """Such an engine, as it was met.

    Attributes:
        name: what it is called.
        words: what tells it: of a command no word that is not a name, of an image its name without a tag.
        is_image: whether that is an image.
        is_known: whether what its flags are called here is known.
    """

    name: str
    words: str
    is_image: bool = False
    is_known: bool = False


_NAMES: Mapping[str, str] = {
    "vllm": "vLLM",
    "llama.cpp": "llama.cpp",
    "tgi": "Text Generation Inference",
    "ollama": "Ollama",
    "trtllm": "TensorRT-LLM",
    "lmdeploy": "LMDeploy",
}
_COMMANDS: Mapping[tuple[str, ...], str] = {
    ("vllm", "serve"): "vllm",
    ("llama-server",): "llama.cpp",
    ("text-generation-launcher",): "tgi",
    ("ollama", "serve"): "ollama",
    ("trtllm-serve",): "trtllm",
    ("lmdeploy", "serve"): "lmdeploy",
}
_MODULES: Mapping[str, str] = {
    "vllm.entrypoints": "vllm",
    "llama_cpp.server": "llama.cpp",
}
_SCRIPT = re.compile(r"(?:.*/)?vllm/(?P<path>entrypoints/[\w/]+\.py)")
_IMAGES: Mapping[str, str] = {
    "vllm": "vllm",
    "llama.cpp": "llama.cpp",
    "text-generation-inference": "tgi",
    "ollama": "ollama",
    "tensorrt-llm": "trtllm",
    "lmdeploy": "lmdeploy",
}
"""By how a part of an image's name begins."""
_REPOSITORY = re.compile(r"(?:[\w.-]+(?::\d+)?/)?[\w.-]+(?:/[\w.-]+)*")
_TAG = re.compile(r"(?::[^/]*)?(?:@.*)?$")


def strange_program(words: Sequence[str]) -> Stranger | None:
    """The engine that a command starts; `None` where it is none of these, or one that is known here."""
    for at, word in enumerate(words):
        first = word.rpartition("/")[2]
        for names, engine in _COMMANDS.items():
            if (first, *words[at + 1 : at + len(names)]) == names:
                return _told(engine, " ".join(names))
        module = words[at + 1].strip() if word == "-m" and at + 1 < len(words) else ""
        for name, engine in _MODULES.items():
            if module == name or module.startswith(f"{name}."):
                return _told(engine, f"-m {module}")
        script = _SCRIPT.fullmatch(word)
        if script is not None:
            return _told("vllm", f"vllm/{script['path']}")
    return None


def strange_image(image: str) -> Stranger | None:
    """The engine that an image holds; as `strange_program`."""
    bare = _TAG.sub("", image.removeprefix("docker://"))
    if _REPOSITORY.fullmatch(bare) is None:
        return None
    for part in reversed(bare.lower().split("/")):
        for beginning, engine in _IMAGES.items():
            if part == beginning or part.startswith((f"{beginning}-", f"{beginning}_")):
                return _told(engine, bare, is_image=True)
    return None


def _told(engine: str, words: str, *, is_image: bool = False) -> Stranger | None:
    if engine in ENGINES:
        return None
    name = _NAMES[engine]
    return Stranger(name=name, words=words, is_image=is_image, is_known=engine == "vllm")
