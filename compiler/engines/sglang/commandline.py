"""A raw launch command in, the typed profile that asks for the same out, as far as memory is concerned.

It goes through the release's own parser, so that a flag counts when it would, under any of its names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from compiler.engines.engine import Asked, NoText, ReadFile
from compiler.engines.found import Found
from compiler.engines.sglang.arguments import Entry, Parser, make_parser
from compiler.engines.sglang.arguments.configfile import no_config, unread_config
from compiler.engines.sglang.arguments.words import CONFIG
from compiler.engines.sglang.backends import TYPED_KV
from compiler.engines.sglang.exchange import DEALS_OUT
from compiler.engines.sglang.held import (
    ALGORITHMS,
    BATCH,
    BLOCK,
    DATA,
    DSPARK_BLOCK,
    EXPERT,
    PIPELINE,
    REPLICAS_ASKED_SINCE,
    TENSOR,
    TYPED,
    WINDOW,
    unheld,
)
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.speculation import DSPARK
from compiler.facts import Release
from compiler.profile import (
    Argument,
    CheckpointPath,
    Engine,
    Gpus,
    Memory,
    Model,
    Name,
    Parallel,
    Profile,
    Serve,
    Speculative,
    Text,
    Version,
)
from compiler.unknown import Unknown
from compiler.value import Value


Identify = Callable[[str], str]
"""A model's name or path in, the catalogue's id out; what it does not know comes back as it is."""

MODULE = "sglang.launch_server"
_COMMAND, _VERB = "sglang", "serve"
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)

# The old switches that deal experts out over all ranks.
_WIDE_SWITCHES = ("enable_ep_moe", "enable_deepep_moe")

STAND_IN_CONTEXT = 32_768
STAND_IN_FRACTION = 0.5


@frozen(kw_only=True, eq=False, repr=False)
class CommandReader(Value):
    """Reads the commands of one release; the parser is made once."""

    release: Release
    parser: Parser
    read_file: ReadFile | None = None

    def read(self, words: Sequence[str], *, gpus: Gpus, identify: Identify) -> Asked:
        """What a launch command asks for."""
        variables, rest = _variables(words)
        found = entry_of(rest)
        if found is None:
            starts = f"neither `python -m {MODULE}` nor `{_COMMAND} {_VERB}`"
            return Asked(profile=None, refusal=f"the command starts {starts}")
        entry = Entry.MODULE if found.arguments - found.entry == 1 else Entry.SERVE
        behind = rest[found.arguments :]
        # Few commands have it.
        path = self.parser.config(behind, entry=entry) if CONFIG in behind else None
        text = NoText.HOST if path is None or self.read_file is None else self.read_file(path)
        if path is not None and text is NoText.FOLDER:
            return Asked(profile=None, refusal=no_config(path))
        written, refusal = self.parser.written(
            behind,
            entry=entry,
            read_config=None if _may_be(text) else lambda _: _known(text),
        )
        if refusal is not None:
            return Asked(profile=None, refusal=refusal.message)
        # A command may take a setting back.
        given = {name: value for name, value in written.items() if value is not None}
        wanted = _Wanted(given=given, release=self.release, gpus=gpus, identify=identify)
        asked = wanted.asked(variables)
        if path is None or not isinstance(text, NoText):
            return asked
        return evolve(asked, assumptions=(unread_config(path, text),))


def _may_be(text: str | NoText) -> bool:
    """Whether the server may find what is not known here."""
    return isinstance(text, NoText) and text is not NoText.ABSENT


def _known(text: str | NoText) -> str | None:
    return text if isinstance(text, str) else None


def command_reader(release: Release, *, read_file: ReadFile | None = None) -> CommandReader:
    """The reader of a release."""
    return CommandReader(release=release, parser=make_parser(release), read_file=read_file)


def _variables(words: Sequence[str]) -> tuple[Mapping[str, str], Sequence[str]]:
    """The environment in front of a command."""
    variables: dict[str, str] = {}
    rest = list(words)
    while rest and (rest[0] == "env" or _VARIABLE.fullmatch(rest[0])):
        match = _VARIABLE.fullmatch(rest.pop(0))
        if match is not None:
            variables[match[1]] = match[2]
    return variables, rest


def entry_of(words: Sequence[str]) -> Found | None:
    """What starts the server, one word of a module or two of a command; what stands in front of it is passed over."""
    words = list(words)
    for at, word in enumerate(words):
        # A name alone may be what `pkill -f` looks for.
        if (word == MODULE and words[at - 1 : at] == ["-m"]) or word.endswith("/launch_server.py"):
            return Found(entry=at, arguments=at + 1)
        named = word == _COMMAND or word.endswith(f"/{_COMMAND}")
        if named and list(words[at + 1 : at + 2]) == [_VERB]:
            return Found(entry=at, arguments=at + 2)
    return None


@frozen(kw_only=True, eq=False, repr=False)
class _Wanted(Value):
    """The settings of a command, by the release's names."""

    given: Mapping[str, Any]
    release: Release
    gpus: Gpus
    identify: Identify

    def whole(self, *names: str) -> int | None:
        value = next((self.given[name] for name in names if name in self.given), None)
        return int(value) if isinstance(value, (int, float)) else None

    def word(self, name: str) -> str | None:
        value = self.given.get(name)
        return value if isinstance(value, str) and value else None

    def asked(self, variables: Mapping[str, str]) -> Asked:
        path = self.word("model_path") or ""
        context, fraction = self.whole("context_length"), self.given.get("mem_fraction_static")
        profile = Profile(
            model=Model(id=Text(self.identify(path)), path=CheckpointPath(path)),
            gpus=self.gpus,
            engine=Engine(
                name=Name(self.release.engine),
                version=Version(self.release.version),
                attention_backend=self.name("attention_backend"),
            ),
            parallel=self.parallel(),
            serve=Serve(
                context=STAND_IN_CONTEXT if context is None else context,
                max_running_requests=self.whole("max_running_requests"),
            ),
            memory=self.memory(fraction),
            speculative=self.speculative(path),
            env={name: Text(value) for name, value in variables.items()},
            flags=self.flags(),
        )
        return Asked(
            profile=profile,
            fraction_given=fraction is not None,
            context_given=context is not None,
            unknowns=tuple(self.unknowns()),
        )

    def name(self, setting: str) -> Name | None:
        value = self.word(setting)
        return None if value is None else Name(value)

    def size(self, *names: str) -> int:
        """A number of ranks; 0 is what was asked for, too."""
        size = self.whole(*names)
        return 1 if size is None else size

    def parallel(self) -> Parallel:
        tensor = self.size(*TENSOR)
        wide = self.word("moe_a2a_backend") in DEALS_OUT or any(
            self.given.get(name) is True for name in _WIDE_SWITCHES
        )
        split = self.given.get("enable_dp_attention") is True or "attn_dp_size" in self.given
        asked = at_least(self.release.version, REPLICAS_ASKED_SINCE)
        return Parallel(
            tensor=tensor,
            pipeline=self.size(*PIPELINE),
            data=tensor if split and not asked else self.size(*DATA),
            expert=tensor if wide else self.size(*EXPERT),
            # Over one rank the engine drops it, after it has counted with it (0.5.11 server_args.py, `__post_init__`).
            dp_attention=split,
        )

    def memory(self, fraction: object) -> Memory:
        kv = self.word("kv_cache_dtype") or "auto"
        return Memory(
            fraction=float(fraction) if isinstance(fraction, (int, float)) else STAND_IN_FRACTION,
            kv_dtype=kv if kv in TYPED_KV else "auto",  # type: ignore[arg-type]  # one of the names
            chunked_prefill=self.whole("chunked_prefill_size"),
            page_size=self.whole("page_size"),
            max_pool_tokens=self.whole("max_total_tokens"),
            cuda_graph_max_batch=self.whole(*BATCH),
        )

    def speculative(self, path: str) -> Speculative | None:
        algorithm = (self.word("speculative_algorithm") or "").lower()
        if algorithm not in ALGORITHMS:
            return None
        draft = self.word("speculative_draft_model_path")
        own = draft is None or draft == path or self.identify(draft) == self.identify(path)
        return Speculative(
            algorithm=algorithm,  # type: ignore[arg-type]  # one of the names
            draft=None if own or draft is None else Text(self.identify(draft)),
            # Releases to 0.5.19 count a draft of the model's own only where it is named.
            draft_path=CheckpointPath(path) if own and draft is not None else None,
            block_size=self.whole(DSPARK_BLOCK if algorithm == DSPARK else BLOCK),
            draft_window=self.whole(*WINDOW),
            tree_budget=self.whole("speculative_ddtree_budget"),
            tree_topk=self.whole("speculative_ddtree_topk_cap"),
        )

    def unknowns(self) -> Sequence[Unknown]:
        algorithm = self.word("speculative_algorithm")
        if algorithm is None or algorithm.lower() in ALGORITHMS:
            return ()
        return (
            Unknown(
                code="speculation-unpriced",
                name=algorithm,
                setting="speculative.algorithm",
                missing="what it charges to which budget",
            ),
        )

    def flags(self) -> Mapping[str, Argument]:
        algorithm = self.word("speculative_algorithm")
        left_over = unheld(None if algorithm is None else algorithm.lower())
        flags = {
            name.replace("_", "-"): _argument(value)
            for name, value in self.given.items()
            if name not in TYPED or name in left_over
        }
        kv = self.word("kv_cache_dtype")
        if kv is not None and kv not in TYPED_KV:
            flags["kv-cache-dtype"] = kv
        if algorithm is not None and algorithm.lower() not in ALGORITHMS:
            flags["speculative-algorithm"] = algorithm
        return flags


def _argument(value: object) -> Argument:
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(str(each) for each in value)
    return json.dumps(value, sort_keys=True, default=str)
