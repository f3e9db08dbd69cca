"""Which release knows an architecture, and which of them give layers with a window a pool of their own."""

from __future__ import annotations

from compiler.engines.sglang.releases import WindowPools, at_least, counting


# The first release with the model's own file in srt/models; each is the beginning of a name, the longer ones first. Other
# architectures are in every release from `_COMMON` on, or are sized by a rule that says when it came.
_SINCE: tuple[tuple[str, str], ...] = (
    ("DeepseekV41", "0.5.21"),
    ("DeepseekV4", "0.5.12"),
    ("DeepseekV32", "0.4.6"),
    ("DeepseekV3", "0.4.2"),
    ("Gemma3", "0.4.4"),
    ("Llama4", "0.4.5"),
    ("Qwen2_5_VL", "0.4.4"),
    ("MiniMaxM3", "0.5.16"),
    ("Qwen4Exp", "0.5.20"),
)


_COMMON = "0.4.6"
# Those that are priced in every release. 0.4.1 has others, such as DeepSeek V3, whose start was not read there.
_ALWAYS = (
    "Grok1ForCausalLM",
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Qwen2ForCausalLM",
)


def known_since(architecture: str) -> str | None:
    """The first release whose start of an architecture was read; `None`: every one."""
    if architecture in _ALWAYS:
        return None
    return next((since for name, since in _SINCE if architecture.startswith(name)), _COMMON)


# The architectures whose layers with a window have a pool of their own (srt/configs/model_config.py,
# `is_hybrid_swa_model`), by the release that added them; each is the beginning of a name.
_SPLIT_SINCE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.9", ("Llama4ForConditionalGeneration", "GptOss", "MiMoV2", "Step3p5")),
    ("0.5.11", ("Gemma4",)),
    ("0.5.13", ("Step3p7", "Laguna")),
    ("0.5.18", ("Mellum", "MuseGlimmer")),
)
# Those that were left whole before that list (srt/server_args.py, `disable_hybrid_swa_memory`), and one whose layers the
# engine gives no window at all (srt/models/commandr.py).
_WHOLE_BEFORE = ("Llama4", "GptOss", "Gemma2", "Gemma3", "Exaone4", "Olmo2", "Cohere2")


def splits_windows(architecture: str, version: str) -> bool:
    """Whether a release gives the layers with a window of this architecture a pool of their own."""
    rule = counting(version)
    if rule is None or rule.windows is WindowPools.WHOLE:
        return False
    if rule.windows is WindowPools.BY_LAYERS:
        return not architecture.startswith(_WHOLE_BEFORE)
    return any(
        architecture.startswith(names) and at_least(version, since) for since, names in _SPLIT_SINCE
    )
