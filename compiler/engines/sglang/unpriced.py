"""Raw flags that change memory and that the model does not price; said, never guessed.

Sources: SGLang 0.5.11 server_args.py and the places named in the sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.facts import Release
from compiler.profile import Argument, Profile


STATIC: Mapping[str, str] = {
    "enable-lora": "allocates adapter buffers before the pool",
    "lora-paths": "allocates adapter buffers before the pool",
    "json-model-override-args": "changes the model's shape",
    "dcp-size": "changes how the pool is laid out",
    "enable-hisparse": "keeps contexts on the host, by tables of each request that may run",
    "enable-unified-memory": "lays all pools out in one buffer",
    "enable-dsa-prefill-cp-layersplit": "spreads the pool's layers over ranks",
    "enable-nsa-prefill-context-parallel": "gives each rank whole heads, and experts by other means",
    "enable-dsa-prefill-context-parallel": "gives each rank whole heads, and experts by other means",
    "enable-encoder-swa-bounded-replay": "sizes windows by requests in another way",
    "prefill-only-disable-kv-cache": "leaves the pool out",
    "enable-linear-replayssm-spec": "keeps the states of drafted tokens in another way",
    "speculative-draft-kv-cache-dtype": "stores the latents of a draft in a number format of its own, whose bytes are not written down",
    "hybrid-kvcache-ratio": "deals tokens out to layers in another way",
    "device": "runs the model elsewhere than on such a GPU, where memory is counted otherwise",
}
"""Flags that change what a token or a state costs, or what is there beside the weights: the pool is not known."""

BESIDE_HEADS: Mapping[str, str] = {
    "attention-context-parallel-size": "changes how the pool is laid out",
    "attn-cp-size": "changes how the pool is laid out",
}
"""The same, where what is kept of a token is neither one key and one value a head nor one latent."""


WEIGHTS: Mapping[str, str] = {
    "cpu-offload-gb": "moves weights to host memory",
    "offload-group-size": "moves weights to host memory",
    "enable-eplb": "deals experts out anew as the load changes",
    "ep-num-redundant-experts": "adds copies of experts",
    "moe-a2a-backend": "runs with this model in no release, and a build that makes it may keep shared experts whole",
    "load-format": "may load something else than the checkpoint's weights",
    "quantization": "changes how weights are stored",
    "enable-memory-saver": "never gives back what is freed while weights are made anew",
    "moe-data-parallel-size": "changes how the experts are split",
    "moe-dp-size": "changes how the experts are split",
    "kt-weight-path": "keeps experts in host memory",
    "kt-amx-weight-path": "keeps experts in host memory",
    "speculative-draft-model-quantization": "changes how the draft is stored",
    "language-only": "may leave the vision tower out",
    "encoder-only": "leaves the language model out",
    "dtype": "changes the number format of the weights",
    "torchao-config": "changes how weights are stored",
}
"""Flags that change the weights: without a log of the load the pool is not known."""

_AS_USUAL: Mapping[str, tuple[Argument, ...]] = {
    "dtype": ("auto", "half", "float16", "bfloat16"),
    "load-format": (
        "auto",
        "safetensors",
        "fastsafetensors",
        "dummy",
        "remote",
        "runai_streamer",
        "mistral",
        "pt",
        "npcache",
    ),
    "cpu-offload-gb": (0,),
    "attn-cp-size": (1,),
    "attention-context-parallel-size": (1,),
    "dcp-size": (1,),
    "moe-dp-size": (1,),
    "moe-data-parallel-size": (1,),
    "json-model-override-args": ("{}",),
    "speculative-draft-model-quantization": ("unquant",),
    "device": ("cuda", "xpu", "auto"),
}
"""Values that change nothing: sixteen bits are sixteen bits, and the way files are read leaves no trace.

A draft that is not to be quantized is loaded as its own config says (0.5.19 arg_groups/serving_hook.py, 648).
"""

RESERVE: Mapping[str, str] = {
    "enable-symm-mem": "allocates symmetric memory, 4 GB by default",
    "enable-torch-compile": "compiles graphs with workspaces of their own",
    "enable-hierarchical-cache": "pins host memory and allocates transfer buffers",
    "enable-two-batch-overlap": "keeps the activations of two batches",
    "enable-nccl-nvls": "allocates NVLink multicast buffers",
    "enable-mscclpp": "allocates communication buffers",
    "enable-flashinfer-allreduce-fusion": "allocates an all-reduce workspace",
    "disable-cuda-graph-padding": "captures every batch size",
    "triton-attention-num-kv-splits": "changes the attention logits of graphs",
    "enable-return-hidden-states": "keeps hidden states of whole requests",
    "max-prefill-tokens": "may widen a prefill step beyond one chunk",
    "dllm-algorithm": "computes and captures whole blocks of tokens at each step",
    "lora-backend": "allocates workspaces for adapters",
    "moe-a2a-backend": "allocates buffers to exchange tokens",
    "enable-dp-attention-local-control-broadcast": "allocates communication buffers",
    "enable-pdmux": "captures graphs for several streams",
    "cuda-graph-config": "says itself what is captured",
    "keep-mm-feature-on-device": "keeps image features on the GPU",
}
"""Flags that change the reserve only: the pool stands, the reserve is less sure."""


def unpriced_flags(
    profile: Profile, table: Mapping[str, str], *, release: Release | None
) -> Iterator[tuple[str, str]]:
    """The raw flags of the profile that stand in a table, by any of their names, each with what it does.

    A flag that is given its own default, or a value that means the same, changes nothing.
    """
    for name, value in profile.flags.items():
        full = f"--{name}"
        if release is not None:
            full = release.aliases.get(full, full)
        does = table.get(full[2:])
        if does is None or value is False or value in _AS_USUAL.get(full[2:], ()):
            continue
        flag = release.flags.get(full) if release is not None else None
        if flag is None or flag.default is None or flag.default != value:
            yield name, does
