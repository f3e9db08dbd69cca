"""Which release knows an architecture, and which of them give layers with a window a pool of their own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from attrs import frozen

from compiler.engines.sglang.releases import WindowPools, at_least, counting
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Arrival(Value):
    """When an architecture came.

    Attributes:
        release: the first that has its class (`EntryClass` in srt/models).
        after: the release before; builds between the two may have it, and call themselves after that one.
    """

    release: str
    after: str


# By class name, the newest first. The wheels of both releases are asked in tests/test_arrivals.py.
_ARRIVALS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("0.5.21", "0.5.22"): ("ExaoneMoeForCausalLM",),
    # The name is that of the config alone: its class is DeepSeek V4's.
    ("0.5.20", "0.5.21"): ("DeepseekV41ForCausalLM",),
    ("0.5.19", "0.5.20"): ("Glm5NextForConditionalGeneration", "Qwen4ExpForConditionalGeneration"),
    ("0.5.18", "0.5.19"): ("BailingMoeV3ForCausalLM",),
    # Before that Gemma's is no embedding model (model_loader/utils.py).
    ("0.5.16", "0.5.17"): (
        "Gemma3TextModel",
        "KimiK3ForConditionalGeneration",
        "Qwen3_5ForCausalLM",
        "Qwen3_5MoeForCausalLM",
    ),
    ("0.5.15", "0.5.16"): ("MiniMaxM3SparseForConditionalGeneration",),
    ("0.5.12", "0.5.13"): ("Gemma4UnifiedForConditionalGeneration",),
    ("0.5.11", "0.5.12"): ("DeepseekV4ForCausalLM", "LagunaForCausalLM"),
    ("0.5.10", "0.5.11"): (
        "Gemma4ForCausalLM",
        "Gemma4ForConditionalGeneration",
        "HYV3ForCausalLM",
        "MiMoV2ForCausalLM",
        "NemotronH_Nano_Omni_Reasoning_V3",
    ),
    ("0.5.8", "0.5.9"): (
        "BailingMoeV2_5ForCausalLM",
        "Exaone4ForCausalLM",
        "ExaoneMoEForCausalLM",
        "GlmMoeDsaForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "KimiK25ForConditionalGeneration",
        "Lfm2ForCausalLM",
        "Lfm2MoeForCausalLM",
        "Qwen3ForRewardModel",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "Step3p5ForCausalLM",
    ),
    ("0.5.7", "0.5.8"): (
        "AfmoeForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "IQuestCoderForCausalLM",
    ),
    ("0.5.6", "0.5.7"): ("MiMoV2FlashForCausalLM",),
    ("0.5.6", "0.5.6.post1"): (
        "Ministral3ForCausalLM",
        "PixtralForConditionalGeneration",
    ),
    ("0.5.5", "0.5.6"): ("LLaDA2MoeModelLM",),
    ("0.5.4", "0.5.4.post2"): ("KimiLinearForCausalLM",),
    ("0.5.4", "0.5.4.post1"): ("MiniMaxM2ForCausalLM",),
    # Olmo 3 is a config of Olmo 2's class.
    ("0.5.3", "0.5.4"): (
        "DeepseekOCRForCausalLM",
        "Olmo3ForCausalLM",
        "Qwen3OmniMoeForConditionalGeneration",
    ),
    ("0.5.3", "0.5.3.post1"): ("NemotronHForCausalLM",),
    ("0.5.2", "0.5.3"): (
        "ApertusForCausalLM",
        "BailingMoeV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "Qwen3VLForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration",
        "SolarForCausalLM",
    ),
    ("0.5.1", "0.5.2"): ("Qwen3NextForCausalLM",),
    ("0.4.10", "0.5.1"): (
        "BailingMoeForCausalLM",
        "Ernie4_5_MoeForCausalLM",
        "Glm4vForConditionalGeneration",
        "Glm4vMoeForConditionalGeneration",
        "GptOssForCausalLM",
        "Qwen3ForSequenceClassification",
    ),
    ("0.4.9", "0.4.10"): ("ArceeForCausalLM",),
    ("0.4.9", "0.4.9.post5"): ("Glm4MoeForCausalLM", "InternS1ForConditionalGeneration"),
    ("0.4.9", "0.4.9.post3"): (
        "GraniteMoeForCausalLM",
        "HunYuanDenseV1ForCausalLM",
        "PhiForCausalLM",
    ),
    ("0.4.9", "0.4.9.post2"): ("PhiMoEForCausalLM",),
    ("0.4.8", "0.4.8.post1"): (
        "Gemma3nForCausalLM",
        "Gemma3nForConditionalGeneration",
        "HunYuanMoEV1ForCausalLM",
    ),
    ("0.4.7", "0.4.7.post1"): (
        "BertForSequenceClassification",
        "XLMRobertaForSequenceClassification",
    ),
    ("0.4.7", "0.4.8"): ("Glm4ForCausalLM",),
    # By the class for models of transformers.
    ("0.4.6", "0.4.7"): ("SeedOssForCausalLM", "SmolLM3ForCausalLM"),
    ("0.4.6", "0.4.6.post5"): ("Mistral3ForConditionalGeneration",),
    ("0.4.6", "0.4.6.post3"): ("InternVLChatModel", "MiMoForCausalLM"),
    ("0.4.6", "0.4.6.post2"): ("KimiVLForConditionalGeneration",),
    ("0.4.4", "0.4.5"): ("Llama4ForConditionalGeneration",),
    ("0.4.4", "0.4.4.post2"): ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
}
ARRIVALS: Mapping[str, Arrival] = {
    name: Arrival(release=release, after=after)
    for (after, release), names in _ARRIVALS.items()
    for name in names
}
"""The classes that are younger than the oldest release."""

# Others are older than this release, the first whose start of them was read; of these an earlier one was.
_COMMON = "0.4.6"
_READ_SINCE = {
    "DeepseekV2ForCausalLM": "0.4.1",
    "DeepseekV3ForCausalLM": "0.4.2",
    "Qwen2_5_VLForConditionalGeneration": "0.4.4",
}
# Those that are priced in every release. 0.4.1 has others, such as DeepSeek V3 without graphs, whose start was not read there.
_ALWAYS = (
    "Grok1ForCausalLM",
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Qwen2ForCausalLM",
)


def unread(architecture: str, version: str) -> str | None:
    """Why an architecture is not priced for a release, in words; `None` when it is."""
    since = priced_since(architecture, version)
    if since is None:
        return None
    has_it = "has it" if architecture in ARRIVALS else "is priced for it"
    return f"its architecture: sglang {has_it} from {since} on"


def priced_since(architecture: str, version: str) -> str | None:
    """The release from which on an architecture is priced that is not for this one; `None` when it is."""
    came = ARRIVALS.get(architecture)
    if came is not None:
        return None if at_least(version, came.after) else came.release
    since = _READ_SINCE.get(architecture, _COMMON)
    return None if architecture in _ALWAYS or at_least(version, since) else since


def between(architecture: str, version: str) -> str | None:
    """What is taken for granted of a build between two releases, the later of which has the architecture."""
    came = ARRIVALS.get(architecture)
    if came is None or at_least(version, came.release) or not at_least(version, came.after):
        return None
    return f"`{architecture}` is in sglang from {came.release} on: this is a build from between {version} and that"


# The architectures whose layers with a window have a pool of their own (srt/configs/model_config.py,
# `is_hybrid_swa_model`), by the release that added them; each is the beginning of a name.
_SPLIT_SINCE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.9", ("Llama4ForConditionalGeneration", "GptOss", "MiMoV2", "Step3p5")),
    ("0.5.11", ("Gemma4",)),
    ("0.5.12", ("Laguna",)),
    ("0.5.13", ("Step3p7",)),
    ("0.5.16", ("Mellum",)),
    ("0.5.18", ("MuseGlimmer",)),
)
# Those that were left whole before that list (srt/server_args.py, `disable_hybrid_swa_memory`), and one whose layers the
# engine gives no window at all (srt/models/commandr.py).
_WHOLE_BEFORE = (
    *(
        "Llama4",
        "GptOss",
        "Gemma2",
        "Gemma3",
        "Exaone4",
        "ExaoneMo",
        "Olmo2",
        "Olmo3",
        "Cohere2",
        "Afmoe",
    ),
)


@cache
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
