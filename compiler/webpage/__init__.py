"""The report: one HTML page for a tree, that needs no network and no scripts to be read."""

from compiler.webpage.page import render_page
from compiler.webpage.sweep import Point, Sweep, sweep


__all__ = ["Point", "Sweep", "render_page", "sweep"]
