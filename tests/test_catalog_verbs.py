"""`catalog show`, `add-gpu`, and `add-model`: what is offered for a name that is not there, and what is not known is said."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from checkouts import Checkout
from configs import CONFIGS


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("sglang", "these hold the word: `sglang@0.5.23`, `sglang@0.5.22`"),
        ("kimi", "these hold the word: `moonshotai/Kimi-Dev-72B`, `moonshotai/Kimi-K2-Instruct`"),
        ("rtx-4900", "a similar id exists: `rtx-4090`"),
        ("nope", "`poolproof catalog list` has all"),
    ],
)
def test_an_id_that_is_not_there(tree: Checkout, word: str, told: str) -> None:
    """Offered are the ids that hold the word, a release by its engine, or a slip's own id; never one that misleads."""
    done = tree.run("catalog", "show", word)
    assert done.code == 1
    assert f"the catalogue has no `{word}`; {told}" in done.err


@pytest.mark.parametrize(
    ("kind", "id_"),
    [
        ("gpus", "rtx-3090"),
        ("models", "Qwen/Qwen3-8B"),
        ("drafts", "z-lab/Kimi-K2.6-DFlash"),
        ("engines", "sglang@0.5.23"),
        ("boots", "public/glm47-fp8-8rtx6000-tp8"),
    ],
)
def test_a_kind_may_stand_before_the_id(tree: Checkout, kind: str, id_: str) -> None:
    """`show` takes the kinds that `list` does; under another kind there is no such entry."""
    shown = tree.run("catalog", "show", kind, id_)
    assert (shown.code, shown.out) == (0, tree.run("catalog", "show", id_).out)
    other = "gpus" if kind == "models" else "models"
    done = tree.run("catalog", "show", other, id_)
    assert (done.code, done.out) == (1, "")
    assert f"the catalogue has no `{id_}` among its {other}; " in done.err
    assert ("; it is of another kind" in done.err) == (kind != "engines")


def test_a_kind_alone_is_no_id(tree: Checkout) -> None:
    """It is told what lists the ids of a kind; what is no kind is a wrong use."""
    done = tree.run("catalog", "show", "gpus")
    assert (done.code, "`poolproof catalog list gpus` has their ids" in done.err) == (1, True)
    done = tree.run("catalog", "show", "cards", "rtx-3090")
    assert (done.code, "one of gpus, models, drafts, engines, boots before it" in done.err) == (
        2,
        True,
    )


def test_what_comes_as_code_is_shown(tree: Checkout) -> None:
    """A model's page tells which part of its checkpoint is code, and where that is from."""
    shown = tree.run("catalog", "show", "moonshotai/Kimi-K2.6").out
    assert "# As code" in shown
    assert "the tokenizer and the image processor; https://huggingface.co/" in shown
    assert "As code" not in tree.run("catalog", "show", "Qwen/Qwen3-8B").out


@pytest.mark.parametrize(
    ("id_", "like", "how"),
    [
        (
            "Qwen/Qwen3-4B-FP8",
            "Qwen/Qwen3-4B",
            "by its name in fp8 (8 bits in blocks of 128 x 128)",
        ),
        ("unsloth/Qwen3-8B", "Qwen/Qwen3-8B", "a copy of which it is by its name"),
        (
            "moonshotai/Kimi-K2.7-Code",
            "moonshotai/Kimi-K2.6",
            "whose shapes and number formats it has",
        ),
        ("lmsys/gpt-oss-20b-bf16", "openai/gpt-oss-20b", "by its name in 16 bits"),
    ],
)
def test_a_model_with_the_figures_of_another_is_shown(
    tree: Checkout, id_: str, like: str, how: str
) -> None:
    """Its page is that of the other, under whose figures these are and by what."""
    shown = tree.run("catalog", "show", id_)
    assert (shown.code, shown.err) == (0, "")
    said = f"# `{id_}` has no entry of its own: its figures are those of `{like}`, {how}\n"
    assert shown.out.startswith(said)
    assert shown.out.endswith(tree.run("catalog", "show", like).out)
    assert tree.run("catalog", "show", "models", id_).out == shown.out
    other = tree.run("catalog", "show", "drafts", id_)
    assert other.err == f"the catalogue has no `{id_}` among its drafts; it is of another kind\n"


def test_a_name_without_its_publisher_is_like_the_checkpoint_that_is_priced(tree: Checkout) -> None:
    """The one in the same number formats is named, not the model that it is made from."""
    shown = tree.run("catalog", "show", "Qwen3-4B-FP8")
    assert shown.err.endswith("a similar id exists: `Qwen/Qwen3-4B-FP8`\n")


def test_an_entry_that_tells_of_its_code_is_shown_as_it_is(tree: Checkout) -> None:
    """However its line is written; the source of such an entry may stand for all of it."""
    write_folder(tree.root / "ckpt")
    assert tree.run("catalog", "add-model", "ckpt", "--id", "acme/x").code == 0
    path = tree.root / "profiles/catalog/models/acme--x.toml"
    text = f'custom_code="the tokenizer"\n{path.read_text("utf-8")}'
    path.write_text(text, "utf-8")
    shown = tree.run("catalog", "show", "acme/x")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.endswith(f"\n\n{text}")


def test_a_card_that_nobody_saw_start(tree: Checkout) -> None:
    """Without free memory a profile's pool is not told, and a prediction says what it assumes of the card."""
    words = ("--name", "A card", "--total-mib", "49140", "--compute-capability", "8.9")
    more = ("--multiprocessors", "142", "--interconnect", "pcie", "--source", "nvidia-smi")
    made = tree.run("catalog", "add-gpu", "our-48gb", *words, *more)
    assert made.code == 0
    assert "`predict` assumes what other cards leave free of such a total" in made.err
    command = ("python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B")
    told = tree.run("predict", "--gpu", "our-48gb", "--", *command).out
    assert "assumed: no log of a start on `our-48gb` is known: 47" in told
    seen = tree.run("predict", "--gpu", "l40s", "--", *command).out
    assert "no log of a start" not in seen


def write_folder(folder: Path, **beside: dict[str, object]) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIGS["microsoft/phi-4"]), "utf-8")
    for name, values in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(values), "utf-8")


def test_a_config_alone_describes_a_model(tree: Checkout) -> None:
    """A folder without weights will do; what is then not known is said, and the size of the files is not made up."""
    write_folder(tree.root / "ckpt")
    made = tree.run("catalog", "add-model", "ckpt", "--id", "acme/x")
    assert made.code == 0, made.err
    assert "not known are the size of the weight files" in made.err
    entry = tomllib.loads((tree.root / "profiles/catalog/models/acme--x.toml").read_text("utf-8"))
    assert entry["layers"] == 40
    assert "checkpoint_gb" not in entry
    assert "custom_code" not in entry
    command = ("python", "-m", "sglang.launch_server", "--model-path", "acme/x")
    assert tree.run("predict", "--gpu", "h100", "--", *command).out.startswith("pass")


def test_a_tokenizer_that_comes_as_code_is_told(tree: Checkout) -> None:
    """What `auto_map` names beside the config is in the entry, and a launch that does not trust it is warned of."""
    named: dict[str, object] = {"auto_map": {"AutoTokenizer": ["tokenization_x.X", None]}}
    write_folder(tree.root / "ckpt", tokenizer_config=named)
    assert tree.run("catalog", "add-model", "ckpt", "--id", "acme/x").code == 0
    entry = tomllib.loads((tree.root / "profiles/catalog/models/acme--x.toml").read_text("utf-8"))
    assert entry["custom_code"] == "the tokenizer"
    command = ("python", "-m", "sglang.launch_server", "--model-path", "acme/x")
    told = tree.run("predict", "--gpu", "h100", "--", *command).err
    assert "warning[code-untrusted]" in told


@pytest.mark.parametrize("text", ["", "{", "[]", '{"auto_map": 3}'])
def test_a_broken_file_beside_the_config_says_nothing(tree: Checkout, text: str) -> None:
    """Settings of a tokenizer that cannot be read are no reason to refuse the model."""
    write_folder(tree.root / "ckpt")
    (tree.root / "ckpt" / "tokenizer_config.json").write_text(text, "utf-8")
    assert tree.run("catalog", "add-model", "ckpt", "--id", "acme/x").code == 0


def test_a_pipe_beside_the_config_is_not_waited_for(tree: Checkout) -> None:
    """Nobody writes to it, and reading it would never end."""
    write_folder(tree.root / "ckpt")
    os.mkfifo(tree.root / "ckpt" / "tokenizer_config.json")
    assert tree.run("catalog", "add-model", "ckpt", "--id", "acme/x").code == 0


def test_a_folders_name_stays_in_its_comment(tree: Checkout) -> None:
    """A name may hold the end of a line, and what follows would be read as a key."""
    write_folder(tree.root / "odd\nlayers = 1")
    assert tree.run("catalog", "add-model", "odd\nlayers = 1", "--id", "acme/x").code == 0
    entry = tomllib.loads((tree.root / "profiles/catalog/models/acme--x.toml").read_text("utf-8"))
    assert entry["layers"] == 40


def test_weights_that_are_not_read_are_told(tree: Checkout) -> None:
    """Pickled weights are those of the config; GGUF has number formats that the config does not have, and is refused."""
    write_folder(tree.root / "ckpt")
    (tree.root / "ckpt" / "pytorch_model.bin").write_bytes(b"")
    made = tree.run("catalog", "add-model", "ckpt", "--id", "acme/x")
    assert made.code == 0
    assert "`pytorch_model.bin` is not read: not known are the size" in made.err
    (tree.root / "ckpt" / "model-q4.gguf").write_bytes(b"")
    refused = tree.run("catalog", "add-model", "ckpt", "--id", "acme/y")
    assert refused.code == 1
    assert "weights in GGUF are not read" in refused.err
    assert "model-q4.gguf" in refused.err


@pytest.mark.parametrize("id_", ["Qwen/Qwen3-32B", "acme/x"])
def test_an_entry_that_takes_the_place_of_a_shipped_one_is_said(tree: Checkout, id_: str) -> None:
    """A model of the catalogue is described anew knowingly, since every profile of the tree then goes by that."""
    write_folder(tree.root / "ckpt")
    made = tree.run("catalog", "add-model", "ckpt", "--id", id_)
    assert made.code == 0
    assert ("is in the shipped catalogue, too" in made.err) is (id_ == "Qwen/Qwen3-32B")


def test_a_config_stands_for_its_folder(tree: Checkout) -> None:
    """Who names the file that is read is understood."""
    write_folder(tree.root / "ckpt")
    made = tree.run("catalog", "add-model", "ckpt/config.json", "--id", "acme/x")
    assert made.code == 0, made.err
    assert (tree.root / "profiles/catalog/models/acme--x.toml").exists()


def test_a_gpu_is_known_in_any_case(tree: Checkout) -> None:
    """An id that differs in capitals only is the one that is meant, not an unknown card."""
    command = ("python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B")
    told = tree.run("predict", "--gpu", "H100", "--", *command)
    assert told.out == tree.run("predict", "--gpu", "h100", "--", *command).out
    assert told.out.startswith("pass")


def test_adopt_knows_a_gpu_in_any_case(tree: Checkout) -> None:
    """What `predict` takes, `adopt` takes, and writes it as the catalogue has it."""
    command = ("python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B")
    assert 'kind = "h100"' in tree.run("adopt", "--gpu", "H100", "--", *command).out
