"""No secret of a profile is repeated: not where its line is quoted, and not in what is said about it, on no way out."""

from __future__ import annotations

import pytest

from checkouts import REPOSITORY, STORY, Checkout
from compiler.concealing import concealed
from compiler.diagnostics import error


NAMED = "verysecretvalue99"
FORMED = "hf_MadeUpForThisCase99"
LINES = [
    ("serve", f'api_key = "{NAMED}"'),
    ("serve", f'admin_api_key = ["{NAMED}"]'),
    ("serve", f'api_key = {{ value = "{NAMED}" }}'),
    ("serve", f"api_key = {NAMED}"),
    ("model", f'ssl_keyfile_password = "{NAMED}"'),
    ("model", f'model_loader_extra_config = "{{\\"password\\": \\"{NAMED}\\"}}"'),
    ("force", f'serve.api_key = "{NAMED}"'),
    ("defaults", f'serve.api_key = "{NAMED}"'),
    ("flags", f'api-key = {{ append = ["{NAMED}"] }}'),
    ("flags", f'api-kez = "{NAMED}"'),
    ("flags", f'admin-api-keys = "{NAMED}"'),
    ("flags", f'apikez = ["{NAMED}"]'),
    ("flags", f'ssl-keyfile-pasword = "{NAMED}"'),
    ("serve", f'api_kye = "{NAMED}"'),
    ("env", f'OPENAI_API_KEZ = "{NAMED}"'),
    ("secrets", f'api_key = "{NAMED}"'),
    ("model", f'revision = "{FORMED}"'),
    ("memory", f'kv_dtype = "{FORMED}"'),
    ("flags", f'port = "{FORMED}"'),
    ("flags", f'served-model-name = "{FORMED}"'),
    ("flags", f'dist-init-addr = "{FORMED}"'),
    ("env", f'CUDA_VISIBLE_DEVICES = "{FORMED}"'),
    ("targets.ct200", f'start_timeout = "{FORMED}"'),
    ("serve", f'host = "https://user:{NAMED}@host"'),
]
WAYS = [
    ("check", STORY),
    ("check", STORY, "--json"),
    ("check", STORY, "--format", "github"),
    ("fit", STORY),
    ("diff", str(REPOSITORY), "--format", "markdown"),
]


@pytest.mark.parametrize(("table", "line"), LINES)
def test_no_way_out_shows_a_secret(tree: Checkout, table: str, line: str) -> None:
    """A secret by its name or by its form, in whatever table, is covered in text, annotations, and changes; a finding is told."""
    path = tree.root / "profiles" / f"{STORY}.toml"
    text = path.read_text("utf-8")
    key = line.partition(" ")[0]
    kept = "".join(
        each for each in text.splitlines(keepends=True) if not each.startswith(f"{key} ")
    )
    opened = f"[{table}]\n"
    path.write_text(
        kept.replace(opened, f"{opened}{line}\n")
        if opened in kept
        else f"{kept}\n{opened}{line}\n",
        "utf-8",
    )
    for way in WAYS:
        done = tree.run(*way)
        assert done.out + done.err
        assert NAMED not in done.out + done.err
        assert FORMED not in done.out + done.err
    assert "error[" in tree.run("check", STORY).err


def test_what_is_no_secret_is_told() -> None:
    """A place, a number under a name that counts, and a short word are said as they are."""
    values = {
        "secrets": {"api_key": {"file": "/etc/poolproof/secrets/one.yaml"}},
        "flags": {"max-total-tokens": "123456789", "api-key": "abc"},
    }
    said = "`/etc/poolproof/secrets/one.yaml` and `123456789` of abc"
    (told,) = concealed((error("flag-value", said, path="flags"),), values)
    assert told.summary == said


def test_a_short_secret_is_hidden_where_its_setting_is_spoken_of() -> None:
    """A secret that may be a word of other sentences is hidden in findings about its own setting alone."""
    values = {"flags": {"api-key": "engine"}}
    own, other = concealed(
        (
            error("flag-value", "`engine` is no key", path="flags.api-key"),
            error("engine-unknown", "no such engine", path="engine.name"),
        ),
        values,
    )
    assert own.summary == "`***` is no key"
    assert other.summary == "no such engine"
