"""A file with a launch goes in; the release that it installs comes out, where it is one: `pip install "sglang[all]==0.4.6"`.

So a script does before its launch, and an image where it is built; a program names the image that it runs in.
"""

from __future__ import annotations

import re

from compiler.adopt.launch import Word
from compiler.engines.known import ENGINES
from compiler.source import Source


RELEASE = r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)"
"""As a package or a tag writes it."""


def pinned_release(source: Source, engine: str, *, of_images: bool) -> Word | None:
    """The one release of an engine that a file pins, with its place; `None` where it pins none, or several.

    `of_images`: a tag of an image counts, too, as it does where the launch has no image of its own. Comments do not.
    """
    pattern = rf"\b{re.escape(engine)}(?:\[[\w,\s-]*\])?\s*==\s*{RELEASE}"
    if of_images:
        names = "|".join(map(re.escape, ENGINES[engine].image_names))
        pattern += rf"|(?:{names})[\w.-]*:{RELEASE}"
    found = {
        next(filter(None, each.groups())): each
        for each in re.finditer(pattern, source.text)
        if "#" not in source.text[source.text.rfind("\n", 0, each.start()) + 1 : each.start()]
    }
    if len(found) != 1:
        return None
    ((version, match),) = found.items()
    return Word(text=version, span=source.span(match.start(), match.end()))
