"""The keys of a `config.json`, read once each, with everything that is missing or of the wrong type collected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, define

from compiler.checkpoint.defaults import with_defaults


LARGEST = 10**13
"""No figure of a model is larger; a larger one is a broken file."""


_SIDES = {"image_size": 2, "patch_size": 2}


@define
class Keys:
    """Keys of a config; those of a text model inside a multimodal one stand under `text_config`, or a name like it.

    Attributes:
        values: the table the text model's keys stand in.
        outer: the whole file.
        faults: what was wrong, in words that name the key.
    """

    values: Mapping[str, Any]
    outer: Mapping[str, Any]
    faults: list[str] = Factory(list)

    def has(self, name: str) -> bool:
        """Whether a key is there and not null."""
        return self.values.get(name) is not None

    def need(self, *names: str) -> int:
        """A whole number above zero under the first of these names; a fault, and 1, without it."""
        found = self.number(*names)
        if found is None:
            self.faults.append(f"`{names[0]}` is missing")
            return 1
        return found

    def number(self, *names: str) -> int | None:
        """The same, or `None` when no such key is there."""
        for name in names:
            value = self._figure(name)
            if value is None:
                continue
            if type(value) is int and 0 < value <= LARGEST:
                return value
            self.faults.append(f"`{name}` {_odd(value)}")
            return 1
        return None

    def count(self, *names: str) -> int:
        """A whole number that may be zero; 0 without it."""
        for name in names:
            value = self._figure(name)
            if value is None or value == 0:
                continue
            return self.number(name) or 0
        return 0

    def _figure(self, name: str) -> object:
        """A value; of a list that has one for each layer, or each side of a picture, all the same, that one.

        Hunyuan and Gemma 3n list by layer, InternVL by side.
        """
        value = self.values.get(name)
        if not isinstance(value, list):
            return value
        wanted = _SIDES.get(name, self.values.get("num_hidden_layers"))
        alike = value and len(value) == wanted and all(each == value[0] for each in value)
        return value[0] if alike else value

    def flag(self, name: str) -> bool:
        """Whether a key is true, in the text model's table or outside it."""
        value = self.values.get(name, self.outer.get(name))
        return value is True

    def words(self, name: str) -> tuple[str, ...] | None:
        """A list of words, or `None`."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self.faults.append(f"`{name}` is no list of words")
        return None

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers, none below zero; empty without it."""
        value = self.values.get(name)
        if value is None:
            return ()
        if isinstance(value, list) and all(type(e) is int and 0 <= e <= LARGEST for e in value):
            return tuple(value)
        self.faults.append(f"`{name}` is no list of whole numbers")
        return ()

    def table(self, name: str) -> Mapping[str, Any] | None:
        """A table, or `None`."""
        value = self.values.get(name, self.outer.get(name))
        if value is None:
            return None
        if isinstance(value, Mapping):
            return value
        self.faults.append(f"`{name}` is no table")
        return None

    def beside(self, name: str) -> Mapping[str, Any] | None:
        """A table that stands beside the text model's, such as that of a tower, or `None`."""
        value = self.outer.get(name)
        if value is None or isinstance(value, Mapping):
            return value
        self.faults.append(f"`{name}` is no table")
        return None

    def inside(self, table: Mapping[str, Any]) -> Keys:
        """The keys of a table in it; faults are collected together."""
        return Keys(values=table, outer=table, faults=self.faults)


def _odd(value: object) -> str:
    """What is wrong with a value that is no figure of a model."""
    if type(value) is int and value > LARGEST:
        return f"is more than {LARGEST:,}, and no figure of a model is"
    return "is no whole number above zero"


_TEXT = ("text_config", "llm_config", "language_config")
_THINKER = "thinker_config"  # Qwen's omni models: the part that an engine serves


def open_keys(config: Mapping[str, Any]) -> Keys:
    """The keys of a whole file; what a table inside it leaves out are the defaults of its `model_type`."""
    thinker = config.get(_THINKER)
    outer = {**config, **thinker} if isinstance(thinker, Mapping) else config
    text = next((outer[name] for name in _TEXT if isinstance(outer.get(name), Mapping)), None)
    odd = [f"`{name}` is no table" for name in _TEXT if _is_no_table(outer.get(name))]
    return Keys(values=outer if text is None else with_defaults(text), outer=outer, faults=odd)


def _is_no_table(value: object) -> bool:
    return value is not None and not isinstance(value, Mapping)
