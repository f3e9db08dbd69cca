"""The folder of a checkpoint in; the parts of it that come as code, as words of a sentence, out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compiler.checkpoint.headers import parse_json, regular_size


_LARGEST = 2**26
"""Of a tokenizer's settings; the largest hold a table of added tokens and have some megabytes."""
_FILES = {
    "tokenizer_config.json": ("AutoTokenizer", "the tokenizer"),
    "preprocessor_config.json": ("AutoImageProcessor", "the image processor"),
}
"""The key of `auto_map` that names a class in a Python file of the folder, and what it is."""


def code_brought(folder: Path) -> str:
    """`the tokenizer`; empty where no part comes as code, or no file tells."""
    return " and ".join(_parts(folder))


def _parts(folder: Path) -> Iterator[str]:
    for name, (key, part) in _FILES.items():
        path = folder / name
        try:
            values = parse_json(path.read_bytes()) if regular_size(path) <= _LARGEST else ""
        except OSError:
            continue
        named = values.get("auto_map") if isinstance(values, dict) else None
        if isinstance(named, dict) and key in named:
            yield part
