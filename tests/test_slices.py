"""A slice of a GPU (MIG), wherever one is met: what is said is that it has an entry of its own or none, and no other card's figures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from checkouts import Checkout, run
from compiler.catalog.slices import is_slice


SHARED = Path(__file__).parent / "rules" / "shared"
UUID = "MIG-1f3c7a2e-0000-5555-8888-123456789abc"
NAME = "a100-mig-3g.40gb"
OWN = "describe it as a GPU of its own"
PROFILE = """schema = 1
extends = ["base/sglang-plain"]

[model]
id = "Qwen/Qwen3-8B"

[gpus]
kind = "{kind}"
count = 1
{indices}

[serve]
context = 8_192

[memory]
fraction = 0.8

{env}

[targets.a]
kind = "systemd"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """A tree with what the cases share."""
    shutil.copytree(SHARED, tmp_path / "profiles")
    return Checkout(tmp_path)


def said(tree: Checkout, *, kind: str = "h100", indices: str = "", env: str = "") -> str:
    """What a check says of a profile with these, on one line."""
    tree.write("slice", PROFILE.format(kind=kind, indices=indices, env=env))
    return " ".join(tree.run("check", "slice").err.split())


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (NAME, True),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", True),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", True),
        ("h100_3g.40gb", True),
        ("MIG 1c.3g.20gb", True),
        ("1g.10gb+me", True),
        ("a100-40gb", False),
        ("migrated", False),
        ("l40s-half", False),
        ("NVIDIA H100 80GB HBM3", False),
    ],
)
def test_a_slice_is_told_by_its_name(name: str, is_one: bool) -> None:  # noqa: FBT001 - a column
    """As the driver, a labeller, and people write it."""
    assert is_slice(name) is is_one


def test_a_kind_that_is_a_slice(tree: Checkout) -> None:
    """No card that is called alike is offered; how a slice is described is, and described so its memory is judged."""
    told = said(tree, kind=NAME)
    assert "warning[gpu-unknown]" in told
    assert "a slice of a GPU (MIG) has memory and multiprocessors of its own" in told
    assert f"{OWN}: `poolproof catalog add-gpu {NAME}`" in told
    assert "a known name is similar" not in told
    figures = ("--total-mib", "40000", "--multiprocessors", "42", "--compute-capability", "8.0")
    done = tree.run(
        *("catalog", "add-gpu", NAME, "--name", "NVIDIA A100-SXM4-80GB", *figures),
        *("--interconnect", "pcie", "--free-before", "38.0", "--source", "a test"),
    )
    assert done.code == 0, done.err
    assert "gpu-unknown" not in said(tree, kind=NAME)
    (plan,) = tree.run("check", "slice", "--json").json["plans"]
    assert (plan["verdict"], plan["free_before_load_gib"]["best"]) == ("pass", 38.0)
    text = tree.profile("slice").read_text("utf-8").replace("context =", "port = 31000\ncontext =")
    tree.write("other", text.replace("[targets.a]", '[targets.a]\nunit = "other"'))
    shared = " ".join(tree.run("check", "slice").err.split())
    assert "give each a target of its own name: slices of one host are not told apart" in shared
    assert "give each its own `gpus.indices`" not in shared
    whole = text.replace("[targets.a]", '[targets.a]\nunit = "other"').replace(NAME, "a100")
    tree.write("other", whole)
    told = " ".join(tree.run("check", "slice").err.split())
    assert "error[gpu-two-kinds]" in told
    assert "give each a target of its own name: slices of one host are not told apart" in told
    tree.write("other", text.replace("[targets.a]", "[targets.a-2]"))
    assert "share" not in tree.run("check", "slice").err


@pytest.mark.parametrize(
    ("where", "code", "setting"),
    [
        ({"indices": f'indices = ["{UUID}"]'}, "wrong-type", "gpus.indices"),
        ({"indices": f'indices = "{UUID}"'}, "wrong-type", "gpus.indices"),
        (
            {"env": f'[env]\nCUDA_VISIBLE_DEVICES = "{UUID}"'},
            "variable-owned",
            "env.CUDA_VISIBLE_DEVICES",
        ),
    ],
)
def test_the_uuid_of_a_slice(
    tree: Checkout, where: dict[str, str], code: str, setting: str
) -> None:
    """Where it stands in a profile, what is said is where it goes instead, and where the slice's memory is said."""
    told = said(tree, **where)
    assert f"error[{code}]" in told
    assert (
        f"a slice of MIG has no index: remove `{setting}`, and say which slice on the host" in told
    )
    assert f"{OWN} by `poolproof catalog add-gpu`" in told


def test_the_uuid_of_a_whole_gpu_among_indices(tree: Checkout) -> None:
    """That has an index, which the host tells."""
    told = said(tree, indices='indices = ["GPU-1f3c"]')
    assert "help: `nvidia-smi -L` on the host says which index `GPU-1f3c` has" in told
    assert "says which index" not in said(tree, indices='indices = ["zero"]')


def test_a_slice_that_is_asked_for(tree: Checkout) -> None:
    """`init`, `adopt`, and `predict` name no other card in its place; `predict` takes what it has, too."""
    words = ("--model", "Qwen/Qwen3-8B", "--count", "1", "--host", "a", "--gpu", NAME)
    server = ("--", "python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B")
    adopted = ("adopt", "--gpu", NAME, "--target", "a", *server)
    for each in (("init", "new", *words), adopted, ("predict", "--gpu", NAME, *server)):
        done = tree.run(*each)
        assert done.code == 2
        assert f"{OWN}: `poolproof catalog add-gpu {NAME}`" in done.err
        assert "a similar one" not in done.err
        assert ("`--gpu KIND --gpu-memory GIB`" in done.err) is (each[0] == "predict")


def test_a_command_that_is_shown_a_slice(tmp_path: Path) -> None:
    """It is not judged as a whole card in silence; where somebody says what the slice has, nothing is assumed."""
    command = (
        f"CUDA_VISIBLE_DEVICES={UUID} python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    )
    words = ("predict", "--gpu", "h100", "--engine", "0.5.11")
    told = "assumed: all of a `h100`, and the command names a slice of a GPU (MIG)"
    assert told in run(*words, "--", *command.split(), here=tmp_path).out
    sized = run(*words, "--gpu-memory", "38", "--", *command.split(), here=tmp_path)
    assert "a slice of a GPU" not in sized.out
    assert sized.code == 0, sized.err


def test_a_launch_that_is_shown_a_slice(tmp_path: Path) -> None:
    """What `adopt` leaves open says how a slice is described."""
    (tmp_path / "run.sh").write_text(
        f"export CUDA_VISIBLE_DEVICES={UUID}\n"
        "exec /opt/sglang/bin/python -m sglang.launch_server --model-path /m/Qwen3-8B --port 30000\n"
    )
    made = run("adopt", "run.sh", "--engine", "0.5.11", "--target", "a", here=tmp_path)
    assert "a slice of MIG has no index: remove `env.CUDA_VISIBLE_DEVICES`" in made.err
    assert OWN in made.err


def test_a_label_of_a_cluster_that_names_a_slice(tmp_path: Path) -> None:
    """A labeller writes `MIG` into the name: no whole card is taken for it, and it says so."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {
            "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb"},
            "containers": [
                {
                    "name": "a",
                    "image": "lmsysorg/sglang:v0.5.11",
                    "command": ["python3", "-m", "sglang.launch_server"],
                    "args": ["--model-path", "Qwen/Qwen3-8B"],
                }
            ],
        },
    }
    (tmp_path / "pod.yaml").write_text(json.dumps(pod))
    made = run("adopt", "pod.yaml", "--target", "a", here=tmp_path)
    assert 'kind = "unknown"' in made.out
    assert "names no GPU that is described for sure; a slice of a GPU (MIG) has memory" in made.err
