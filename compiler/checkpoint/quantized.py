"""The `quantization_config` of a config in; the number formats by role out.

Which key says what: SGLang 0.5.11 layers/quantization/*.py (`from_config`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from compiler.architecture import Format, Quantization, Role
from compiler.checkpoint.exceptions import faults_of
from compiler.checkpoint.keys import Keys
from compiler.checkpoint.modules import MODULES, Naming, is_meant, left_out, most_common, plain
from compiler.checkpoint.packed import awq, gptq, odd_numbers


_BLOCK = 2
_EXPERTS_ONLY = "mxfp4"
_FP8_KV = "fp8_e4m3"


def quantization_of(
    keys: Keys,
    *,
    layers: int,
    roles: Mapping[Role, int],
    naming: Naming,
    scale_bits: int = 32,
) -> Quantization | None:
    """How the checkpoint is quantized; a fault when its method is not understood.

    `roles` are those the model has, with how many layers have each; `scale_bits` those of the scale of a block in fp8;
    `naming` is how its modules are called.
    """
    table = keys.table("quantization_config")
    if table is None:
        return None
    method = _method(table)
    if table.get("quant_algo") == _MIXED:
        return _mixed(keys, table, layers=layers, roles=roles, scale_bits=scale_bits)
    odd = tuple(odd_numbers(method, table, hidden=keys.values.get("hidden_size")))
    if odd:
        keys.faults += odd
        return None
    reader = _READERS.get(method)
    stored = None if reader is None else reader(table)
    if stored is None:
        keys.faults.append(_not_read(method))
        return None
    exceptions = _exceptions(table)
    faults = tuple(faults_of((*exceptions, *_targets(table))))
    if faults:
        keys.faults += faults
        return None
    candidates = roles.keys() & ({Role.EXPERTS} if method == _EXPERTS_ONLY else MODULES.keys())
    kept = tuple(
        role
        for role in Role
        if role in candidates
        and not left_out(role, exceptions, layers=layers, having=roles[role], naming=naming)
    )
    name = "modelopt_fp4" if stored == _NVFP4 else method
    if method == "fp8" and "scale_bits" in stored:
        stored = {**stored, "scale_bits": scale_bits}
    apart = _narrow_experts(keys, table) if Role.EXPERTS in kept else ()
    alike = tuple(role for role in kept if not (apart and role is Role.EXPERTS))
    formats = (*_formats(table, stored, alike, layers=layers), *apart)
    return Quantization(method=name, formats=formats, kv_cache=_kv_cache(table))


def _method(table: Mapping[str, Any]) -> str:
    """The method in small letters, as engines compare it (configs/model_config.py, `_verify_quantization`)."""
    return str(table.get("quant_method") or ("modelopt" if table.get("quant_algo") else "")).lower()


def _not_read(method: str) -> str:
    """Why a method gives no number formats."""
    if not method:
        return "`quantization_config.quant_method` is missing"
    if method in _READERS:
        return f"what `quantization_config` says of its method, `{method}`, is not understood"
    return f"the quantization `{method}` is not understood"


_MIXED = "MIXED_PRECISION"


def _mixed(
    keys: Keys,
    table: Mapping[str, Any],
    *,
    layers: int,
    roles: Mapping[Role, int],
    scale_bits: int,
) -> Quantization | None:
    """ModelOpt's, which lists the format of each module; where it changed some of a checkpoint in fp8, the others are that.

    From 0.5.15 on the engine takes a head that is listed (layers/quantization/modelopt_quant.py, `ParallelLMHead`).
    """
    listed = table.get("quantized_layers")
    if not isinstance(listed, Mapping) or not listed:
        keys.faults.append("`quantization_config.quantized_layers` is missing")
        return None
    words = {
        plain(name): str(each.get("quant_algo"))
        for name, each in listed.items()
        if isinstance(each, Mapping)
    }
    by_word: dict[str, tuple[Role, ...]] = {}
    rest: tuple[Role, ...] = ()
    for role, having in {Role.HEAD: 1, **roles}.items():
        word = most_common(role, words, layers=layers, having=having)
        if word is not None:
            by_word[word] = (*by_word.get(word, ()), role)
        elif role in MODULES:
            rest = (*rest, role)
    formats = []
    for word, meant in by_word.items():
        stored = _modelopt({"quant_algo": word})
        if stored is None:
            keys.faults.append(f"the quantization `{word}` is not understood")
            return None
        formats.append(Format(roles=meant, **stored))
    base = _fp8(table) if table.get("quant_method") == "fp8" else None
    if base is not None and "scale_bits" in base and rest:
        formats.append(Format(roles=rest, **{**base, "scale_bits": scale_bits}))
    return Quantization(method="modelopt_mixed", formats=tuple(formats), kv_cache=_kv_cache(table))


def _formats(
    table: Mapping[str, Any], stored: Mapping[str, int], roles: tuple[Role, ...], *, layers: int
) -> Iterator[Format]:
    """One format for all roles; of several groups each for the roles that are its targets, the first that has a role."""
    groups = table.get("config_groups")
    if not isinstance(groups, Mapping) or len(groups) == 1:
        if roles:
            yield Format(roles=roles, **stored)
        return
    left = roles
    for group in groups.values():
        targets = tuple(each for each in group.get("targets") or () if isinstance(each, str))
        meant = tuple(role for role in left if is_meant(role, targets, layers=layers))
        left = tuple(role for role in left if role not in meant)
        own = _group(group)
        if meant and own is not None:
            yield Format(roles=meant, **own)


def _narrow_experts(keys: Keys, table: Mapping[str, Any]) -> tuple[Format, ...]:
    """Experts in fp4 beside fp8, a scale for 32 values, as DeepSeek V4 has them (SGLang 0.5.12 layers/quantization/mxfp4.py)."""
    told = (each.get("expert_dtype") for each in (table, keys.values, keys.outer))
    if next(filter(None, told), None) != "fp4":
        return ()
    return (Format(roles=(Role.EXPERTS,), **_mxfp4(table)),)


_MXFP4_GROUP = 32
_NVFP4: Mapping[str, int] = {"bits": 4, "group_size": 16, "scale_bits": 8}
_WIDE = 8
_NVFP4_NAMES = ("NVFP4", "NVFP4_AWQ", "W4A16_NVFP4")


def _fp8(table: Mapping[str, Any]) -> Mapping[str, int] | None:
    block = table.get("weight_block_size")
    if block is None:
        return {"bits": 8}
    area = _area(block)
    return {"bits": 8, "group_size": area, "scale_bits": 32} if area else None


def _area(block: object) -> int:
    """The values of a block that has two sides; 0 for anything else."""
    if not isinstance(block, list) or len(block) != _BLOCK:
        return 0
    return prod(block) if all(type(each) is int and each > 0 for each in block) else 0


def _modelopt(table: Mapping[str, Any]) -> Mapping[str, int] | None:
    algorithm = str(table.get("quant_algo") or "")
    if algorithm in _NVFP4_NAMES:
        return _NVFP4
    if algorithm == "MXFP8":
        return _mxfp8(table)
    return {"bits": 8} if algorithm == "FP8" else None


def _mxfp4(_: Mapping[str, Any]) -> Mapping[str, int]:
    return {"bits": 4, "group_size": 32, "scale_bits": 8}


def _compressed(table: Mapping[str, Any]) -> Mapping[str, int] | None:
    """That of the first group; the others are told apart by what they are for."""
    groups = table.get("config_groups")
    found = [_group(each) for each in groups.values()] if isinstance(groups, Mapping) else []
    return found[0] if found and None not in found else None


def _group(group: object) -> Mapping[str, int] | None:
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(weights, Mapping):
        return None
    bits, group = weights.get("num_bits"), weights.get("group_size")
    if type(bits) is not int:
        return None
    if weights.get("type") == "float" and bits == 4:  # noqa: PLR2004 - MXFP4, or NVFP4
        return _mxfp4(weights) if group == _MXFP4_GROUP else _NVFP4
    if weights.get("strategy") == "group" and type(group) is int and group > 0:
        zero = {} if weights.get("symmetric") else {"zero_bits": bits}
        return {"bits": bits, "group_size": group, "scale_bits": 16, **zero}
    if weights.get("strategy") == "block":
        area = _area(weights.get("block_structure"))
        return {"bits": bits, "group_size": area, "scale_bits": 32} if area else None
    if weights.get("strategy") == "channel":
        return {"bits": bits, "scale_bits": 32 if bits == _WIDE else 16}
    return {"bits": bits}


def _quark(table: Mapping[str, Any]) -> Mapping[str, int] | None:
    """AMD's, where all layers have one format."""
    every = table.get("global_quant_config")
    weights = every.get("weight") if isinstance(every, Mapping) else None
    if not isinstance(weights, Mapping) or table.get("layer_quant_config"):
        return None
    kind = str(weights.get("dtype"))
    return _mxfp4(table) if kind == "fp4" else {"bits": 8} if kind.startswith("fp8") else None


def _mxfp8(_: Mapping[str, Any]) -> Mapping[str, int]:
    return {"bits": 8, "group_size": 32, "scale_bits": 8}


def _bitsandbytes(table: Mapping[str, Any]) -> Mapping[str, int]:
    """In four bits a scale for 64 values, in fp32 unless scales are quantized too."""
    if not (table.get("load_in_4bit") or table.get("_load_in_4bit")):
        return {"bits": 8}
    twice = table.get("bnb_4bit_use_double_quant") is True
    return {"bits": 4, "group_size": 64, "scale_bits": 8 if twice else 32}


_READERS = {
    "auto-round": gptq,
    "bitsandbytes": _bitsandbytes,
    "mxfp8": _mxfp8,
    "quark": _quark,
    "fp8": _fp8,
    "awq": awq,
    "gptq": gptq,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "mxfp4": _mxfp4,
    "compressed-tensors": _compressed,
}


def _exceptions(table: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in _EXCEPTIONS:
        values = table.get(name)
        if isinstance(values, list):
            found += [plain(each) for each in values if isinstance(each, str)]
    apart = table.get("extra_config")
    if isinstance(apart, Mapping):  # AutoRound: what has other bits, layer by layer
        found += [plain(name) for name, each in apart.items() if _is_plain(each)]
    return tuple(found)


def _targets(table: Mapping[str, Any]) -> tuple[str, ...]:
    """What the groups of compressed-tensors are for."""
    groups = table.get("config_groups")
    found = groups.values() if isinstance(groups, Mapping) else ()
    lists = [each.get("targets") for each in found if isinstance(each, Mapping)]
    return tuple(
        each for one in lists if isinstance(one, list) for each in one if isinstance(each, str)
    )


_EXCEPTIONS = (
    *("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"),
    *("exclude", "llm_int8_skip_modules"),
)
_PLAIN_BITS = 16


def _is_plain(values: object) -> bool:
    bits = values.get("bits") if isinstance(values, Mapping) else None
    return type(bits) is int and bits >= _PLAIN_BITS


def _kv_cache(table: Mapping[str, Any]) -> str | None:
    if str(table.get("kv_cache_quant_algo") or "").upper() == "FP8":
        return _FP8_KV
    scheme = table.get("kv_cache_scheme")
    if isinstance(scheme, str) and scheme.upper() == "FP8":
        return _FP8_KV
    if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8:  # noqa: PLR2004 - fp8
        return _FP8_KV
    return None
