"""What stands beside a launch: references to secrets, names of a network, labels of GPUs, folders, users, and places."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from compiler.adopt.compiling import left_to_say
from compiler.adopt.files import Files
from compiler.adopt.objects import named_gpu
from compiler.adopt.reading import Read, read_file
from compiler.adopt.showing import cover, secret_findings
from compiler.adopt.writing import adopted_toml
from compiler.diagnostics import Severity
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from launching import SERVER, SHELF, outcome, read_text, tree


TOKEN = "hf_" + "abcdefghijklmnopqrstuvwx"
COMPOSE = f"""\
services:
  llm:
    image: lmsysorg/sglang:v0.5.11
    environment:
      - HF_TOKEN=${{HF_TOKEN}}
      - ENC=/enc
    volumes: ["./enc:/enc:ro", "/srv/models:/models"]
    command: {SERVER} --model-path /models/a --dist-init-addr llm:5000
  web:
    image: web
    environment: {{API: "http://llm:30000/v1", OTHER: "http://llms:30000", KEY: "http://me:pw123456@llm:30000"}}
    depends_on: [llm]
"""
STATEFUL = """\
apiVersion: v1
kind: Service
metadata: {name: head}
spec: {clusterIP: None}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: deep}
spec:
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
        - name: a
          image: lmsysorg/sglang:v0.5.11
          env:
            - {name: CACHE_URL, value: "redis://cache.other.svc.cluster.local:6379"}
            - {name: OUTSIDE, value: "https://example.com:443"}
          command: [python3, -m, sglang.launch_server, --model-path, /m/a, --dist-init-addr, "deep-0.head:20000"]
"""


def read_private(
    text: str, files: Mapping[str, str], *, private: bool, here: str | None = None
) -> Read:
    """Read a compose file whose other files are private, or not."""
    several: Files = evolve(tree(files), is_private=lambda _: private, here=here)
    return read_file(Source("c/compose.yml", text), files=several, given={})


@pytest.mark.parametrize("private", [True, False])
def test_a_reference_to_a_secret_is_none(private: bool) -> None:  # noqa: FBT001 - a parameter of a case
    """What names a variable of `.env` holds no secret: it is never refused, and the value is shown nowhere."""
    done = outcome(read_private(COMPOSE, {"c/.env": f"HF_TOKEN={TOKEN}\n"}, private=private))
    assert done.adopted is not None
    found = list(secret_findings(done.adopted))
    assert [each.severity for each in found] == ([] if private else [Severity.WARNING])
    told = done.changes(ChangeKind.SECRET)
    assert any("`c/.env` stays as it is on the host" in each for each in told)
    assert TOKEN not in done.text


def test_a_secret_that_has_another_name_in_its_file() -> None:
    """A file of the host sets the name that it has itself."""
    text = COMPOSE.replace("${HF_TOKEN}", "${TOKEN_OF_HF}")
    done = outcome(read_private(text, {"c/.env": f"TOKEN_OF_HF={TOKEN}\n"}, private=True))
    assert any(
        "has it as `TOKEN_OF_HF`: set `HF_TOKEN`" in e for e in done.changes(ChangeKind.SECRET)
    )


def test_the_name_of_a_file_is_shown_and_a_secret_is_not() -> None:
    """Of a secret in a file the file's name is quoted; one that stands in the text itself is covered."""
    text = COMPOSE.replace("    environment:\n", "    env_file: .env\n    environment:\n", 1)
    for written, is_shown in ((text.replace("${HF_TOKEN}", "x"), True), (text, True)):
        done = outcome(read_private(written, {"c/.env": f"HF_TOKEN={TOKEN}\n"}, private=True))
        assert done.adopted is not None
        sources = cover(done.read.sources, done.adopted.secrets, hidden=done.adopted.hidden)
        assert ("env_file: .env" in sources["c/compose.yml"].text) is is_shown
    done = outcome(read_private(COMPOSE.replace("${HF_TOKEN}", TOKEN), {}, private=True))
    assert done.adopted is not None
    assert [each.code for each in secret_findings(done.adopted)] == ["secret-in-env"]
    sources = cover(done.read.sources, done.adopted.secrets, hidden=done.adopted.hidden)
    assert TOKEN not in sources["c/compose.yml"].text


def test_names_that_only_compose_resolves() -> None:
    """A name of a service is none on the host: neither in the launch, nor for those that call it."""
    done = outcome(read_text(COMPOSE, name="compose.yml"))
    assert any("`llm` is a name that only Compose" in e for e in done.changes(ChangeKind.UNKNOWN))
    calls = [e for e in done.changes(ChangeKind.DROPPED) if "calls this one" in e]
    assert [each.split("`")[3] for each in calls] == ["http://llm:30000"]
    assert "pw123456" not in "".join(calls)


def test_names_that_only_a_cluster_resolves() -> None:
    """The Service that gives a name stays behind; an address of the world is one on the host, too."""
    done = outcome(read_text(STATEFUL, name="a.yaml"))
    told = [e for e in done.changes(ChangeKind.UNKNOWN) if "only the cluster resolves" in e]
    assert ["deep-0.head" in e or "cache.other.svc" in e for e in told] == [True, True]
    assert any("the Service `head`" in each for each in done.changes(ChangeKind.DROPPED))


def test_a_label_names_the_gpu() -> None:
    """What a cluster's labeller writes is the driver's name, of which the catalogue is sure."""
    done = outcome(read_text(STATEFUL, name="a.yaml"))
    assert done.settings["gpus.kind"] == "h100"
    other = outcome(read_text(STATEFUL.replace("HBM3", "HBM9"), name="a.yaml"))
    assert other.settings["gpus.kind"] == "unknown"
    assert any("say its kind, `--gpu KIND`" in e for e in other.changes(ChangeKind.UNKNOWN))


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("nvidia.com/gpu.product: NVIDIA-H200", "h200"),
        ("nvidia.com/gpu.product: NVIDIA-L40S", "l40s"),
        ("nvidia.com/gpu.product: NVIDIA-L40S-SHARED", None),
        ("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", None),
        ("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB", "a100"),
        ("nvidia.com/gpu.product: NVIDIA-H100-PCIe", "h100-pcie"),
        ("nvidia.com/gpu.product: NVIDIA-H100", None),
        ("amd.com/gpu.product-name: AMD_Instinct_MI300X_OAM", "mi300x"),
        ("amd.com/gpu.product-name: AMD_Instinct_MI300X_VF", None),
        ("cloud.google.com/gke-accelerator: nvidia-l4", "l4"),
        ("cloud.google.com/gke-accelerator: nvidia-h100-80gb", "h100"),
        ("cloud.google.com/gke-accelerator: nvidia-tesla-a100", None),
        ("cloud.google.com/gke-accelerator: nvidia", None),
    ],
)
def test_a_label_is_taken_where_one_kind_has_its_name(label: str, kind: str | None) -> None:
    """A part of a GPU, another form of a card, and a name that several have are asked for."""
    assert named_gpu(label, SHELF.catalog) == kind


def test_a_folder_beside_a_compose_file_is_known() -> None:
    """Compose takes `./enc` from where its file lies; a variable that holds the path inside is the host's then."""
    done = outcome(read_private(COMPOSE, {}, private=True, here="/srv/work"))
    assert done.settings["env.ENC"] == "/srv/work/c/enc"
    assert any(
        "is `/srv/work/c` here; say another, `--var PWD=" in e
        for e in done.changes(ChangeKind.ASSUMED)
    )
    unknown = outcome(read_private(COMPOSE, {}, private=True))
    assert unknown.settings["env.ENC"] == "/enc"
    assert any(
        "`/enc` is the container's own path" in e for e in unknown.changes(ChangeKind.UNKNOWN)
    )


def test_paths_of_variables_are_told_of() -> None:
    """A path that nothing mounts, and one of several in a variable, are not taken over in silence."""
    text = f"docker run -v /a:/b -e X=/c/d -e Y=/b/e:/f sglang:v0.5.11 {SERVER} --model-path /b/m\n"
    done = outcome(read_text(text))
    assert any("`/c/d`" in each for each in done.changes(ChangeKind.ASSUMED))
    assert any(
        "`/b/e:/f` has paths of the container" in e for e in done.changes(ChangeKind.UNKNOWN)
    )


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("a.sh", f"{SERVER} --model-path /m/a\n", True),
        ("compose.yml", COMPOSE, True),
        ("a.service", f"[Service]\nExecStart=/v/bin/{SERVER} --model-path /m/a\n", False),
    ],
)
def test_who_runs_it_is_left_to_decide(name: str, text: str, is_told: bool) -> None:  # noqa: FBT001 - a parameter of a case
    """A launch that is no unit does not say its user, and the unit of its profile would run as root."""
    done = outcome(read_text(text, name=name))
    assert done.adopted is not None
    left = left_to_say(adopted_toml(done.adopted, whole=True), done.adopted, SHELF.catalog)
    assert any("runs as root: set `user =" in each.text for each in left) is is_told


def test_places_of_a_makefile() -> None:
    """A value of a variable is shown where the variable is set, one of the recipe in the recipe."""
    text = f"ARGS = --dp 2 --tp 4\nARGS += --page-size 64\nrun:\n\t@echo 4\n\t{SERVER} --model-path /m/a --port 81 $(ARGS)\n"
    done = outcome(read_text(text, name="Makefile"))
    assert done.adopted is not None
    spans = {".".join(each.path): each.span for each in done.adopted.settings}
    placed = {
        name: (span.line, span.column, span.end_column)
        for name in ("parallel.tensor", "memory.page_size", "serve.port")
        if (span := spans[name]) is not None
    }
    assert placed == {
        "parallel.tensor": (1, 20, 21),
        "memory.page_size": (2, 21, 23),
        "serve.port": (5, 59, 61),
    }


def test_the_place_of_a_variable_that_one_target_sets() -> None:
    """A value is shown on the line of the target whose recipe is read, not on another target's."""
    text = (
        f"other: ARGS = --tp 4\nrun: ARGS := --tp 4\nrun:\n\t{SERVER} --model-path /m/a $(ARGS)\n"
    )
    done = outcome(read_text(text, name="Makefile"))
    assert done.adopted is not None
    (span,) = [each.span for each in done.adopted.settings if each.path == ("parallel", "tensor")]
    assert span is not None
    assert (span.line, span.column) == (2, 19)
