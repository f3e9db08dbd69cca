"""What two command lines of one release come to, side by side: where they say the same, and where not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.engines.adopting import Carried, Difference, Reading
from compiler.engines.sglang.arguments import Parsed
from compiler.engines.sglang.grouping import Group, argument


def same(carried: Carried, group: Group) -> bool:
    """Whether a flag that was carried is this one, with its words."""
    return carried.flag == group.full_name and carried.argument == argument(group.values)


def values_of(parsed: Parsed) -> Mapping[str, object]:
    """The settings; the file of `--config` where it is read, and nothing for one that is not."""
    return {**_settled(parsed.values), "config": parsed.config} if parsed.values else {}


def differences(reading: Reading, got: Parsed) -> Iterator[Difference]:
    """What a command line says otherwise than a launch that was read."""
    if got.refusal is not None:
        message = got.refusal.message
        yield Difference(dest="", wanted="a command that starts", found=message)
        return
    left, right = reading.values, values_of(got)
    for dest in sorted(left.keys() | right.keys()):
        # Secrets go into the file of `--config`.
        if left.get(dest) != right.get(dest) and not (dest == "config" and reading.secrets):
            yield Difference(dest=dest, wanted=left.get(dest), found=right.get(dest))


def _settled(values: Mapping[str, object]) -> Mapping[str, object]:
    """The values once the server has put a flag on its way out into its successor (0.5.22, `--enable-dp-attention`)."""
    if not values.get("enable_dp_attention") or "attn_dp_size" not in values:
        return values
    return {
        **values,
        "enable_dp_attention": False,
        "attn_dp_size": values["dp_size"],
        "dp_size": 1,
    }
