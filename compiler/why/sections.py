"""The template's own words that are in a file only where there is something to say: what makes each of them be there."""

from __future__ import annotations

from collections.abc import Mapping


FIXED = "the template's own words, which are there since"
_THERE: Mapping[str, str] = {
    "description": "the profile has a description",
    "pool": "the memory of this service is known",
    "findings": "something was found",
    "changes": "some change would mend what was found of its memory",
    "advice": "some change would mend what was found",
    "beside": "other services may run on its host",
    "shared": "other services share its GPUs",
    "cells": "it is not known which of several prices a token has",
    "unpriced": "the reserve pays for what has no figure",
    "accepted": "the profile accepts a finding",
    "assumptions": "something is taken for granted",
    "waits_for_network": "it is a unit of the system, and of no user",
    "probe": "a probe tells when the service is ready",
    "untold": "the probe compares no pool",
    "variables": "the service has variables",
    "user": "the service has a user",
    "environment_file": "the service has variables",
}
"""By the value that a template asks for."""
_ASKED = "?"
"""How the name of a piece begins that is not printed, and decides whether a line is there."""


def asked_for(name: str) -> str | None:
    """The value of a template that a line is there by; `None` for a piece that is printed."""
    return name.removeprefix(_ASKED) if name.startswith(_ASKED) else None


def reason_of_section(value: str) -> str:
    """Why the words are there that stand where a template has such a value."""
    return f"{FIXED} {_THERE.get(value, f'there is `{value}`')}"
