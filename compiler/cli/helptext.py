"""What the help of several verbs says alike: which unit is meant, and lines to type."""

from __future__ import annotations


_UNIT = (
    "UNIT is the name of a service, with or without `.service`, as `switch` and `status` print it: its target's `unit`, "
    "else one made of the name that its model is served by."
)
KEPT_UNIT = (
    f"{_UNIT} Give the folder of its generations in its place where two services have one name, and of a service that was "
    "retired and whose target has a `state_dir` of its own."
)
"""Of the verbs that look for generations."""
RUNNING_UNIT = (
    f"Say which server: exactly one of --unit, --url, --log, and `-`. {_UNIT} One that `switch` installed has its plan "
    "beside its file, which names its address and its key's file; of any other unit, and of a URL or a log, name the plan by --plan or "
    "--profile"
)
"""Of the verbs that look at a server; how the sentence ends is each one's own."""


def epilog(*said: str, such_as: tuple[str, ...]) -> str:
    """Paragraphs, and lines to type that stand as they are."""
    lines = "\n".join(("\b", "Such as:", *(f"  poolproof {each}" for each in such_as)))
    return "\n\n".join((*said, lines))
