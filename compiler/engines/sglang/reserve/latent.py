"""What the attention of one prefill step of an MLA model needs while it runs.

Sources: 0.5.11 srt/models/deepseek_common/attention_forward_methods/forward_mha.py, `forward_normal_prepare` and
`_chunked_prefix_attn_mha`, forward_mla.py, `forward_absorb_prepare` and `forward_absorb_core`; 0.5.11 and 0.5.23
srt/layers/attention/{nsa,dsa}_backend.py, `_forward_flashmla_sparse` and `_forward_flashmla_kv`.
"""

from __future__ import annotations

from compiler.engines.sglang.backends import Platform, generation, is_sparse, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.server import Server
from compiler.engines.sglang.roles import Role
from compiler.engines.sglang.unfolding import Copies
from compiler.facts import Mla
from compiler.memory.weights import GIB
from compiler.ranges import Range


# The caching allocator seldom reuses every freed block: up to a third more than is alive. A bound we reason about.
FRAGMENTATION = 4 / 3

# Heads that FlashMLA's sparse kernel works with, from Blackwell on and before.
_PADDED_HEADS_BLACKWELL, _PADDED_HEADS, _BLACKWELL = 128, 64, 10
# With fp8 on Hopper the kernel is `flashmla_kv` by default, and pads from here on (`flashmla_kv_num_q_heads`).
_PADDED_FP8_SINCE = "0.5.11"


def latent_peak(server: Server) -> tuple[Range, str] | None:
    """GiB at once, and how they come about; `None` for attention of another kind.

    The low end is a step of which no beginning is cached, the best one request with a context of which all but the last
    chunk is cached, and the high end as many such requests as fit. A server that only decodes always reads latents.
    """
    attention = server.model.attention
    if not isinstance(attention, Mla):
        return None
    heads = max(1, server.model.heads // server.launch.attention_ranks)
    width, chunk = server.model.dtype_bits // 8, server.step
    absorbed = _absorbed(server, attention, heads) / GIB
    latents = attention.kv_lora_rank + attention.qk_rope_head_dim
    reads = f"{chunk} tokens of {heads} heads, attention to latents of {latents} x {width} B"
    if server.launch.role is Role.DECODE:
        return Range(absorbed, absorbed, absorbed * FRAGMENTATION), reads
    token = _unfolded(attention, heads=heads, server=server)
    own = _own(server, attention, heads) / GIB
    first, one, several = (
        own + max(chunk, tokens) * token / GIB
        for tokens in (0, *(server.launch.unfolding.tokens(each) for each in (1, server.rows)))
    )
    best = max(absorbed, one)
    peak = Range(min(absorbed, first), best, max(best, several) * FRAGMENTATION)
    if absorbed > one:
        return peak, reads
    tokens = max(chunk, server.launch.unfolding.tokens(1))
    return (
        peak,
        f"{tokens:,} tokens x {token:,} B, keys and values of {heads} heads + {own:.2f} GiB",
    )


def _own(server: Server, attention: Mla, heads: int) -> int:
    """Bytes for the tokens of the step: the residual and the hidden state, queries, and two outputs that are merged."""
    query = attention.qk_nope_head_dim + attention.qk_rope_head_dim
    numbers = 2 * server.model.hidden + heads * (query + 2 * attention.v_head_dim)
    return server.step * numbers * (server.model.dtype_bits // 8)


def _unfolded(attention: Mla, *, heads: int, server: Server) -> int:
    """Bytes of one token: its latent, what that is projected to, and the keys with their rotary part."""
    width, stored = server.model.dtype_bits // 8, server.launch.kv_bytes
    key = attention.qk_nope_head_dim + attention.qk_rope_head_dim
    each = attention.qk_nope_head_dim + attention.v_head_dim + key
    latent = attention.kv_lora_rank + attention.qk_rope_head_dim
    copies = server.launch.unfolding.copies
    if copies is Copies.LATENT:
        return (heads * each + latent) * width
    if copies is Copies.TWICE:
        each += key + attention.v_head_dim
    gathered = latent * stored + (latent * width if stored < width else 0)
    return (heads * each + attention.kv_lora_rank) * width + gathered


def _absorbed(server: Server, attention: Mla, heads: int) -> int:
    """Bytes of a step that attends to latents: queries in three forms, the output in two, and padded copies of both."""
    rank, rope = attention.kv_lora_rank, attention.qk_rope_head_dim
    query = attention.qk_nope_head_dim + rope
    whole = heads * (query + rank + (rank + rope) + rank + attention.v_head_dim)
    padded = _padded(server, heads)
    if padded > heads:
        whole += padded * (rank + rope + rank) - heads * rank
    numbers = 2 * server.model.hidden + whole
    return server.step * numbers * (server.model.dtype_bits // 8)


def _padded(server: Server, heads: int) -> int:
    """Heads as FlashMLA's kernels pad them: the sparse one, where the cache is in 16 bits, and on Hopper the one for fp8."""
    hopper = generation(server.gpu) < _BLACKWELL
    if not is_sparse(server.model) or platform(server.gpu) is not Platform.CUDA:
        return heads
    if server.launch.kv_bytes == 1:
        padded = hopper and at_least(server.launch.version, _PADDED_FP8_SINCE)
        return max(heads, _PADDED_HEADS) if padded and heads <= _PADDED_HEADS else heads
    needed = _PADDED_HEADS if hopper else _PADDED_HEADS_BLACKWELL
    return max(heads, needed) if heads % needed else heads
