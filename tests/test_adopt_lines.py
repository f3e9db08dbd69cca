"""A line of a file says which of its launches is meant: any line of the part that is about one."""

from __future__ import annotations

import pytest

from launching import SERVER, outcome, read_text


COMPOSE = f"""\
services:
  a:
    image: lmsysorg/sglang:v0.5.11
    command: {SERVER} --model-path /m/a
    deploy: {{resources: {{limits: {{memory: 8g}}}}}}

  # the second
  b:
    image: lmsysorg/sglang:v0.5.11
    command: ["python3", "-m", "sglang.launch_server", "--model-path", "/m/b"]
volumes: {{}}
"""
PODS = """\
kind: Pod
spec:
  containers:
    - name: a
      image: lmsysorg/sglang:v0.5.11
      args: ["python3", "-m", "sglang.launch_server", "--model-path", "/m/a"]
      resources:
        limits: {nvidia.com/gpu: 2}
    - name: b
      image: lmsysorg/sglang:v0.5.11
      args: ["python3", "-m", "sglang.launch_server", "--model-path", "/m/b"]
      resources:
        limits: {nvidia.com/gpu: 2}
"""
PROGRAMS = f"""\
[supervisord]
nodaemon=true

[program:a]
user=a
command={SERVER} --model-path /m/a
autorestart=true

; the second
[program:b]
command={SERVER} --model-path /m/b
autorestart=true
"""
UNIT = f"""\
[Unit]
Description=a server

[Service]
User=a
ExecStart=/usr/bin/{SERVER} --model-path /m/a
[Install]
WantedBy=multi-user.target
"""
MAKEFILE = f"""\
a:
\techo one
\t{SERVER} --model-path /m/a

b:
\techo two
\t{SERVER} --model-path /m/b
"""
PAGE = f"""\
# One

```sh
echo one
{SERVER} --model-path /m/a
```

# Two

```yaml
services:
  b:
    image: lmsysorg/sglang:v0.5.11
    command: {SERVER} --model-path /m/b
    user: b
```
"""

FILES = {
    "compose.yaml": (COMPOSE, {"/m/a": range(2, 6), "/m/b": range(8, 11)}),
    "pods.yaml": (PODS, {"/m/a": range(4, 9), "/m/b": range(9, 14)}),
    "supervisord.conf": (PROGRAMS, {"/m/a": range(4, 8), "/m/b": range(10, 13)}),
    "a.service": (UNIT, {"/m/a": range(1, 9)}),
    "Makefile": (MAKEFILE, {"/m/a": range(2, 4), "/m/b": range(6, 8)}),
    "a.md": (PAGE, {"/m/a": range(4, 6), "/m/b": range(12, 16)}),
}


@pytest.mark.parametrize("name", FILES)
def test_any_line_of_a_part(name: str) -> None:
    """Each line of a service, a container, a section, a recipe, or a block means its command, and no other line does."""
    text, wanted = FILES[name]
    for line in range(1, text.count("\n") + 1):
        meant = next((path for path, lines in wanted.items() if line in lines), None)
        read = read_text(text, name=name, line=line)
        if meant is None:
            assert [each.code for each in read.diagnostics] == ["launch-missing"], line
        else:
            assert outcome(read, version=None).settings["model.path"] == meant, line


def test_a_line_of_no_launch() -> None:
    """What is said points at the line, and names the lines that are about a launch."""
    (found,) = read_text(COMPOSE, name="compose.yaml", line=7).diagnostics
    assert found.primary is not None
    assert found.primary.span.line == 7
    assert found.summary == "line 7 of this compose file is about no command that starts an engine"
    assert found.help == ("the launches are on lines 2 to 5 and 8 to 10",)


def test_a_line_behind_the_end() -> None:
    """A file that is shorter says so."""
    (found,) = read_text(f"{SERVER} --model-path /m/a\n", line=3).diagnostics
    assert found.summary == "this script has 1 line, and no line 3"
    assert found.help == ("the launch is on line 1",)


def test_launches_of_one_part_are_told_apart_by_their_words() -> None:
    """Of a block with two launches a line of neither means both, and is asked about."""
    text = f"```sh\n{SERVER} --model-path /m/a\n{SERVER} --model-path /m/b\necho\n```\n"
    assert (
        outcome(read_text(text, name="a.md", line=3), version=None).settings["model.path"] == "/m/b"
    )
    assert outcome(read_text(text, name="a.md", line=4)).codes == ["launch-several"]
