"""Raw flags that change memory and that the model does not price; said, never guessed.

Sources: SGLang 0.5.11 server_args.py and the places named in the sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.facts import Release
from compiler.profile import Profile


STATIC: Mapping[str, str] = {
    "cpu-offload-gb": "moves weights to host memory",
    "dtype": "changes the number format of the weights",
    "moe-a2a-backend": "sets the expert parallel size itself",
    "decode-attention-backend": "may force another page size",
    "prefill-attention-backend": "may force another page size",
    "nnodes": "spreads the server over several hosts",
    "node-rank": "makes this one of several hosts",
    "base-gpu-id": "takes other GPUs than the first",
    "gpu-id-step": "takes other GPUs than the first",
    "device": "may run on something else than CUDA GPUs",
    "dllm-algorithm": "runs a diffusion model",
    "enable-pdmux": "shares the GPU between prefill and decode",
    "pdmux-config-path": "shares the GPU between prefill and decode",
    "offload-group-size": "moves weights to host memory",
    "enable-eplb": "adds copies of experts",
    "ep-num-redundant-experts": "adds copies of experts",
    "enable-lora": "allocates adapter buffers before the pool",
    "lora-paths": "allocates adapter buffers before the pool",
    "json-model-override-args": "changes the model's shape",
    "load-format": "may load something else than the checkpoint's weights",
    "quantization": "changes how weights are stored",
    "enable-memory-saver": "changes when memory is freed",
    "attention-context-parallel-size": "changes how the pool is laid out",
    "mm-enable-dp-encoder": "keeps the vision tower whole on every GPU",
    "moe-data-parallel-size": "changes how the experts are split",
    "moe-dense-tp-size": "changes how the dense layers are split",
    "disable-shared-experts-fusion": "changes how the shared expert is stored",
    "kt-weight-path": "keeps experts in host memory",
    "speculative-draft-model-quantization": "changes how the draft is stored",
    "language-only": "leaves the vision tower out",
}
"""Flags that change the static budget: with one of them the pool is not known."""

RESERVE: Mapping[str, str] = {
    "enable-symm-mem": "allocates symmetric memory, 4 GB by default",
    "enable-torch-compile": "compiles graphs with workspaces of their own",
    "enable-hierarchical-cache": "pins host memory and allocates transfer buffers",
    "enable-two-batch-overlap": "keeps the activations of two batches",
    "enable-nccl-nvls": "allocates NVLink multicast buffers",
    "enable-mscclpp": "allocates communication buffers",
    "enable-flashinfer-allreduce-fusion": "allocates an all-reduce workspace",
    "cuda-graph-bs": "lists the captured batch sizes itself",
    "disable-cuda-graph-padding": "captures every batch size",
    "triton-attention-num-kv-splits": "changes the attention logits of graphs",
    "enable-return-hidden-states": "keeps hidden states of whole requests",
    "max-prefill-tokens": "may widen a prefill step beyond one chunk",
    "disaggregation-mode": "changes which steps this server runs",
    "keep-mm-feature-on-device": "keeps image features on the GPU",
}
"""Flags that change the reserve only: the pool stands, the reserve is less sure."""


def unpriced_flags(
    profile: Profile, table: Mapping[str, str], *, release: Release | None
) -> Iterator[tuple[str, str]]:
    """The raw flags of the profile that stand in a table, by any of their names, each with what it does.

    A flag that is given its own default changes nothing.
    """
    for name, value in profile.flags.items():
        full = f"--{name}"
        if release is not None:
            full = release.aliases.get(full, full)
        does = table.get(full[2:])
        if does is None or value is False:
            continue
        flag = release.flags.get(full) if release is not None else None
        if flag is None or flag.default is None or flag.default != value:
            yield name, does
