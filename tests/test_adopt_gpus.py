"""Which GPUs a container has, and what else of it is listed whole."""

from __future__ import annotations

import pytest

from compiler.adopt.around import Wanted
from compiler.engines.adopting import ChangeKind
from launching import SERVER, Outcome, outcome, read_text


IMAGE = "lmsysorg/sglang:v0.5.11"


def compose(text: str, *, environment: str = "") -> str:
    return f"services:\n  a:\n    image: {IMAGE}\n    command: {SERVER} --model-path /m/a --tp 2\n{text}{environment}"


def reserved(text: str) -> str:
    return compose(
        f"    deploy:\n      resources:\n        reservations:\n          devices:\n            - {text}\n"
    )


def run(options: str) -> str:
    return f"podman run {options} {IMAGE} {SERVER} --model-path /m/a --tp 2\n"


def quadlet(lines: str) -> str:
    return f"[Container]\nImage={IMAGE}\nExec={SERVER} --model-path /m/a --tp 2\n{lines}\n"


def adopted(file: str, text: str) -> Outcome:
    got = outcome(read_text(text, name=file), wanted=Wanted(engine=("sglang", "0.5.11")))
    assert got.codes == []
    return got


ASKED = {
    "device_ids": ("a.yaml", reserved('{driver: nvidia, device_ids: ["2", "3"], capabilities: [gpu]}'), [2, 3]),
    "Compose's gpus": ("a.yaml", compose('    gpus:\n      - device_ids: ["2", "3"]\n'), [2, 3]),
    "Compose's devices": ("a.yaml", compose("    devices: [nvidia.com/gpu=2, nvidia.com/gpu=3]\n"), [2, 3]),
    "a runtime's variable": ("a.yaml", compose("    environment:\n      NVIDIA_VISIBLE_DEVICES: 2,3\n"), [2, 3]),
    "a list": ("a.sh", run('--gpus "device=4,5"'), [4, 5]),
    "a list in quotes of its own": ("a.sh", run("""--gpus '"device=4,5",capabilities=utility'"""), [4, 5]),
    "a list behind =": ("a.sh", run("--gpus=device=4,5"), [4, 5]),
    "two devices": ("a.sh", run("--device nvidia.com/gpu=0 --device=nvidia.com/gpu=3"), [0, 3]),
    "files of devices": ("a.sh", run("--device /dev/nvidia4 --device /dev/nvidia5:/dev/nvidia5"), [4, 5]),
    "a variable inside": ("a.sh", run("--gpus device=4,5,6,7 -e CUDA_VISIBLE_DEVICES=1,3"), [5, 7]),
    "a quadlet": ("a.container", quadlet("AddDevice=nvidia.com/gpu=1\nAddDevice=-nvidia.com/gpu=2"), [1, 2]),
    "a quadlet's own arguments": ("a.container", quadlet("PodmanArgs=--gpus device=1,2"), [1, 2]),
    "all": ("a.sh", run("--gpus all"), None),
    "every device": ("a.container", quadlet("AddDevice=nvidia.com/gpu=all"), None),
    "a count of all": ("a.yaml", reserved("{driver: nvidia, count: all, capabilities: [gpu]}"), None),
    "a count": ("a.yaml", reserved("{count: 2, capabilities: [gpu]}"), None),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_the_gpus_of_a_container(name: str) -> None:
    """They are `gpus.indices`, all of the host's where none is named, and nothing about them is listed as lost."""
    file, text, indices = ASKED[name]
    got = adopted(file, text)
    assert got.settings["gpus.count"] == 2
    assert got.settings.get("gpus.indices") == indices
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    for each in ("gpu=", "device", "Device", "deploy", "PodmanArgs"):
        assert each not in dropped


OTHERS = {
    "a GPU without an index": ("a.sh", run("--gpus device=GPU-3a23c669"), "`--gpus device=GPU-3a23c669`"),
    "a slice of a GPU": ("a.sh", run("--device nvidia.com/gpu=0:1"), "`--device nvidia.com/gpu=0:1`"),
    "another device": ("a.container", quadlet("AddDevice=/dev/infiniband"), "`AddDevice=/dev/infiniband`"),
    "another driver": ("a.yaml", reserved("{driver: cdi, device_ids: [x.org/y=0]}"), "driver: cdi, device_ids: [x.org/y=0]"),
    "arguments beside": ("a.container", quadlet("PodmanArgs=--gpus all --shm-size 8g"), "`PodmanArgs=--gpus all --shm-size 8g`"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_device_that_is_not_carried_is_listed_whole(name: str) -> None:
    """What has no index stands among what is dropped."""
    file, text, shown = OTHERS[name]
    got = adopted(file, text)
    assert "gpus.indices" not in got.settings
    assert shown in "\n".join(got.changes(ChangeKind.DROPPED))


def test_what_stands_beside_the_gpus_is_listed() -> None:
    """Of `deploy:` the rest is said, each part by its name."""
    text = reserved('{driver: nvidia, device_ids: ["2", "3"], capabilities: [gpu]}')
    got = adopted("a.yaml", f"{text}        limits:\n          memory: 64G\n")
    assert got.settings["gpus.indices"] == [2, 3]
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    assert "`deploy.resources.limits: memory: 64G`" in dropped
    assert "device_ids" not in dropped


def test_a_long_line_is_listed_whole() -> None:
    """Nothing is cut in the middle, neither of a service nor of a unit."""
    folder = "/srv/" + "a" * 200
    got = adopted("a.yaml", compose(f"    volumes: ['{folder}:/m']\n"))
    assert f"{folder}:/m" in "\n".join(got.changes(ChangeKind.DROPPED))
    got = adopted("a.container", quadlet(f"[Unit]\nRequiresMountsFor={folder}"))
    assert folder in "\n".join(got.changes(ChangeKind.DROPPED))


def test_a_container_with_more_than_the_layout_takes() -> None:
    """Ranks are put on the first GPUs, and that is said; where a flag chooses among them, all are kept."""
    got = adopted("a.sh", run("--gpus device=4,5,6"))
    assert got.settings["gpus.indices"] == [4, 5]
    assert "of the container's 3 GPUs" in "\n".join(got.changes(ChangeKind.ASSUMED))
    got = adopted("a.sh", f"{run('--gpus device=4,5,6').rstrip()} --base-gpu-id 1\n")
    assert got.settings["gpus.indices"] == [4, 5, 6]


def test_a_variable_with_more_than_the_layout_takes() -> None:
    """The server starts on the first of them, so that nothing is refused, and what is taken is said."""
    got = adopted("a.sh", f"CUDA_VISIBLE_DEVICES=4,5,6 {SERVER} --model-path /m/a --tp 2\n")
    assert got.settings["gpus.indices"] == [4, 5]
    assert "the layout takes the first 2" in "\n".join(got.changes(ChangeKind.ASSUMED))


@pytest.mark.parametrize(
    ("value", "indices"),
    [("4,5", [4, 5]), ("4, 5", [4, 5]), ("4,5,-1", [4, 5]), ("4,4", None), ("", None), ("GPU-1,GPU-2", None)],
)  # fmt: skip
def test_a_variable_is_read_as_cuda_does(value: str, indices: list[int] | None) -> None:
    """What is shown has indices or names; what shows nothing stays as it is, and is judged so."""
    got = adopted("a.sh", f"CUDA_VISIBLE_DEVICES='{value}' {SERVER} --model-path /m/a --tp 2\n")
    assert got.settings.get("gpus.indices") == indices
    assert got.settings.get("env.CUDA_VISIBLE_DEVICES") == (value if indices is None else None)


def test_a_variable_that_counts_further_than_the_container() -> None:
    """A GPU that the container does not have is spoken of."""
    got = adopted("a.sh", run("--gpus device=4,5 -e CUDA_VISIBLE_DEVICES=4,5"))
    assert got.settings["gpus.indices"] == [4, 5]
    assert "does not have" in "\n".join(got.changes(ChangeKind.DROPPED))


def test_one_of_several_nodes() -> None:
    """Its profile is one node's: `gpus.count` counts all nodes, and the others are told of."""
    text = f"CUDA_VISIBLE_DEVICES=0,1 {SERVER} --model-path /m/a --tp 4 --nnodes 2 --node-rank 0 --dist-init-addr h:1\n"
    got = outcome(read_text(text), version=None)
    assert got.settings["gpus.count"] == 4
    assert got.settings["gpus.indices"] == [0, 1]
    assert any("one of 2 nodes" in each for each in got.changes(ChangeKind.ASSUMED))
    alone = outcome(read_text(f"{SERVER} --model-path /m/a --tp 4 --nnodes 1\n"), version=None)
    assert not any("nodes" in each for each in alone.changes(ChangeKind.ASSUMED))


@pytest.mark.parametrize(("gpu", "is_said"), [("rtx-4060-ti", True), ("rtx-4090", False)])
def test_a_card_whose_name_says_no_size_is_assumed(gpu: str, is_said: bool) -> None:  # noqa: FBT001 - a parameter of a case
    """Of cards of several sizes with one name the catalogue's is taken, and that is said."""
    wanted = Wanted(gpu=gpu, engine=("sglang", "0.5.11"))
    got = outcome(read_text(f"{SERVER} --model-path /m/a\n"), wanted=wanted)
    told = [each for each in got.changes(ChangeKind.ASSUMED) if "has the same name" in each]
    assert len(told) == is_said
    assert all("--gpu-memory" in each for each in told)
