"""Poolproof: TOML deployment profiles in, reviewed systemd units out."""

__version__ = "0.1.0"
