"""The reference of settings and of recorded boots as Markdown, from the types themselves.

Write it anew with `python -m compiler.reference > docs/settings.md`; a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from compiler.facts import GIVEN_BY_PLACE, Boot
from compiler.language.settings import ANY_KEY, Setting, all_settings
from compiler.language.shapes import members_of, say_type
from compiler.quoting.markdown import markdown_cell


HEAD = """# Settings

A profile is TOML. Beside the tables below its file may hold `schema = 1`, `extends` (names of profiles, relative to
`profiles/`, without suffix), `unset` (settings to take away), `description`, and the tables `[defaults.*]` and `[force.*]`,
which hold settings at a lower and a higher level. `NAME` stands for a name of your own. Written by
`python -m compiler.reference`.

An editor with a TOML language server (Even Better TOML, taplo) completes and checks profiles from their JSON schema: run
`poolproof schema > profiles/schema.json`, and begin a file with the line `#:schema ./schema.json` (`../schema.json` in a
folder below). `poolproof schema --boot` is the same for recorded boots. `poolproof fmt` keeps that line on top.
"""
BOOTS = """
## Recorded boots

`profiles/boots/NAME.toml` holds what one start of a server was given and what its log printed. It fixes the weights for
that model, those GPUs, and that layout. Where a tree has none of a model on its kind of GPU, the public ones that come with
poolproof count (`poolproof catalog list boots`). A minimal one:

```toml
engine = "sglang"
version = "0.5.11"
model = "moonshotai/Kimi-K2.6"
gpu = "rtx-pro-6000-blackwell"
gpu_count = 8
tensor = 8
kv_dtype = "auto"
page_size = 1
fraction = 0.85
context = 200_000
pool_tokens = 101_134        # max_total_num_tokens of the log
source = "log of ct200, 2026-05-20"
```
"""


def reference() -> Iterator[str]:
    """The lines of the page."""
    yield HEAD
    table: str | None = None
    for setting in all_settings():
        name = ".".join("NAME" if part == ANY_KEY else part for part in setting.path[:-1])
        if name != table:
            table = name
            yield f"\n## [{name}]\n" if name else "## At the top\n"
            yield "| setting | type | default | meaning |\n|---|---|---|---|"
        yield _row(setting)
    yield BOOTS
    yield "| key | type | needed |\n|---|---|---|"
    for member in members_of(Boot):
        if member.name not in GIVEN_BY_PLACE:
            yield f"| `{member.name}` | {markdown_cell(say_type(member.type))} | {'yes' if member.required else 'no'} |"


def _row(setting: Setting) -> str:
    key = "NAME" if setting.path[-1] == ANY_KEY else setting.path[-1]
    unit = f", {setting.unit}" if setting.unit else ""
    return f"| `{key}` | {markdown_cell(setting.type + unit)} | {_default(setting)} | {markdown_cell(setting.help)} |"


def _default(setting: Setting) -> str:
    if setting.required:
        return "required"
    empty = setting.default is None or setting.default in ((), {})
    return (
        ""
        if empty
        else f"`{str(setting.default).lower() if isinstance(setting.default, bool) else setting.default}`"
    )


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in reference())
