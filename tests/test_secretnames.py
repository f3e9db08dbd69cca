"""Names of secrets, also mistyped ones: what stands under them is covered, and nothing under any other name."""

from __future__ import annotations

import json
import re

import pytest

from checkouts import REPOSITORY
from compiler.catalog import open_catalog
from compiler.language import settings
from compiler.near import near
from compiler.secretnames import names_a_secret


SECRET = {"--api-key", "--admin-api-key", "--ssl-keyfile-password"}
"""The flags of all releases that hold one."""
RELEASES = open_catalog().versions("sglang")


def flags_of(version: str) -> set[str]:
    """All names that a release's parser takes."""
    release, _ = open_catalog().release("sglang", version, None)
    assert release is not None
    return {*release.flags, *release.aliases}


@pytest.mark.parametrize("version", RELEASES)
def test_no_flag_of_a_release_but_a_secrets_is_covered(version: str) -> None:
    """A flag that exists and holds no secret is shown: `tokenizer-path`, `max-total-tokens`, `ssl-keyfile`."""
    flags = flags_of(version)
    assert {each for each in flags if names_a_secret(each)} == flags & SECRET


def test_no_other_setting_is_covered() -> None:
    """Of the language's own settings only the table of secrets speaks of any."""
    named = {each.path for each in settings.all_settings() if any(map(names_a_secret, each.path))}
    assert {path[0] for path in named} == {"secrets"}


def test_no_flag_or_variable_of_a_public_launch_is_covered() -> None:
    """What people give their servers is shown, but for keys and tokens that are spelt as such."""
    names: set[str] = set()
    for file in ("launch-commands.jsonl", "launch-files.jsonl"):
        for line in (REPOSITORY / "tests/data" / file).read_text("utf-8").splitlines():
            text = json.dumps(json.loads(line))
            names |= {
                one or two
                for one, two in re.findall(r"--([a-zA-Z][\w-]+)|\b([A-Z][A-Z0-9_]+)=", text)
            }
    assert len(names) > 300
    covered = {each for each in names if names_a_secret(each)}
    assert {each for each in covered if not re.search(r"(?i)key|token|secret|passw", each)} == set()


@pytest.mark.parametrize(
    "name",
    [
        *("api-kez", "apikey", "admin-api-keys", "api-kye", "apy-key", "api_ky", "api-ke", "apkey"),
        *("apikez", "aip-key", "admin-api-kez", "adminapikez", "admn-api-key", "admin-kez"),
        *("api-k\u0435y", "apikeyy", "api key", "api--kez", "API-KEZ", "api-kez2"),
        *("ssl-keyfile-pasword", "ssl-keyfle-pasward", "ssl-keyfile-passwort", "passwrd"),
        *("hf-tokn", "auth-toekn", "acces-token", "my-tokne", "secrt", "secerts"),
        *("credentails", "authorisation", "pasphrase", "OPENAI_API_KEZ", "HF_TOKN"),
    ],
)
def test_a_mistyped_name_of_a_secret(name: str) -> None:
    """A slip in a secret's name, a word of it that is missing, and another script's letter leave it one."""
    assert names_a_secret(name)
    assert names_a_secret(f"--{name}")


@pytest.mark.parametrize(
    "name",
    [
        *("tokenizer-path", "tokenizer", "tokeniser", "max-total-tokens", "max-tokns", "num-token"),
        *("api-port", "api-server-count", "apis", "ap", "monkey-type", "keep-alive", "key-file"),
        *(
            "bypassed",
            "pass-through",
            "select",
            "secretary-path",
            "incremental-output",
            "access-log",
        ),
        *(
            "author",
            "authority-name",
            "credits",
            "token-path",
            "topk",
            "hf-overrides",
            "-",
            "_",
            "",
        ),
    ],
)
def test_a_name_that_is_just_none(name: str) -> None:
    """A count, a place, and a word of its own are no secret's, however alike."""
    assert not names_a_secret(name)


LETTERS = "ekvz-_"


@pytest.mark.parametrize("flag", sorted(SECRET))
def test_what_is_taken_for_a_secrets_flag_is_covered(flag: str) -> None:
    """Each name that is one letter off, and is told that it may mean the flag of a secret, is covered as that is."""
    flags = flags_of(RELEASES[-1])
    bare = flag[2:]
    slips = {bare[:at] + bare[at + 1 :] for at in range(len(bare))}
    slips |= {f"{bare[:at]}{each}{bare[at + 1 :]}" for at in range(len(bare)) for each in LETTERS}
    slips |= {f"{bare[:at]}{each}{bare[at:]}" for at in range(len(bare) + 1) for each in LETTERS}
    shown = slips - flags_without_dashes(flags)
    shown = {each for each in shown if not names_a_secret(each)}
    assert {each for each in shown if near(f"--{each}", flags) == flag} == set()


def flags_without_dashes(flags: set[str]) -> set[str]:
    return {each.removeprefix("--") for each in flags}
