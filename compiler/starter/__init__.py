"""A team's first tree: profiles for their model and GPUs, and what a code host needs to review them."""

from compiler.starter.around import HOOKS, WORKFLOW, files_around, files_at_root
from compiler.starter.layouts import layouts, shared_attention
from compiler.starter.profiles import fragments, profile_files
from compiler.starter.reading import BesideReader, TextReader
from compiler.starter.wanted import FirstService, Layout


__all__ = [
    "HOOKS",
    "WORKFLOW",
    "BesideReader",
    "FirstService",
    "Layout",
    "TextReader",
    "files_around",
    "files_at_root",
    "fragments",
    "layouts",
    "profile_files",
    "shared_attention",
]
