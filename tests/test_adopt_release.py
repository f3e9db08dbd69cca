"""The release that a file installs, programs that are relatives of an engine, and launches that a page cuts short."""

from __future__ import annotations

import pytest

from launching import SERVER, outcome, read_text


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (f'pip install "sglang[all]==0.4.6.post5"\n{SERVER} --model-path /m/a\n', "0.4.6.post5"),
        (f"uv pip install sglang==0.5.9\n{SERVER} --model-path /m/a\n", "0.5.9"),
        (f"# sglang==0.4.6 does not do\n{SERVER} --model-path /m/a\n", "0.5.23"),
        (
            f"pip install sglang==0.5.9 || pip install sglang==0.5.6\n{SERVER} --model-path /m/a\n",
            "0.5.23",
        ),
        (f"docker pull lmsysorg/sglang:v0.5.9\n{SERVER} --model-path /m/a\n", "0.5.9"),
        (
            (
                "docker pull lmsysorg/sglang:v0.5.9\n"
                f"docker run lmsysorg/sglang:latest {SERVER} --model-path /m/a\n"
            ),
            "0.5.23",
        ),
        (f"docker run rocm/sgl-dev:v0.5.2-rocm700-mi35x {SERVER} --model-path /m/a\n", "0.5.2"),
    ],
)
def test_the_release_that_a_file_pins(text: str, version: str) -> None:
    """One that it installs is the launch's; a comment, several, and the tag of another image are not."""
    got = outcome(read_text(text), version=None)
    assert got.adopted is not None
    assert got.adopted.chosen.version == version


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "python -m sglang_router.launch_router --policy cache_aware\n",
            "router, which holds no model",
        ),
        (
            "python -m sglang_router.launch_server --model-path /m/a --dp-size 4\n",
            "a server behind it",
        ),
        ("sglang generate --model-path a/FLUX.1-dev --prompt x\n", "images and video"),
        ("bash -c 'python3 -m dynamo.sglang --model-path /m/a'\n", "a worker of Dynamo"),
        ("python -m sglang.bench_serving --model /m/a\n", "a benchmark"),
    ],
)
@pytest.mark.parametrize("form", ["{}", "```bash\n{}```\n"])
def test_a_relative_of_an_engine(text: str, what: str, form: str) -> None:
    """A program of an engine's family that is no server of it is called what it is."""
    got = outcome(read_text(form.format(text), name="a.md" if "```" in form else "a.sh"))
    (found,) = got.found
    assert found.code == "launch-missing"
    assert what in found.notes[0]


def test_a_launch_that_a_page_cuts_short() -> None:
    """A comment behind a backslash ends the launch of a page as it does that of a script."""
    text = f"```bash\n{SERVER} --model-path /m/a \\  # the model\n  --tp 2\n```\n"
    assert outcome(read_text(text, name="a.md")).codes == ["launch-cut"]


def test_a_manifest_that_a_page_hands_to_a_cluster() -> None:
    """A here-document in a block of a page is read as the file it becomes."""
    text = (
        "```bash\ncat <<'EOF' | kubectl apply -f -\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        "spec:\n  containers:\n    - name: a\n      image: lmsysorg/sglang:v0.5.9\n"
        "      command: [python3, -m, sglang.launch_server, --model-path, /m/a, --tp, '2']\nEOF\n```\n"
    )
    got = outcome(read_text(text, name="a.md"), version=None)
    assert got.settings["parallel.tensor"] == 2
    assert got.adopted is not None
    assert got.adopted.chosen.version == "0.5.9"
    span = got.adopted.launch.command.words[0].span
    assert span is not None
    assert (span.file, span.line) == ("a.md", 10)
