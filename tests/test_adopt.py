"""Launches of all kinds become profiles that are compiled to the same; what cannot be carried is said."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.adopt.advice import in_flags
from compiler.adopt.proof import prove
from compiler.adopt.reading import read_words
from compiler.adopt.showing import cover
from compiler.adopt.writing import adopted_toml
from compiler.diagnostics import error
from compiler.engines.adopting import ChangeKind
from examples import examples
from launching import SERVER, SHELF, flags, outcome, read_text


UNIT = """\
[Unit]
Description=Qwen3
After=network-online.target

[Service]
Type=notify
User=llm
Environment="CUDA_VISIBLE_DEVICES=0,1" 'NOTE=two words' CACHE=%C/sglang
Environment=PORT=8000
ExecStart=/opt/venv/bin/python -m sglang.launch_server --model-path Qwen/Qwen3-8B \\
  # two cards
  --tp 2 --port ${PORT} \\
  --json-model-override-args '{"a": "b c"}'
TimeoutStartSec=30min
RestartSec=5
StartLimitBurst=4
"""


def test_a_unit() -> None:
    """Words, variables, specifiers, and the target come from the unit; comments between joined lines are none of it."""
    got = outcome(read_text(UNIT, name="/etc/systemd/system/qwen.service"))
    assert got.codes == []
    wanted = {
        "model.id": "Qwen/Qwen3-8B",
        "gpus.indices": [0, 1],
        "gpus.count": 2,
        "engine.python": "/opt/venv/bin/python",
        "parallel.tensor": 2,
        "serve.port": 8000,
        "env.NOTE": "two words",
        "env.CACHE": "/var/cache/sglang",
        "flags.json-model-override-args": '{"a": "b c"}',
        "targets.host.user": "llm",
        "targets.host.unit": "qwen",
        "targets.host.start_timeout": "30min",
        "targets.host.restart_delay": "5s",
        "targets.host.restarts": 4,
    }
    assert wanted.items() <= got.settings.items()
    assert tomllib.loads(got.text)["targets"]["host"]["kind"] == "systemd"


def test_drop_ins_count() -> None:
    """A drop-in replaces the command and adds to the environment, with places in its own file."""
    files = {
        "/u/qwen.service.d/10-port.conf": f"[Service]\nExecStart=\nExecStart=/usr/bin/{SERVER} --model-path /m/a --tp 4\n",
        "/u/qwen.service.d/20-env.conf": "[Service]\nEnvironment=A=b\n",
    }
    got = outcome(read_text(UNIT, name="/u/qwen.service", files=files))
    assert got.settings["parallel.tensor"] == 4
    assert got.settings["env.A"] == "b"
    assert got.changes(ChangeKind.RENAMED) == ["3: `--tp` is an abbreviation of `--tp-size`"]


def test_an_environment_file() -> None:
    """Its variables beat those of the unit, and reach the command line."""
    text = UNIT.replace(
        "Environment=PORT=8000", "EnvironmentFile=/etc/qwen.env\nEnvironment=PORT=1"
    )
    files = {"/etc/qwen.env": 'PORT=9000\nEXTRA="--enable-metrics --log-level info"\n'}
    text = text.replace("--port ${PORT}", "--port ${PORT} $EXTRA")
    got = outcome(read_text(text, name="/u/qwen.service", files=files))
    assert got.codes == []
    assert got.settings["serve.port"] == 9000
    assert got.settings["flags.log-level"] == "info"
    assert "env.EXTRA" not in got.settings
    (told,) = (each for each in got.changes(ChangeKind.DROPPED) if "`[env]`" in each)
    assert "`PORT`, `EXTRA`" in told


def test_a_variable_that_is_not_set_vanishes() -> None:
    """As systemd drops such a word, and it is said."""
    got = outcome(read_text(UNIT.replace("--tp 2", "--tp 2 $MORE"), name="q.service"))
    assert got.codes == []
    assert any(each.endswith("systemd drops the word") for each in got.changes(ChangeKind.DROPPED))


SCRIPT = """\
#!/bin/bash
set -e
MODEL=/srv/models/Kimi-K2.6
FLAGS=(--trust-remote-code --tool-call-parser "kimi_k2")
[ -n "$DEBUG" ] && echo debugging
export NCCL_P2P_LEVEL=SYS
CUDA_VISIBLE_DEVICES=0,1 nohup numactl --cpunodebind=0 python3 -m sglang.launch_server \\
    --model "$MODEL" --tp 2 "${FLAGS[@]}" \\
    --port ${PORT:-8000} --host $HOST_ADDRESS > server.log 2>&1 &
"""


def test_a_script() -> None:
    """Variables and lists that it sets are known, defaults are taken and said, others are left out and said."""
    got = outcome(read_text(SCRIPT))
    assert got.codes == []
    wanted = {
        "model.path": "/srv/models/Kimi-K2.6",
        "model.id": "moonshotai/Kimi-K2.6",
        "model.trust_remote_code": True,
        "parsers.tool_call": "kimi_k2",
        "serve.port": 8000,
        "env.NCCL_P2P_LEVEL": "SYS",
        "gpus.indices": [0, 1],
    }
    assert wanted.items() <= got.settings.items()
    assert "serve.host" not in got.settings
    assert got.changes(ChangeKind.UNKNOWN) == [
        "9: `--host $HOST_ADDRESS` is not known before the start"
    ]
    assert got.changes(ChangeKind.ASSUMED) == [
        "9: `${PORT:-8000}` is taken to be `8000`, its default"
    ]
    assert "7: `numactl --cpunodebind=0` in front of the launch is not carried" in got.changes(
        ChangeKind.DROPPED
    )


def test_a_variable_can_be_given() -> None:
    """What the caller of a script sets is told with `--var`."""
    got = outcome(read_text(SCRIPT, given={"HOST_ADDRESS": "0.0.0.0", "PORT": "1234"}))
    assert (got.settings["serve.host"], got.settings["serve.port"]) == ("0.0.0.0", 1234)


def test_what_a_branch_sets_is_not_known() -> None:
    """Behind an `if` a variable that it sets may have either value."""
    text = f'TP=2\nif [ -n "$BIG" ]; then\n  TP=8\nfi\n{SERVER} --model-path /m/a --tp $TP\n'
    got = outcome(read_text(text))
    assert "parallel.tensor" not in got.settings
    assert got.changes(ChangeKind.UNKNOWN) == ["5: `--tp ${TP}` is not known before the start"]


def test_a_script_in_a_unit() -> None:
    """`bash -c` is followed into its text, a script beside the unit into its file."""
    inline = f"[Service]\nExecStart=/bin/bash -c 'exec {SERVER} --model-path /m/a --tp 4'\n"
    assert outcome(read_text(inline, name="a.service")).settings["parallel.tensor"] == 4
    outside = "[Service]\nEnvironment=TP=4\nExecStart=/bin/bash /opt/serve.sh 9000\n"
    files = {"/u/serve.sh": f"{SERVER} --model-path /m/a --tp $TP --port $1\n"}
    got = outcome(read_text(outside, name="/u/a.service", files=files))
    assert got.settings["parallel.tensor"] == 4
    assert got.settings["serve.port"] == 9000


CONTAINER = f"""\
docker run -d --rm --gpus all --shm-size 32g -v /data:/models -p 30000:30000 \\
  -e HF_HOME=/models/hf --env NCCL_DEBUG \\
  lmsysorg/sglang:v0.5.12 {SERVER} --model-path /models/m --tp 8
"""


def test_a_container() -> None:
    """The tag of the image is the release; image, volumes, and shared memory are listed, and so is a variable of the caller."""
    got = outcome(read_text(CONTAINER), version=None)
    assert got.codes == []
    assert got.settings["engine.version"] == "0.5.12"
    assert got.settings["env.HF_HOME"] == "/data/hf"
    assert got.settings["model.path"] == "/data/m"
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    for each in (
        "--shm-size 32g",
        "-v /data:/models",
        "-p 30000:30000",
        "sglang:v0.5.12",
    ):
        assert each in dropped
        assert each in got.text
    assert "NCCL_DEBUG" in got.changes(ChangeKind.UNKNOWN)[0]


COMPOSE = """\
x-common: &common
  shm_size: 32g
services:
  cache:
    image: redis
  engine:
    <<: *common
    image: lmsysorg/sglang:v0.5.12
    environment:
      - CUDA_VISIBLE_DEVICES=0
      - LEVEL=${LEVEL:-SYS}
    command: >
      python3 -m sglang.launch_server --model-path /m/a
      --port ${PORT} --log-level info
    volumes: ["/data:/m"]
"""


def test_a_compose_file() -> None:
    """Both forms of a command, interpolation with `.env`, merged tables, and what belongs to the container."""
    got = outcome(
        read_text(COMPOSE, name="/c/compose.yaml", files={"/c/.env": "PORT=8080\n"}), version=None
    )
    assert got.codes == []
    assert got.settings["serve.port"] == 8080
    assert got.settings["env.LEVEL"] == "SYS"
    assert got.settings["flags.log-level"] == "info"
    dropped = got.changes(ChangeKind.DROPPED)
    assert any("shm_size: 32g" in each for each in dropped)
    assert any(each.startswith("15: ") and "/data:/m" in each for each in dropped)


QUADLET = f"""\
[Unit]
Description=In Podman
[Container]
Image=docker.io/lmsysorg/sglang:v0.5.12
Exec={SERVER} --model-path /m/a --served-model-name "a b"
Environment=HF_HOME=/cache
Volume=/data:/m:ro
ShmSize=32g
[Service]
TimeoutStartSec=900
[Install]
WantedBy=default.target
"""


def test_a_quadlet() -> None:
    """Its words and variables are carried, its image, volumes, and shared memory are listed."""
    got = outcome(read_text(QUADLET, name="engine.container"), version=None)
    assert got.codes == []
    assert got.settings["model.served_name"] == "a b"
    assert got.settings["env.HF_HOME"] == "/cache"
    assert "targets.host.manager" not in got.settings
    assert "targets.host.start_timeout" not in got.settings
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    assert "ShmSize=32g" in dropped
    assert "Volume=/data:/m:ro" in dropped


def test_repeated_flags_are_folded() -> None:
    """The last one counts, and the other is named."""
    got = flags("--model-path /m/a --mem-frac 0.8 --mem-fraction-static 0.9")
    assert got.settings["memory.fraction"] == 0.9
    assert got.changes(ChangeKind.FOLDED) == [
        "1: `--mem-frac 0.8` has no effect: `--mem-fraction-static 0.9` comes later"
    ]


def test_what_is_left_to_the_engine_stays_with_it() -> None:
    """Without a context and a fraction no flag of them is written, and the profile says so."""
    got = flags("--model-path /m/a")
    assert (got.settings["serve.context"], got.settings["memory.fraction"]) == ("auto", "auto")
    assert got.codes == []


@pytest.mark.parametrize(
    ("words", "setting", "value"),
    [
        ("--kv-cache-dtype fp4_e2m1", "flags.kv-cache-dtype", "fp4_e2m1"),
        ("--speculative-draft-model-path x/y", "flags.speculative-draft-model-path", "x/y"),
        ("--model-path /m/a/", "model.path", "/m/a/"),
        ("--context-length 16k", "serve.context", 16_000),
        ("--cuda-graph-bs 1 2 4", "flags.cuda-graph-bs", ("1", "2", "4")),
        ("--mem-fraction-static .85", "memory.fraction", 0.85),
        ("--stream-interval 007", "flags.stream-interval", "007"),
    ],
)
def test_a_value_without_a_typed_setting_becomes_a_flag(
    words: str, setting: str, value: object
) -> None:
    """Typed where a setting holds it; else as a flag, in the launch's own digits."""
    got = flags(f"--model-path /m/a {words}")
    assert got.codes == []
    assert got.settings[setting] == value


def test_dp_attention_by_its_successor() -> None:
    """From 0.5.22 on the typed setting writes another flag, which the server puts in the old one's place."""
    got = flags("--model-path /m/a --tp 8 --dp-size 8 --enable-dp-attention", version="0.5.23")
    assert got.codes == []
    assert got.settings["parallel.dp_attention"] is True
    assert "--enable-dp-attention" in "\n".join(got.changes(ChangeKind.RENAMED))


def test_secrets_are_never_written() -> None:
    """Neither a key of the command line nor one of the environment stands in the profile or in what is said."""
    key, token = "sk-abcdefghijklmnop", "hf_abcdefghijklmnop"
    text = f"HF_TOKEN={token} {SERVER} --model-path /m/a --api-key {key}\n"
    got = outcome(read_text(text))
    assert got.codes == []
    assert got.settings["secrets.api_key"] == {"file": "/etc/poolproof/secrets/sglang.yaml"}
    assert len(got.changes(ChangeKind.SECRET)) == 2
    assert key not in got.text + repr(got.adopted and got.adopted.changes)
    assert token not in got.text


@pytest.mark.parametrize(
    "text",
    [
        f"{SERVER} --model-path /m/a sk-abcdefghijklmnop\n",
        f"docker run --env-file x --label sk-abcdefghijklmnop image {SERVER} --model-path /m/a\n",
        f"{SERVER} --model-path /m/a --log-level sk-abcdefghijklmnop\n",
        f"{SERVER} --model-path /m/a --api-key=sk-abcdefghijklmnop --api-key other-key-of-mine\n",
        f"export OPENAI_API_KEY=sk-abcdefghijklmnop\n{SERVER} --model-path /m/a\n",
    ],
)
def test_a_secret_is_shown_nowhere(text: str) -> None:
    """Wherever a key stands, neither a finding nor the profile has it."""
    got = outcome(read_text(text))
    assert got.adopted is not None
    told = [
        got.text,
        *(each.text for each in got.adopted.changes),
        *(line for each in got.found for line in (each.summary, *each.notes, *each.help)),
        *(
            source.text
            for source in cover(
                got.read.sources, got.adopted.secrets, hidden=got.adopted.hidden
            ).values()
            if "--log-level" in text or "--api-key" in text or "export" in text
        ),
    ]
    assert not [each for each in told if "sk-abc" in each or "other-key" in each]


def test_a_file_of_settings_is_the_secret_s_place() -> None:
    """`--config FILE` is what the typed secret writes; with `=` the engine does not read it, and neither do we."""
    got = flags("--model-path /m/a --config /etc/s.yaml")
    assert got.settings["secrets.api_key"] == {"file": "/etc/s.yaml"}
    got = flags("--model-path /m/a --config=/etc/s.yaml")
    assert "secrets.api_key" not in got.settings
    assert "read by nobody" in got.changes(ChangeKind.DROPPED)[0]


def test_a_launch_without_a_model_is_a_fragment() -> None:
    """`launch-incomplete`: all else is carried, and the setting that is missing is named."""
    got = flags("--model-path $MODEL --tp 8")
    assert got.codes == ["launch-incomplete"]
    assert "--var MODEL=..." in got.found[0].help[0]
    assert "model" not in tomllib.loads(got.text)


@pytest.mark.parametrize("words", ["16", "-foo", "--served-model-name a\nb"])
def test_what_a_profile_cannot_hold_is_refused(words: str) -> None:
    """`launch-lost`: a word of no flag, a flag with one dash, a value of two lines."""
    got = outcome(read_words([*SERVER.split(), "--model-path", "/m/a", *words.split(" ")]))
    assert set(got.codes) == {"launch-lost"}
    assert got.text == ""


def test_a_launch_that_no_server_starts_with() -> None:
    """`launch-refused`: the parser's own words are handed on."""
    got = flags("--model-path /m/a --config a.yaml --config b.yaml")
    assert got.codes == ["launch-refused"]
    assert "Multiple config files" in got.found[0].notes[0]


def test_a_flag_that_the_release_refuses_is_carried() -> None:
    """It stands in `[flags]`, where `check` names its replacement; the other flags are read all the same."""
    got = flags("--model-path /m/a --cuda-graph-bs 8 --tp 2", version="0.5.23")
    assert got.codes == []
    assert got.settings["flags.cuda-graph-bs"] == 8
    assert got.settings["parallel.tensor"] == 2


def test_the_proof_finds_what_parts() -> None:
    """`launch-unfaithful`: a text that is compiled to another setting, or to another variable, is not written."""
    got = outcome(read_text(f"A=b {SERVER} --model-path /m/a --tp 2 --log-level info\n"))
    assert got.adopted is not None
    text = adopted_toml(got.adopted, whole=True)
    for before, after in (
        ("tensor = 2", "tensor = 4"),
        ('A = "b"', 'A = "c"'),
        ('"info"', '"debug"'),
    ):
        assert before in text
        found = prove(text.replace(before, after), got.adopted, SHELF.catalog)
        assert [each.code for each in found] == ["launch-unfaithful"]


def test_a_value_that_no_spelling_carries() -> None:
    """What begins with a dash reads as a flag once it is a word of its own; the fold's own proof says so."""
    got = flags("--model-path /m/a --served-model-name=-kimi")
    assert got.codes == ["launch-unfaithful"]


def test_the_newest_release_that_takes_a_launch() -> None:
    """Without a release the newest one that takes all flags reads it, and that is said."""
    got = flags("--model-path /m/a --cuda-graph-max-bs 8", version=None)
    assert got.settings["engine.version"] == "0.5.19"
    said = got.changes(ChangeKind.ASSUMED)[0]
    assert (
        "the newest that takes all of its flags (0.5.20 does not take `--cuda-graph-max-bs`)"
        in said
    )


NAMES = st.sampled_from(
    ["--tp 2", "--tp-size 4", "--dp 2", "--port 9", "--log-level info", "--disable-radix", "--nope", "--nope 3", "7",
     "--api-key secretkeysecret", "--chat-template x", "--cuda-graph-bs 1 2", "--mem-frac $F", "$MORE", "--page-size 16",
     "--kv-cache-dtype fp8_e5m2", "--speculative-algo EAGLE", "--enable-dp-attention", "--trust-remote-code"]
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.lists(NAMES, max_size=8), st.sampled_from(["0.4.6", "0.5.11", "0.5.18", "0.5.23"]))
def test_no_word_is_lost_in_silence(several: list[str], version: str) -> None:
    """Each word of any launch is carried, or spoken of; and what is written is compiled to the same."""
    got = flags(" ".join(["--model-path /m/a", *several]), version=version)
    assert got.adopted is not None
    reading, launch = got.adopted.chosen.reading, got.adopted.launch
    told = {
        *(at for each in reading.carried for at in each.words),
        *(at for each in reading.notes for at in each.words),
        *(at for places in (*reading.secrets.values(), *reading.lost) for at in places),
    }
    assert set(range(launch.found.arguments, len(launch.command.words))) <= told
    assert "launch-unfaithful" not in got.codes


def test_an_image_that_starts_the_engine_itself() -> None:
    """Flags alone behind an image of the engine are its flags, and that is said; behind another image they are nobody's."""
    text = "docker run --gpus all lmsysorg/sglang:v0.5.12 --model-path /m/a --tp 4\n"
    got = outcome(read_text(text), version=None)
    assert got.settings["parallel.tensor"] == 4
    assert "is taken to start `python3 -m sglang.launch_server`" in "\n".join(
        got.changes(ChangeKind.ASSUMED)
    )
    assert read_text(text.replace("lmsysorg/sglang:v0.5.12", "redis")).launch is None


def test_a_relative_path_is_spoken_of() -> None:
    """The unit that is written runs in another folder."""
    assert "make it absolute" in "\n".join(flags("--model-path ./m").changes(ChangeKind.DROPPED))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('write `dsa-decode-backend = "trtllm"` in its place', "write `--dsa-decode-backend trtllm` in its place"),
        ("memory.fraction = 0.926 and serve.context = 101_100  price", "--mem-fraction-static 0.926 and --context-length 101100  price"),
        ("set `serve.context = 40_960` or less", "set `--context-length 40960` or less"),
        (
            "any of\nmemory.fraction = 0.9                        pool 9\nmemory.fraction = 0.9 and gpus.count = 2_048  pool 10",
            "any of\n--mem-fraction-static 0.9                         pool 9\n--mem-fraction-static 0.9 and gpus.count = 2_048  pool 10",
        ),
        ("set `gpus.count = 2`", "set `gpus.count = 2`"),
        ("write `skip-server-warmup = true` in its place", "write `--skip-server-warmup` in its place"),
        ("or set `parallel.dp_attention = false` and `serve.context = 9`", "or leave `--enable-dp-attention` out, and set `--context-length 9`"),
        ("set `parallel.dp_attention = false`", "leave `--enable-dp-attention` out"),
        ("set `gpus.x = false` and `serve.context = 9`", "set `gpus.x = false` and `--context-length 9`"),
    ],
)  # fmt: skip
def test_advice_is_given_in_flags(line: str, told: str) -> None:
    """Who asks about a launch has no settings yet."""
    names = {
        "memory.fraction": "--mem-fraction-static",
        "serve.context": "--context-length",
        "parallel.dp_attention": "--enable-dp-attention",
    }
    assert in_flags(error("x", "x", help=(line,)), names).help == (told,)
