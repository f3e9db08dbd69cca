"""One flag as the engine's source declares it, whichever way, and the `Flag` that this makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from compiler.engines.sglang.extract.modules import Module
from compiler.facts import Action, Flag
from compiler.value import Value


TYPES: Mapping[str, str] = {
    "str": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",  # any text but an empty one is true, `0` and `False` as well
    "json.loads": "json",
    "orjson.loads": "json",
    "json_list_type": "json-list",
    "human_readable_int": "int-with-suffix",
    "nullable_str": "text-or-none",
    "parse_cuda_graph_config_arg": "cuda-graph-config",
    "parse_cuda_graph_backend_arg": "cuda-graph-backend",
}
"""The function that reads a value -> what a table says that the flag takes."""

ACTIONS: Mapping[str, Action] = {
    "store": Action.STORE,
    "store_true": Action.TRUE,
    "store_const": Action.CONST,
    "BooleanOptionalAction": Action.PAIR,
    "DeprecatedStoreTrueAction": Action.TRUE,
    "DeprecatedStoreConstAction": Action.CONST,
    "DeprecatedAliasStoreAction": Action.STORE,
    "DeprecatedAction": Action.NOTHING,
    "LoRAPathAction": Action.LORA_LIST,
}
"""argparse's word, or the name of a class of the engine -> what it does."""

_OF_ARGPARSE = frozenset({"store", "store_true", "store_const", "BooleanOptionalAction"})
_WITHOUT_VALUE = frozenset(
    {Action.TRUE, Action.TRUE_OR_UNSET, Action.PAIR, Action.NOTHING, Action.REFUSE}
)

# How a help text says it of the flag itself, at its start; others only mention a deprecated flag somewhere.
_SAYS_DEPRECATED = re.compile(
    r"\s*(?:\[?\(?\s*deprecated|note: .* deprecated|removed\b|(?s:.*) is deprecated now)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"--[a-z][a-z0-9-]*(?:=\w+)?|\bSGLANG_[A-Z0-9_]+(?:=\w+)?")


@frozen(kw_only=True, eq=False, repr=False)
class Declaration(Value):
    """What the source says about one flag; what it leaves out is `None`.

    Attributes:
        names: option strings in their order.
        action: argparse's word, or the name of a class, without its module.
        reader: the function that reads one value.
        counted: whether `nargs` is given, be it as `None`.
        default: `None` also for what is only known at run time.
        new_flag: what a deprecation points to.
        message: what the parser stops with.
        help: all text of the help.
        unclear: the parts that cannot be told without a run (`choices`).
    """

    names: tuple[str, ...]
    dest: str | None = None
    action: str | None = None
    reader: str | None = None
    nargs: object = None
    counted: bool = False
    choices: Sequence[object] | None = None
    default: object = None
    const: object = None
    required: bool = False
    new_flag: str | None = None
    message: str | None = None
    help: str = ""
    keys: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


@frozen(eq=False, repr=False)
class Unread(Value):
    """A flag whose very name is only known when the engine runs, by where it is declared."""

    place: str


def make_flag(declared: Declaration, module: Module) -> Flag:
    """The flag that a declaration makes; the module's own action classes decide what they do."""
    action = _action(declared, module)
    name = next((each for each in declared.names if each.startswith("--")), declared.names[0])
    takes = (
        None if action in _WITHOUT_VALUE or not _takes_value(declared, action) else _type(declared)
    )
    plain = Action.STORE if takes is not None else Action.TRUE
    derived = name.lstrip("-").replace("-", "_")
    return Flag(
        name=name,
        aliases=tuple(each for each in declared.names if each != name),
        dest=declared.dest if declared.dest != derived else None,
        takes=takes,
        nargs=None if declared.nargs is None or takes is None else str(declared.nargs),
        choices=tuple(str(each) for each in declared.choices or ()),
        default=_default(declared, action),
        const=_scalar(declared.const),
        action=None if action is plain else action,
        required=declared.required,
        deprecated=_deprecated(declared, action),
        custom=declared.action is not None and declared.action not in _OF_ARGPARSE,
        keys=declared.keys,
    )


def _action(declared: Declaration, module: Module) -> Action:
    name = declared.action or "store"
    action = ACTIONS.get(name, Action.STORE)
    if action is Action.TRUE and declared.default is None:
        return Action.TRUE_OR_UNSET
    if action is Action.NOTHING and (declared.message or _only_raises(name, module)):
        return Action.REFUSE
    if action is Action.LORA_LIST and not _mentions(name, "json", module):
        return Action.LORA_NAMES
    return action


def _takes_value(declared: Declaration, action: Action) -> bool:
    """Only `nargs` makes a deprecated constant take a value, which it then ignores."""
    return action is not Action.CONST or declared.counted


def _type(declared: Declaration) -> str:
    reader = declared.reader or "str"
    return TYPES.get(reader, reader)


def _default(
    declared: Declaration, action: Action
) -> str | int | float | bool | tuple[str, ...] | None:
    if isinstance(declared.default, list | tuple):
        return tuple(str(each) for each in declared.default)
    if action is Action.TRUE and declared.default is False:
        return None  # goes without saying
    return _scalar(declared.default)


def _scalar(value: object) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool) else None


def _only_raises(name: str, module: Module) -> bool:
    """Whether an action class stops the server whenever it is met."""
    call = _method(name, module, "__call__")
    return call is not None and isinstance(call.body[-1], ast.Raise)


def _mentions(name: str, word: str, module: Module) -> bool:
    call = _method(name, module, "__call__")
    return call is not None and any(
        isinstance(each, ast.Name) and each.id == word for each in ast.walk(call)
    )


def _method(name: str, module: Module, method: str) -> ast.FunctionDef | None:
    """A method of a class by the name a module knows the class by."""
    home = module
    origin, original = module.names.imports.get(name, (None, None))
    if origin and original:
        home, name = module.package.module(origin) or module, original
    node = home.names.classes.get(name)
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)] if node else []
    return next((each for each in methods if each.name == method), None)


def _deprecated(declared: Declaration, action: Action) -> str | None:
    """Our own sentence about a flag on its way out; no text of the release is copied but names."""
    by_action = "Deprecated" in (declared.action or "")
    if not by_action and not _SAYS_DEPRECATED.match(declared.help):
        return None
    if declared.new_flag:
        return f"use `{declared.new_flag}`"
    said = f"{declared.message or ''} {declared.help}"
    instead = [each for each in _INSTEAD.findall(said) if each not in declared.names]
    if instead:
        return f"use {' and '.join(f'`{each}`' for each in dict.fromkeys(instead))}"
    return "does nothing" if action is Action.NOTHING else "the release is about to drop it"
