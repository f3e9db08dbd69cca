"""Facts as data: GPUs, models, drafts, engine releases and builds, ours and a team's own; and a team's recorded boots."""

from compiler.catalog.lookup import Catalog, Kind, open_catalog
from compiler.catalog.shelves import FolderReader, Reader


__all__ = ["Catalog", "FolderReader", "Kind", "Reader", "open_catalog"]
