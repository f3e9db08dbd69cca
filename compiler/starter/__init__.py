"""A team's first tree: profiles for their model and GPUs, and what a code host needs to review them."""

from compiler.starter.around import files_around
from compiler.starter.profiles import profile_files
from compiler.starter.reading import TextReader
from compiler.starter.wanted import FirstService


__all__ = ["FirstService", "TextReader", "files_around", "profile_files"]
