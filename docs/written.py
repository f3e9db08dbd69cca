"""Pages of the site that the product itself holds: what each finding means, and what the catalogue knows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from compiler.catalog import open_catalog
from compiler.catalog.lookup import Kind
from compiler.explain import codes, page
from compiler.quoting.markdown import markdown_cell, markdown_code


def write_pages(folder: Path) -> None:
    """Write them all anew below a folder that is nobody else's."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "codes").mkdir(parents=True)
    for code in codes():
        (folder / "codes" / f"{code}.md").write_text(page(code) or "", "utf-8")
    (folder / "codes.md").write_text("\n".join(_codes()) + "\n", "utf-8")
    (folder / "catalogue.md").write_text("\n".join(_catalogue()) + "\n", "utf-8")


def _codes() -> Iterator[str]:
    yield "# Findings"
    yield ""
    yield "Every finding has a code. `poolproof explain CODE` prints the same page."
    yield ""
    yield "```{toctree}"
    yield ":maxdepth: 1"
    yield ""
    yield from (f"codes/{each}" for each in codes())
    yield "```"


def _catalogue() -> Iterator[str]:
    catalog = open_catalog()
    yield "# Catalogue"
    yield ""
    yield "What is described. `poolproof catalog show ID` prints an entry with its sources; `poolproof catalog add-gpu`,"
    yield "`add-model`, and `add-engine` describe your own."
    yield ""
    yield "## Engines"
    yield ""
    for engine in catalog.engines():
        yield f"{engine}: {', '.join(catalog.versions(engine))}"
    yield ""
    yield "## GPUs"
    yield ""
    yield "| id | memory MiB | compute capability |"
    yield "|---|---|---|"
    for id_ in catalog.ids(Kind.GPU):
        gpu, _ = catalog.gpu(id_)
        if gpu is not None:
            yield f"| {markdown_code(id_)} | {gpu.total_mib:,} | {markdown_cell(gpu.compute_capability)} |"
    yield ""
    yield "## Models"
    yield ""
    yield "| id | layers | context |"
    yield "|---|---|---|"
    for id_ in catalog.ids(Kind.MODEL):
        model, _ = catalog.model(id_)
        if model is not None:
            yield f"| {markdown_code(id_)} | {model.layers} | {model.context or 0:,} |"
    yield ""
    yield "## Drafts"
    yield ""
    yield from (f"- {markdown_code(id_)}" for id_ in catalog.ids(Kind.DRAFT))
