"""Recipes of a justfile, each a script of its own."""

from __future__ import annotations

import pytest

from launching import outcome, read_text


SERVE = "python -m sglang.launch_server --model-path {{model}} --port {{ port }}"


@pytest.mark.parametrize(
    ("text", "given", "port"),
    [
        (f'model := "/m/a"\nport := "8000"\n\nserve:\n    {SERVE}\n\nbench:\n    true\n', {}, 8000),
        (f"serve model='/m/a' port='8000':\n    @{SERVE}\n", {}, 8000),
        (f'model := "/m/a"\nport := env("PORT", "8000")\nserve: build\n\t{SERVE}\n', {}, 8000),
        (f'export model := "/m/a"\nport := "8000"\nserve:\n  {SERVE}\n', {"port": "9"}, 9),
        (f"model := '/m/a'\nport := `free-port`\nserve:\n  {SERVE}\n", {}, None),
        (
            f'model := "/m/a"\nport := "8000"\nserve:\n  #!/usr/bin/env bash\n  set -e\n  {SERVE} \\\n    --tp 1\n',
            {},
            8000,
        ),
    ],
)
def test_a_recipe_starts_a_server(text: str, given: dict[str, str], port: int | None) -> None:
    """With the variables of the file and the parameters of the recipe, and what is said before them."""
    said = outcome(read_text(text, name="justfile", given=given)).settings
    assert (said["model.path"], said.get("serve.port")) == ("/m/a", port)


def test_two_recipes_are_two_launches() -> None:
    """Each by its line."""
    text = f"a model='/m/a' port='1':\n  {SERVE}\nb model='/m/b' port='2':\n  {SERVE}\n"
    assert outcome(read_text(text, name="justfile")).codes == ["launch-several"]
    assert outcome(read_text(text, name="justfile", line=4)).settings["model.path"] == "/m/b"
