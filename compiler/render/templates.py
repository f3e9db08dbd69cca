"""The templates, and the guard that lets nothing into a file that no encoder made. Alone in using jinja2."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import compiler
from compiler.quoting import encoders, markdown


if TYPE_CHECKING:
    from jinja2 import Environment


def fill(template: str, **values: object) -> str:
    """The template with its values, each through an encoder.

    Raises:
        Unrepresentable: when a value cannot be written where the template puts it.
        TypeError: when a template prints a value without an encoder.
    """
    return _environment(folder()).get_template(template).render(values)


def verbatim(file: str) -> str:
    """The text of a file that is copied as it is.

    Raises:
        FileNotFoundError: when Poolproof was installed without it.
    """
    path = folder() / file
    if not path.is_file():
        raise FileNotFoundError(
            f"`{file}` is missing from the templates; this is a bug in how Poolproof was packaged"
        )
    return path.read_bytes().decode()


def folder() -> Path:
    """Where the templates are: inside the package when installed, beside it in a checkout."""
    package = Path(compiler.__file__).parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


@cache
def _environment(templates: Path) -> Environment:
    # Loading jinja2 takes longer than a whole `check`, which renders nothing.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(templates, encoding="utf-8"),
        undefined=StrictUndefined,
        finalize=_encoded_only,
        autoescape=False,  # noqa: S701 - no HTML; the guard refuses what is not encoded for its own place
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
    )
    filters = (
        encoders.comment,
        encoders.env_file_line,
        markdown.markdown_cell,
        markdown.html_text,
        markdown.markdown_code,
        markdown.markdown_code_cell,
        markdown.markdown_lines,
        markdown.markdown_text,
        encoders.environment_file_path,
        encoders.exec_command,
        encoders.exec_words,
        encoders.shell_assignment,
        encoders.shell_words,
        encoders.unit_text,
    )
    environment.filters.update({each.__name__: each for each in filters})
    return environment


def _encoded_only(value: object) -> object:
    """Let through what an encoder made; anything else is a mistake in a template."""
    if isinstance(value, encoders.Encoded):
        return value
    raise TypeError(f"a template prints {value!r} without an encoder")
