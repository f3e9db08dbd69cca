"""What a release's parser makes of a command line. `test_wheels.py` holds the same against the engine's own parser."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.catalog import open_catalog
from compiler.engines.sglang.arguments import (
    Entry,
    Given,
    Parsed,
    Parser,
    RefusalKind,
    make_parser,
    parse,
)
from compiler.engines.sglang.arguments.actions import Namespace, RefusedError
from compiler.engines.sglang.arguments.parser import FlagParser, flag_parser
from compiler.facts import Action, Flag, Release
from examples import examples
from wheels import commands


CATALOG = open_catalog()
RECORDED_SINCE = "0.4.6"
RELEASES = CATALOG.versions("sglang")
VERSIONS = RELEASES[RELEASES.index(RECORDED_SINCE) :]
COMMANDS = commands(Path(__file__).parent / "data" / "launch-commands.jsonl")
MODEL = ("--model-path", "m")


@cache
def parser_of(version: str) -> Parser:
    release, faults = CATALOG.release("sglang", version)
    assert faults == ()
    assert release is not None
    return make_parser(release)


def read(*words: str, version: str = "0.5.11", entry: Entry = Entry.MODULE) -> Parsed:
    return parser_of(version).parse(words, entry=entry)


def accepted(*words: str, version: str = "0.5.11", entry: Entry = Entry.MODULE) -> Parsed:
    parsed = read(*words, version=version, entry=entry)
    assert parsed.refusal is None
    return parsed


def refused(*words: str, version: str = "0.5.11", entry: Entry = Entry.MODULE) -> tuple[str, str]:
    """The kind of the refusal, and its message."""
    parsed = read(*words, version=version, entry=entry)
    assert parsed.values == {}
    assert parsed.refusal is not None
    return parsed.refusal.kind.value, parsed.refusal.message


def with_config(text: str | None, *words: str, version: str = "0.5.11") -> Parsed:
    return parser_of(version).parse(words, read_config=lambda _: text)


def check_commands(version: str, sample: Sequence[Mapping[str, Any]]) -> None:
    """Each command is accepted or refused as it was recorded from the parser in the release's own wheel."""
    parser = parser_of(version)
    place = VERSIONS.index(version)
    for command in sample:
        argv = command["argv"]
        parsed = parser.parse(argv, entry=Entry(command["entry"]))
        assert (parsed.refusal is None) == (command["accepted"][place] == "+"), command["id"]
        if parsed.refusal is None:
            places = [place for given in parsed.given for place in given.places]
            assert places == list(range(len(argv))), command["id"]


@pytest.mark.parametrize("version", VERSIONS)
def test_public_commands_are_taken_by_the_releases_that_take_them(version: str) -> None:
    """A tenth of the public commands: taken where they are taken, and every word belongs to one flag, in order."""
    check_commands(version, COMMANDS[::10])


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_all_public_commands_are_taken_by_the_releases_that_take_them(version: str) -> None:
    """The same for all of them."""
    check_commands(version, COMMANDS)


def test_settings_have_their_defaults() -> None:
    """Every setting has a value: that of the command line, or the release's default."""
    parsed = accepted(*MODEL, "--port", "1234")
    assert parsed.values["model_path"] == "m"
    assert parsed.values["port"] == 1234
    assert parsed.values["host"] == "127.0.0.1"
    assert parsed.values["trust_remote_code"] is False
    assert parsed.values["enable_lora"] is None
    assert parsed.values["encoder_urls"] == []
    assert [given.dest for given in parsed.given] == ["model_path", "port"]


def test_the_words_that_set_something() -> None:
    """A flag is kept with its words' places, its full name, and what was written."""
    parsed = accepted("--mem-frac=0.9", "--tp", "2", *MODEL, "--lora-paths", "a", "b=c")
    assert parsed.given == (
        Given(
            flag="--mem-fraction-static",
            spelling="--mem-fraction-static",
            written="--mem-frac",
            dest="mem_fraction_static",
            value=0.9,
            places=(0,),
        ),
        Given(
            flag="--tensor-parallel-size",
            spelling="--tp-size",
            written="--tp",
            dest="tensor_parallel_size",
            value=2,
            places=(1, 2),
        ),
        Given(
            flag="--model-path",
            spelling="--model-path",
            written="--model-path",
            dest="model_path",
            value="m",
            places=(3, 4),
        ),
        Given(
            flag="--lora-paths",
            spelling="--lora-paths",
            written="--lora-paths",
            dest="lora_paths",
            value=["a", "b=c"],
            places=(5, 6, 7),
        ),
    )
    assert [each.abbreviated for each in parsed.given] == [True, True, False, False]


def test_the_last_of_a_repeated_flag_counts() -> None:
    """A flag given again, under whatever name, leaves the earlier one without effect, and this is kept."""
    parsed = accepted("--tp-size", "2", *MODEL, "--tensor-parallel-size=4", "--tp", "8")
    assert parsed.values["tensor_parallel_size"] == 8
    assert [given.written for given in parsed.overridden] == ["--tp-size", "--tensor-parallel-size"]
    assert parsed.given[-1].places == (5, 6)


def test_two_flags_may_write_one_setting() -> None:
    """An old name that writes the setting of a new one overrides it, and the other way round."""
    words = ("--cuda-graph-max-bs-decode", "8", "--cuda-graph-max-bs", "4")
    parsed = accepted(*MODEL, *words, version="0.5.15")
    assert parsed.values["cuda_graph_max_bs_decode"] == 4
    assert [given.flag for given in parsed.overridden] == ["--cuda-graph-max-bs-decode"]


@pytest.mark.parametrize(
    ("word", "version", "setting", "value"),
    [
        ("--schedule-conserv=-1.5", "0.5.11", "schedule_conservativeness", -1.5),
        ("--context-length=16k", "0.5.11", "context_length", 16_000),
        ("--context-length=4Ki", "0.5.11", "context_length", 4_096),
        ("--quantization-param-path=None", "0.5.11", "quantization_param_path", None),
        ('--extra-metric-labels={"a": 1}', "0.5.11", "extra_metric_labels", {"a": 1}),
        ("--record-nolora", "0.5.11", "record_nolora_graph", True),
        ("--no-record-nolora", "0.5.11", "record_nolora_graph", False),
        ("--model-checksum", "0.5.11", "model_checksum", ""),
        ("--hybrid-kvcache-ratio", "0.4.9.post6", "hybrid_kvcache_ratio", 0.5),
        ("--monokernel-backend=amd", "0.5.23", "enable_amd_monokernel", True),
        ("--enable-breakable-cuda-graph", "0.5.15", "cuda_graph_backend_prefill", "breakable"),
        ("--lora-paths=a", "0.4.9.post6", "lora_paths", {"a": "a"}),
        ("--lora-paths=a=b", "0.4.9.post6", "lora_paths", {"a": "b"}),
        (
            '--lora-paths={"lora_name": "a", "lora_path": "b"}',
            "0.5.3",
            "lora_paths",
            [{"lora_name": "a", "lora_path": "b"}],
        ),
        (
            '--cuda-graph-config={"decode": {"max_bs": 8}}',
            "0.5.15",
            "cuda_graph_config",
            {"decode": {"max_bs": 8}},
        ),
    ],
)
def test_values_are_read_as_the_engine_reads_them(
    word: str, version: str, setting: str, value: object
) -> None:
    """Numbers with a sign or a suffix, JSON, pairs, constants, and lists of paths."""
    assert accepted(*MODEL, word, version=version).values[setting] == value


@pytest.mark.parametrize("words", [("-1",), ("-0.5",)])
def test_a_negative_number_is_a_value(words: tuple[str, ...]) -> None:
    """No flag looks like a number, so a negative one behind a flag is its value."""
    parsed = accepted(*MODEL, "--schedule-conservativeness", *words)
    assert parsed.values["schedule_conservativeness"] == float(words[0])


def test_a_flag_that_only_warns_sets_nothing() -> None:
    """A flag without effect is kept, and writes no setting."""
    parsed = accepted(*MODEL, "--enable-piecewise-cuda-graph")
    assert parsed.given[-1].dest is None
    assert parsed.overridden == ()


@pytest.mark.parametrize(
    ("words", "version", "kind", "part"),
    [
        (("--foo", "1"), "0.5.11", "unrecognized", "unrecognized arguments: --foo 1"),
        (("stray",), "0.5.11", "unrecognized", "unrecognized arguments: stray"),
        (("--tp_size", "1"), "0.5.11", "unrecognized", "unrecognized arguments: --tp_size 1"),
        (("--cuda-graph-max-bs", "8"), "0.5.23", "ambiguous", "--cuda-graph-max-bs could match"),
        (("--h",), "0.5.11", "ambiguous", "ambiguous option: --h could match --help"),
        (("--tp", "x"), "0.5.11", "value", "invalid int value: 'x'"),
        (("--tp",), "0.5.11", "value", "expected one argument"),
        (("--trust-remote-code=yes",), "0.5.11", "value", "ignored explicit argument 'yes'"),
        (("--dtype", "int3"), "0.5.11", "value", "invalid choice: 'int3'"),
        (("--log-requests-level", "7"), "0.5.11", "value", "invalid choice: 7"),
        (("--context-length", "1.5Ki"), "0.5.11", "value", "Decimals are not allowed"),
        (("--context-length", "16K"), "0.5.11", "value", "Invalid integer value: '16K'"),
        (("--context-length", "16k"), "0.5.9", "value", "invalid int value: '16k'"),
        (("--extra-metric-labels", "{"), "0.5.11", "value", "invalid loads value: '{'"),
        (("--cuda-graph-bs",), "0.5.11", "value", "expected at least one argument"),
        (("--lora-paths", "{}"), "0.5.11", "value", "needs `lora_name` and `lora_path`"),
        (("--lora-paths", "{x}"), "0.5.11", "value", "takes JSON in braces"),
        (("--cuda-graph-config", "1"), "0.5.15", "value", "must be a JSON object, got int"),
        (("--cuda-graph-config", "{"), "0.5.15", "value", "must be valid JSON"),
        (("--cuda-graph-config", '{"x": {}}'), "0.5.15", "value", "unknown phase 'x'"),
        (("--cuda-graph-config", '{"decode": 1}'), "0.5.15", "value", "got int"),
        (("--cuda-graph-config", '{"decode": {"x": 1}}'), "0.5.15", "value", "unknown key 'x'"),
        (
            ("--cuda-graph-config", '{"decode": {"backend": "tc_piecewise"}}'),
            "0.5.23",
            "value",
            "tc_piecewise was removed",
        ),
        (("--cuda-graph-backend-decode", "tc_piecewise"), "0.5.23", "value", "was removed"),
        (
            ("--remote-instance-weight-loader-send-weights-group-ports", "[NaN]"),
            "0.5.11",
            "value",
            "Invalid JSON list",
        ),
        (("--enable-ep-moe",), "0.5.3", "retired", "use `--ep-size`"),
        (("--help",), "0.5.11", "help", "prints its help"),
    ],
)
def test_what_the_parser_refuses(
    words: tuple[str, ...], version: str, kind: str, part: str
) -> None:
    """A refusal has a kind, and argparse's own message where it has one."""
    found, message = refused(*MODEL, *words, version=version)
    assert found == kind
    assert part in message


def test_a_refusal_names_its_flag() -> None:
    """A refused value is told by the full name of its flag, what was met before the fault is kept."""
    parsed = read("--port", "1", *MODEL, "--tp", "x")
    assert parsed.refusal is not None
    assert parsed.refusal.flag == "--tensor-parallel-size"
    assert [given.flag for given in parsed.given] == ["--port", "--model-path"]
    assert parsed.values == {}


def test_the_model_must_be_given() -> None:
    """Only the model is required; it is missed before words that belong to no flag are."""
    assert refused("--foo") == (
        "required",
        "the following arguments are required: --model-path/--model",
    )
    assert refused("--foo", version="0.4.6.post5")[1].endswith("required: --model-path")


# `sglang serve`


@pytest.mark.parametrize(
    ("words", "version", "expected"),
    [
        (MODEL, "0.5.6", None),
        (MODEL, "0.5.3", "the command `sglang` is not there in 0.5.3"),
        (("--model", "m"), "0.5.9", "--model-path is required"),
        (("--model", "m"), "0.5.11", None),
        (("--model-p", "m"), "0.5.11", "--model-path is required"),
        (("--model=m",), "0.5.11", None),
        (("m", "--tp", "2"), "0.5.15", "--model-path is required"),
        (("m", "--tp", "2"), "0.5.16", None),
        ((*MODEL, "m2"), "0.5.16", "unrecognized arguments: m2"),
        (("--model-type", "llm", *MODEL), "0.5.9", "unrecognized arguments: --model-type llm"),
        (("--model-type", "llm", *MODEL), "0.5.10", None),
        (("--model-type=auto", "m"), "0.5.23", None),
        (("--model-type", "x", "m"), "0.5.23", "invalid --model-type 'x'"),
        (("--model-type=diffusion", "m"), "0.5.23", "for diffusion models"),
        (("m", "--model-type"), "0.5.23", "--model-type requires a value"),
        (("m", "-h"), "0.5.23", "prints its help"),
    ],
)
def test_sglang_serve(words: tuple[str, ...], version: str, expected: str | None) -> None:
    """The command looks for the model itself, takes a choice of server away, and later takes the model by its place."""
    parsed = read(*words, version=version, entry=Entry.SERVE)
    if expected is None:
        assert parsed.refusal is None
        assert parsed.values["model_path"] == "m"
    else:
        assert parsed.refusal is not None
        assert expected in parsed.refusal.message


def test_a_model_by_its_place_keeps_it() -> None:
    """The word that stands for the model is the one that set it."""
    parsed = accepted("m", "--tp", "2", version="0.5.23", entry=Entry.SERVE)
    assert [given.places for given in parsed.given] == [(0,), (1, 2)]


# `--config`


def test_the_file_counts_before_the_command_line() -> None:
    """Entries of the file are given first, so that the command line overrides them; they have no place in it."""
    parsed = with_config("model-path: m\ntp-size: 2\n", "--tp", "4", "--config", "x.yaml")
    assert parsed.refusal is None
    assert parsed.values["tensor_parallel_size"] == 4
    assert parsed.values["config"] is None
    assert parsed.config == "x.yaml"
    assert [(given.flag, not given.places) for given in parsed.given] == [
        ("--model-path", True),
        ("--tensor-parallel-size", True),
        ("--tensor-parallel-size", False),
    ]
    assert [given.places for given in parsed.overridden] == [()]


@pytest.mark.parametrize(
    ("entry", "version", "setting", "expected"),
    [
        ("trust-remote-code: true", "0.5.3", "trust_remote_code", True),
        ("trust-remote-code: false", "0.5.3", "trust_remote_code", False),
        ("trust-remote-code: true", "0.5.9", "trust_remote_code", True),
        ("trust-remote-code: false", "0.5.9", "trust_remote_code", False),
        ("trust_remote_code: true", "0.5.9", "trust_remote_code", "unrecognized"),
        ("enable-lora: false", "0.5.9", "enable_lora", None),
        ("served-model-name: true", "0.5.3", "served_model_name", "value"),
        ("served-model-name: true", "0.5.9", "served_model_name", "true"),
        ("served-model-name: null", "0.5.9", "served_model_name", "None"),
        ("cuda-graph-bs: [1, 2]", "0.5.9", "cuda_graph_bs", [1, 2]),
        ("cuda-graph-bs: []", "0.5.9", "cuda_graph_bs", None),
        ("tp-size: 0.5", "0.5.9", "tp_size", "value"),
        ("extra-metric-labels: {a: 1}", "0.5.13", "extra_metric_labels", "value"),
        ("extra-metric-labels: {a: 1}", "0.5.14", "extra_metric_labels", {"a": 1}),
        ("lora-paths: [a]", "0.5.6", "lora_paths", ["a"]),
        ("lora-paths: [a]", "0.5.9", "lora_paths", "config"),
        ("stream-output: true", "0.5.9", "stream_output", True),
        ("incremental-streaming-output: true", "0.5.11", "incremental_streaming_output", "config"),
        ("incremental-streaming-output: true", "0.5.23", "incremental_streaming_output", True),
        ("disable-cuda-graph: true", "0.5.23", "disable_cuda_graph", "config"),
        ("monokernel-backend: amd", "0.5.23", "enable_amd_monokernel", True),
        ("no-such: 1", "0.5.9", "", "unrecognized"),
        ("help: 1", "0.5.9", "", "help"),
        ("1: 2", "0.5.9", "", "config"),
        ("1: 2", "0.5.6", "", "unrecognized"),
    ],
)
def test_an_entry_of_the_file(entry: str, version: str, setting: str, expected: object) -> None:
    """What an entry gives, or how it is refused, by release."""
    parsed = with_config(f"model-path: m\n{entry}\n", "--config", "x.yaml", version=version)
    refusal = parsed.refusal
    got = parsed.values.get(setting) if refusal is None else refusal.kind.value
    assert got == expected


@pytest.mark.parametrize(
    ("text", "words", "part"),
    [
        (None, ("--config", "x.yaml"), "Config file not found: x.yaml"),
        ("a: [", ("--config", "x.yaml"), "x.yaml is no YAML: line 1"),
        ("- 1", ("--config", "x.yaml"), "must contain a dictionary"),
        ("", ("--config", "x.json"), "must be YAML format, got: .json"),
        ("", ("--config", "x"), "must be YAML format"),
        ("", ("--config",), "No config file specified"),
        ("", ("--config", "a.yaml", "--config", "b.yaml"), "Multiple config files"),
    ],
)
def test_a_file_that_cannot_be_used(text: str | None, words: tuple[str, ...], part: str) -> None:
    """A file that is not there, is none of YAML, or is given twice stops the server."""
    parsed = with_config(text, *MODEL, *words)
    assert parsed.refusal is not None
    assert parsed.refusal.kind is RefusalKind.CONFIG
    assert part in parsed.refusal.message


def test_an_empty_file_gives_nothing() -> None:
    """A file without entries is one."""
    assert with_config("# nothing\n", *MODEL, "--config", "x.YML").refusal is None


@pytest.mark.parametrize("words", [("--config=x.yaml",), ("--confi", "x.yaml")])
def test_a_file_named_otherwise_is_not_read(words: tuple[str, ...]) -> None:
    """Written with `=`, or abbreviated, the flag is taken, and nobody looks at the file."""
    parsed = with_config("port: 1", *MODEL, *words)
    assert parsed.refusal is None
    assert parsed.config is None
    assert parsed.values["config"] == "x.yaml"
    assert parsed.values["port"] == 30_000


def test_a_file_that_nobody_can_read_is_said() -> None:
    """Without a reader the file is unknown: what it might set is not missed, and the rest is read."""
    parsed = read("--config", "/secret.yaml", "--tp", "2")
    assert parsed.refusal is None
    assert (parsed.config, parsed.config_read) == ("/secret.yaml", False)
    assert parsed.values["tensor_parallel_size"] == 2
    assert refused("--config", "/secret.yaml", "--foo")[0] == "unrecognized"


def test_the_first_releases_have_no_file() -> None:
    """Where the parser has no `--config`, it is a flag like any unknown one."""
    assert refused(*MODEL, "--config", "x.yaml", version="0.4.9.post6")[0] == "unrecognized"


# The parser


def test_a_build_is_read_with_its_flags() -> None:
    """A release with a build's overlay has a parser that takes the build's flags."""
    release, _ = CATALOG.release("sglang", "0.5.11", "ddtree")
    assert release is not None
    parsed = parse([*MODEL, "--speculative-ddtree-budget", "8"], release=release)
    assert parsed.values["speculative_ddtree_budget"] == 8


def test_a_kind_of_value_that_nobody_described_is_text() -> None:
    """A flag of a private build whose reader is its own takes any word."""
    flags = {
        "--x": Flag(name="--x", takes="parse_shape"),
        "--y": Flag(name="--y", action=Action.PAIR),
    }
    release = Release(engine="sglang", version="9.9", read_version="9.9", flags=flags, aliases={})
    assert parse(["--x", "1x2", "--no-y"], release=release).values == {"x": "1x2", "y": False}


def test_one_command_line_leaves_nothing_for_the_next() -> None:
    """A parser gives the same for the same words, whatever it read before."""
    first = read(*MODEL, "--lora-paths", "a", "--port", "1")
    read(*MODEL, "--foo")
    assert read(*MODEL).values["port"] == 30_000
    assert read(*MODEL, "--lora-paths", "a", "--port", "1") == first


FLAGS = (
    "--tp",
    "--tp-size=4",
    "--tp-size=",
    "--lora-paths=x",
    "--mem-fraction-static",
    "--log-requests",
    "--lora-paths",
    "--no-such",
    "--mem-f",
)
WORDS = st.lists(
    st.sampled_from((*FLAGS, "2", "0.9", "a", "--", "-1", "--kv-cache-dtype=auto")), max_size=6
)


@given(words=WORDS)
@settings(derandomize=True, deadline=None, max_examples=examples(100))
def test_a_parser_of_the_flags_that_are_there_does_what_all_do(words: list[str]) -> None:
    """It looks at the flags that are named, and comes to the values, the rest, and the refusal of the whole parser."""
    same_as_whole(flags_of("0.5.23"), [*MODEL, *words])


def test_public_commands_are_read_as_all_flags_would() -> None:
    """What people write, most of it with every flag in full, comes to what the whole parser makes of it."""
    for command in COMMANDS[::6]:
        same_as_whole(flags_of("0.5.11"), command["argv"])


def test_what_a_command_writes_is_what_its_flags_do() -> None:
    """Without places a command comes to the same settings and the same refusal, for either way to start a server."""
    for command in (*COMMANDS[::6], {"argv": [*MODEL, "--no-such"], "entry": "module"}):
        entry = Entry(command["entry"])
        parsed = parser_of("0.5.11").parse(command["argv"], entry=entry)
        written, refusal = parser_of("0.5.11").written(command["argv"], entry=entry)
        expected = {each.dest: each.value for each in parsed.given if each.dest is not None}
        assert written == expected, command
        assert refusal == parsed.refusal, command


@cache
def flags_of(version: str) -> FlagParser:
    return flag_parser(parser_of(version).release)


def same_as_whole(parser: FlagParser, words: list[str]) -> None:
    def outcome(run: Callable[[list[str], Namespace], list[str]]) -> object:
        namespace = Namespace()
        try:
            extra = run(words, namespace)
        except RefusedError as fault:
            return str(fault.refusal)
        return {**parser.unset, **vars(namespace)}, extra

    whole = outcome(lambda texts, space: parser.whole.parse_known_args(texts, space)[1])
    narrow = outcome(parser.read)
    assert str(narrow) == str(whole)


def seconds(run: Callable[[], object], *, times: int) -> float:
    """The best of several runs, of the processor's time: others may be at work."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def test_all_public_commands_are_read_in_a_moment() -> None:
    """The 935 public commands take well under the ten seconds that judging them may take."""
    parser = parser_of("0.5.23")

    def run() -> Sequence[Parsed]:
        return [parser.parse(each["argv"], entry=Entry(each["entry"])) for each in COMMANDS]

    assert seconds(run, times=1) < 5


def test_a_table_loads_faster_than_its_parser_is_built() -> None:
    """Looking a release up takes a part of what making argparse's parser takes."""
    release = parser_of("0.5.23").release
    table = seconds(lambda: open_catalog().release("sglang", "0.5.23"), times=5)
    assert table < seconds(lambda: flag_parser(release).whole, times=5)
