"""The site: `sphinx-build -W docs site`. Pages that the product itself holds are written from it on each build."""

from __future__ import annotations

import sys
from pathlib import Path


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from written import write_pages  # noqa: E402 - it stands beside this file

from compiler import __version__  # noqa: E402 - as above


project = "Poolproof"
author = "the Poolproof authors"
copyright = "the Poolproof authors"  # noqa: A001 - Sphinx's own name for it
release = __version__

extensions = ["myst_parser", "sphinx_click"]
myst_enable_extensions = ["linkify"]
myst_linkify_fuzzy_links = False
myst_heading_anchors = 3
exclude_patterns = ["site"]
html_theme = "furo"
html_title = "Poolproof"
html_copy_source = False
nitpicky = True
# Blocks that are drawings, units, or output have no language of their own.
highlight_language = "text"

write_pages(HERE / "from-the-product")
