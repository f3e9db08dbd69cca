"""A plan's files: goldens with their real extensions, the proof, and what systemd, bash and shellcheck make of them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from compiler.plan import Option, Plan, Variable
from compiler.profile import HostPath, Name, Secrets, Text
from compiler.quoting.encoders import Place, Unrepresentable, refusal
from compiler.quoting.shellfile import read_env_file
from compiler.quoting.unitfile import read_unit
from compiler.quoting.unitvalue import read_command_line
from compiler.render import RenderedFile, render_target, templates
from compiler.render.proof import prove
from compiler.render.review import render_review
from compiler.render.start import probe_url
from deployments import check_text
from examples import examples
from judges import program, understood_by_systemd, verify_unit
from nasty import names, texts
from plans import PYTHON, story_plan, story_profile, story_target


NASTY_WORDS = (
    "",
    "a b",
    "50%",
    "$HOME",
    "${X}",
    "it's",
    'say "hi"',
    "back\\slash",
    "\\",
    "two\nlines",
    ";",
    "#x",
    "é日😀",
    "-- \t",
)


class UnitFile(SingleFileSnapshotExtension):
    """Goldens that systemd and reviewers can read."""

    _write_mode = WriteMode.TEXT
    file_extension = "service"


class EnvFile(UnitFile):
    """Goldens of environment files."""

    file_extension = "env"


class ScriptFile(UnitFile):
    """Goldens that shellcheck can read."""

    file_extension = "sh"


def user_plan() -> Plan:
    """The story under a user's manager, without variables, memory and secret, on every address."""
    plan = story_plan()
    target = evolve(
        story_target(),
        manager="user",
        user=None,
        state_dir=HostPath("/home/me/.local/state/poolproof/k26"),
    )
    profile = evolve(
        story_profile(),
        description=None,
        serve=evolve(story_profile().serve, host=Text("0.0.0.0"), port=8000),
        secrets=Secrets(),
    )
    assert plan.service is not None
    assert target.state_dir is not None
    service = evolve(plan.service, state_dir=target.state_dir)
    return evolve(
        plan,
        target=target,
        profile=profile,
        service=service,
        environment=(),
        memory=None,
        required_tokens=None,
    )


def nasty_plan(
    *, folder: str = "/srv/a b/50% $x", python: str = "/opt/my env/50%/$x;[y]/python"
) -> Plan:
    """The story with everything that people put into paths, values and descriptions."""
    plan = story_plan()
    assert plan.service is not None
    profile = evolve(plan.profile, description=Text('50% of "it" \\n $HOME; # no comment'))
    return evolve(
        plan,
        profile=evolve(profile, engine=evolve(profile.engine, python=HostPath(python))),
        service=evolve(plan.service, state_dir=folder),
        command=(python, "-c"),
        options=(
            Option(
                flag="--words", values=NASTY_WORDS, setting="flags.words", why="100% `odd`; \\o/"
            ),
        ),
        environment=tuple(
            Variable(name=f"T_{number}", value=value, setting="env")
            for number, value in enumerate(NASTY_WORDS)
        ),
    )


PLANS = {"story": story_plan, "user": user_plan, "nasty": nasty_plan}


def file(plan: Plan, path: str) -> RenderedFile:
    """One of a plan's files."""
    return next(each for each in render_target(plan) if each.path == path)


@pytest.fixture(params=PLANS)
def plan(request: pytest.FixtureRequest) -> Plan:
    """Each of the plans in turn."""
    return PLANS[request.param]()


def test_goldens(snapshot: SnapshotAssertion) -> None:
    """The files a reviewer sees, byte for byte."""
    extensions = {"kimi-k2.6.service": UnitFile, "kimi-k2.6.env": EnvFile, "launch.sh": ScriptFile}
    for name, make in PLANS.items():
        for rendered in render_target(make()):
            if rendered.path in extensions:
                extension = extensions[rendered.path]
                assert rendered.text == snapshot(name=name, extension_class=extension)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "| 8 | 8 |"),
        (
            "parallel = { data = 2 }",
            "| 8 on each of 2 replicas | 16, 8 on each of 2 replicas |",
        ),
        (
            "parallel = { tensor = 2, data = 2, dp_attention = true }",
            "| 8 | 8, 4 on each of 2 replicas |",
        ),
    ],
)
def test_whose_requests_a_limit_counts(tmp_path: Path, more: str, said: str) -> None:
    """A limit is of each replica, or of all ranks of data parallel attention together; the plan says what it comes to."""
    shutil.copytree(Path(__file__).parent / "rules" / "shared", tmp_path / "profiles")
    count = 1 if not more else 2
    text = (
        f'extends = ["base/small"]\ngpus = {{ count = {count} }}\n{more}\n'
        'targets.a = { kind = "systemd", user = "sglang" }\n'
    )
    review = render_review(check_text(tmp_path / "profiles", text).judged)
    assert f"| requests running at once {said}\n" in review


def test_the_files_of_a_target() -> None:
    """A target has a unit, an environment file, a script that can be run, and the probe as it stands."""
    files = render_target(story_plan())
    assert [(each.path, each.executable) for each in files] == [
        ("kimi-k2.6.service", False),
        ("kimi-k2.6.env", False),
        ("launch.sh", True),
        ("ready.py", False),
    ]
    assert files[3].text.encode() == (templates.folder() / "sglang/ready.py").read_bytes()


def test_text_files_end_in_one_newline_and_hold_no_return(plan: Plan) -> None:
    """Files end in a newline, no line ends in a blank, and only a value may hold a carriage return."""
    for rendered in render_target(plan):
        assert rendered.text.endswith("\n")
        assert not rendered.text.endswith("\n\n")
        if "T_0" not in rendered.text:
            assert [line for line in rendered.text.split("\n") if line != line.rstrip()] == []


def test_without_variables_there_is_no_environment_file() -> None:
    """A unit without variables names no environment file, and none is written."""
    files = render_target(user_plan())
    assert [each.path for each in files] == ["kimi-k2.6.service", "launch.sh", "ready.py"]
    assert read_unit(files[0].text).values("Service", key="EnvironmentFile") == ()


def test_one_changed_flag_is_one_changed_line() -> None:
    """A reviewer of a changed flag sees one line of the unit and one of the script."""
    plan = story_plan()
    options = tuple(
        evolve(each, values=("0.94",)) if each.flag == "--mem-fraction-static" else each
        for each in plan.options
    )
    changed = render_target(evolve(plan, options=options))
    for before, after in zip(render_target(plan), changed, strict=True):
        pairs = zip(before.text.split("\n"), after.text.split("\n"), strict=True)
        assert [right.strip() for left, right in pairs if left != right] == (
            ["--mem-fraction-static 0.94 \\"]
            if before.path in {"kimi-k2.6.service", "launch.sh"}
            else []
        )


def test_the_order_of_variables_is_that_of_their_names() -> None:
    """However the plan orders its variables, the files sort them."""
    variables = tuple(Variable(name=name, value="1", setting="env") for name in ("B", "A", "A_"))
    forth, back = (evolve(story_plan(), environment=each) for each in (variables, variables[::-1]))
    assert render_target(forth) == render_target(back)
    assert list(read_env_file(file(forth, "kimi-k2.6.env").text).values) == ["A", "A_", "B"]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:30000"),
        ("0.0.0.0", "http://127.0.0.1:30000"),
        ("::", "http://[::1]:30000"),
        ("10.1.2.3", "http://10.1.2.3:30000"),
        ("fd00::5", "http://[fd00::5]:30000"),
        ("gpu7.example", "http://gpu7.example:30000"),
    ],
)
def test_where_the_probe_asks(host: str, url: str) -> None:
    """The probe asks the address the server listens on, or the loopback when that is every address."""
    assert probe_url(host, port=30000) == url


def test_the_probe_gets_what_the_plan_promises() -> None:
    """The probe knows the promise and the secret's file, and not what the plan does not know."""
    (story,) = read_unit(file(story_plan(), "kimi-k2.6.service").text).values(
        "Service", key="ExecStartPost"
    )
    assert read_command_line(story).commands[0].argv[2:] == (
        *("--url", "http://127.0.0.1:30000", "--required-tokens", "200005", "--timeout", "1800"),
        *("--secret", "/etc/poolproof/secrets/k26.yaml"),
    )
    (other,) = read_unit(file(user_plan(), "kimi-k2.6.service").text).values(
        "Service", key="ExecStartPost"
    )
    assert read_command_line(other).commands[0].argv[1:] == (
        "/home/me/.local/state/poolproof/k26/current/ready.py",
        *("--url", "http://127.0.0.1:8000", "--timeout", "1800"),
    )


def test_the_probe_takes_the_options_the_unit_gives_it() -> None:
    """`ready.py` understands the command line that the unit runs it with."""
    (value,) = read_unit(file(story_plan(), "kimi-k2.6.service").text).values(
        "Service", key="ExecStartPost"
    )
    options = read_command_line(value).commands[0].argv[2:]
    probe = str(templates.folder() / "sglang/ready.py")
    done = subprocess.run(
        [sys.executable, probe, *options, "--timeout", "0"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert b"timeout" in done.stderr
    assert b"unrecognized" not in done.stderr


def test_a_user_unit_asks_nothing_of_the_system_manager() -> None:
    """A user's unit names no user and waits for no target of the system's."""
    unit = read_unit(file(user_plan(), "kimi-k2.6.service").text)
    keys = {each.key for each in unit.assignments}
    assert keys.isdisjoint({"User", "Wants", "After"})
    assert unit.values("Install", key="WantedBy") == ("default.target",)


def test_a_plan_that_cannot_be_rendered_is_a_bug() -> None:
    """Rendering without a target, or without a way to start the engine, is a mistake of the caller."""
    with pytest.raises(ValueError, match="no target"):
        render_target(story_plan(service=None))
    with pytest.raises(ValueError, match="no target"):
        prove(story_plan(service=None), ())
    with pytest.raises(ValueError, match="no command"):
        render_target(story_plan(command=()))


def test_text_that_cannot_be_written_is_refused() -> None:
    """A value that no file can hold raises, and is never written in part."""
    with pytest.raises(Unrepresentable, match="line break"):
        render_target(story_plan(profile=evolve(story_profile(), description=Text("a\nUser=root"))))
    with pytest.raises(Unrepresentable, match="NUL"):
        render_target(story_plan(environment=(Variable(name="A", value="\0", setting="env.A"),)))


# The guard


def template_folder(folder: Path, text: str) -> None:
    """A folder with one template, and with whatever else the package has."""
    (folder / "x.j2").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "{{ name }}",
        "{{ 'a' ~ (name | comment) }}",
        "{% set x %}{{ name | comment }}{% endset %}{{ x }}",
        "{{ 1 }}",
        "{{ none }}",
        "{{ name | comment if name else name }}",
    ],
)
def test_a_template_prints_only_what_an_encoder_made(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that no encoder made stops the rendering."""
    template_folder(tmp_path, text)
    monkeypatch.setattr(templates, "folder", lambda: tmp_path)
    with pytest.raises(TypeError, match="without an encoder"):
        templates.fill("x.j2", name="n")


def test_a_template_may_not_name_what_it_was_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt name stops the rendering."""
    monkeypatch.setattr(templates, "folder", lambda: tmp_path)
    template_folder(tmp_path, "{{ nmae | comment }}")
    with pytest.raises(UndefinedError):
        templates.fill("x.j2", name="n")
    (tmp_path / "y.j2").write_text("# {{ name | comment }}\n", encoding="utf-8")
    assert templates.fill("y.j2", name="n") == "# n\n"


def test_a_missing_probe_says_whose_fault_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package without `ready.py` is named as the bug it is."""
    monkeypatch.setattr(templates, "folder", lambda: tmp_path)
    with pytest.raises(FileNotFoundError, match="bug in how Poolproof was packaged"):
        templates.verbatim("sglang/ready.py")


def test_rendering_alone_loads_jinja() -> None:
    """Importing the renderer does not import jinja2, which costs more than a whole check."""
    code = "import sys, compiler.render, compiler.render.proof; sys.exit('jinja2' in sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        cwd=Path(templates.__file__).parents[2],
    )


# The proof


def test_rendered_files_are_proved(plan: Plan) -> None:
    """What is rendered says what its plan says."""
    assert prove(plan, render_target(plan)) == ()


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.lists(texts, max_size=4), st.dictionaries(names, texts, max_size=3), texts)
def test_any_plan_that_can_be_written_is_proved(
    words: list[str], environment: dict[str, str], text: str
) -> None:
    """Whatever words, values and text a plan holds, its files say the same or it is refused."""
    assume(refusal(text, place=Place.TEXT) is None and text)
    nasty = story_plan(
        profile=evolve(story_profile(), description=Text(text)),
        options=(Option(flag="--x", values=tuple(words), setting="flags.x", why=text),),
        environment=tuple(
            Variable(name=name, value=value, setting="env") for name, value in environment.items()
        ),
    )
    assert prove(nasty, render_target(nasty)) == ()


@pytest.mark.parametrize(
    ("path", "old", "new", "note"),
    [
        (
            "kimi-k2.6.service",
            "--tp-size 8",
            "--tp-size 80",
            "ExecStart= word 9: `8` in the plan, `80` in the file",
        ),
        (
            "kimi-k2.6.service",
            "  --enable-metrics \\\n",
            "",
            "ExecStart= word 31: `--enable-metrics` in the plan, `--config` in the file",
        ),
        (
            "kimi-k2.6.service",
            "k26.yaml\n# Started",
            "k26.yaml x\n# Started",
            "ExecStart= word 34: nothing in the plan, `x` in the file",
        ),
        ("kimi-k2.6.service", "ExecStart=:", "ExecStart=", "ExecStart= has the prefix ``, not `:`"),
        (
            "kimi-k2.6.service",
            "--tp-size 8",
            "--tp-size %8",
            "ExecStart=: `%8` is a specifier and is left as it is",
        ),
        (
            "kimi-k2.6.service",
            "--tp-size 8",
            "--tp-size \\q",
            "ExecStart=: `\\q` is no known escape and is left as it is",
        ),
        (
            "kimi-k2.6.service",
            "--tp-size 8",
            '--tp-size "8',
            'ExecStart=: a quote is left open in `"8    --host 127.0.0.1',
        ),
        (
            "kimi-k2.6.service",
            "--tp-size 8",
            "--tp-size ; /bin/true",
            "ExecStart= holds 2 commands, not one",
        ),
        (
            "kimi-k2.6.service",
            "--tp-size 8 \\\n",
            "--tp-size 8\n",
            "line 21: the line has no `=` and is ignored",
        ),
        (
            "kimi-k2.6.service",
            "200005",
            "200006",
            "ExecStartPost= word 6: `200005` in the plan, `200006` in the file",
        ),
        (
            "kimi-k2.6.service",
            "User=sglang\n",
            "",
            "User= word 1: `sglang` in the plan, nothing in the file",
        ),
        (
            "kimi-k2.6.service",
            "User=sglang\n",
            "User=sglang\nUser=root\n",
            "User= word 2: nothing in the plan, `root` in the file",
        ),
        (
            "kimi-k2.6.service",
            "Description=Kimi",
            "Description=%h Kimi",
            "Description=: `%h` is a specifier and is left as it is",
        ),
        ("kimi-k2.6.service", "k2.6.env", "k2.6*.env", "EnvironmentFile= is more than one path"),
        ("kimi-k2.6.service", "File=/", "File=-/", "EnvironmentFile= is more than one path"),
        (
            "kimi-k2.6.service",
            "Type=exec",
            "Type=exec\nEnvironment=A=1",
            "Environment= sets what the plan does not",
        ),
        (
            "kimi-k2.6.service",
            "[Install]",
            "[Install",
            "line 53: `[Install` is no section header; systemd refuses the file",
        ),
        (
            "kimi-k2.6.env",
            "SYS",
            "PIX",
            "variable `NCCL_P2P_LEVEL`: `SYS` in the plan, `PIX` in the file",
        ),
        (
            "kimi-k2.6.env",
            "NCCL",
            "A=1\nNCCL",
            "variable `A`: nothing in the plan, `1` in the file",
        ),
        (
            "kimi-k2.6.env",
            'SYS"',
            "SYS",
            "line 3: the quote in `NCCL_P2P_LEVEL` is left open and takes the rest of the file",
        ),
        (
            "launch.sh",
            "--tp-size 8",
            "--tp-size 80",
            "exec word 10: `8` in the plan, `80` in the file",
        ),
        ("launch.sh", "--tp-size 8", "--tp-size $8", "line 17: `$` is more than a plain word"),
        (
            "launch.sh",
            "=SYS",
            "=PIX",
            "variable `NCCL_P2P_LEVEL`: `SYS` in the plan, `PIX` in the file",
        ),
        ("launch.sh", "set -eu", "set -e", "set word 2: `-eu` in the plan, `-e` in the file"),
        ("launch.sh", "cd /\n", "cd /\nrm x\n", "it has 4 commands beside its exports, not 3"),
    ],
)
def test_an_unfaithful_file_is_found(path: str, old: str, new: str, note: str) -> None:
    """A file that says anything else than its plan is an error that shows the first difference."""
    plan = story_plan()
    assert old in file(plan, path).text
    files = tuple(
        evolve(each, text=each.text.replace(old, new)) if each.path == path else each
        for each in render_target(plan)
    )
    (found,) = prove(plan, files)
    assert (found.code, found.is_error) == ("rendering-unfaithful", True)
    assert f"`{path}`" in found.summary
    assert any(each.startswith(note) for each in found.notes), found.notes


def test_a_file_that_was_not_rendered_is_found() -> None:
    """The proof is over all files of a target, not over those that happen to be there."""
    found = prove(story_plan(), render_target(story_plan())[:1])
    assert [each.notes for each in found] == [("it was not rendered",)] * 2


# The real judges


def test_a_review_says_what_its_verdict_leaves_out(tmp_path: Path) -> None:
    """What is not priced is no part of the range, and advice of other findings changes no verdict."""
    shared = Path(__file__).parent / "rules" / "shared"
    shutil.copytree(shared, tmp_path / "profiles")
    case = shared.parent / "reserve-unpriced" / "two-batches.toml"
    priced, unpriced = (
        render_review(check_text(tmp_path / "profiles", text, name=name).judged)
        for name, text in (
            (
                "priced",
                case.read_text("utf-8").replace("enable-two-batch", "# ").replace("moe-", "# "),
            ),
            ("unpriced", case.read_text("utf-8")),
        )
    )
    for text in (priced, unpriced):
        assert "**Verdict: pass**, the promise holds over the whole range" in text
        assert "What would change the verdict" not in text
    assert "left out of it" not in priced
    assert "what is not priced below is left out of it" in unpriced
    assert "What would mend the findings:" in unpriced
    assert "leave more reserve than the plan asks for" in unpriced


def test_systemd_starts_what_the_plan_says(plan: Plan) -> None:
    """Systemd's own parser gets the plan's words, and nothing to complain about."""
    told = understood_by_systemd(file(plan, "kimi-k2.6.service").text)
    assert told.complaints == ()
    assert told.commands["ExecStart"] == (plan.argv,)
    (probe,) = told.commands["ExecStartPost"]
    assert plan.service is not None
    assert probe[1] == f"{plan.service.state_dir}/current/ready.py"


def test_systemd_takes_every_setting_of_the_unit() -> None:
    """The unit's other settings are understood as they are meant."""
    told = understood_by_systemd(file(story_plan(), "kimi-k2.6.service").text)
    wanted = {
        "Description": "Kimi K2.6, one 200k-token request at a time",
        "Type": "exec",
        "Restart": "on-failure",
        "RestartSec": "30s",
        "TimeoutStartSec": "31min",
        "TimeoutStopSec": "2min",
        "KillMode": "mixed",
        "WorkingDirectory": "/",
        "EnvironmentFile": "/var/lib/poolproof/kimi-k2.6/current/kimi-k2.6.env",
        "LimitNOFILE": "65536",
        "LimitMEMLOCK": "18446744073709551615",
        "User": "sglang",
    }
    assert {key: told.properties.get(key) for key in wanted} == wanted


def test_systemd_analyze_finds_nothing(plan: Plan) -> None:
    """The unit is clean on a host that has only the program it starts."""
    name = "kimi-k2.6.service"
    assert verify_unit(file(plan, name).text, name=name, programs=(plan.command[0],)) == ""


def test_systemd_analyze_would_find_something() -> None:
    """A misspelt key or a missing program does not pass as clean."""
    name = "kimi-k2.6.service"
    text = file(story_plan(), name).text
    assert "RestrtSec" in verify_unit(
        text.replace("RestartSec", "RestrtSec"), name=name, programs=(PYTHON,)
    )
    assert PYTHON in verify_unit(text, name=name, programs=())


def test_bash_and_shellcheck_find_nothing(plan: Plan, tmp_path: Path) -> None:
    """The script is clean to bash and to shellcheck with all its checks on."""
    script = tmp_path / "launch.sh"
    script.write_bytes(file(plan, "launch.sh").text.encode())
    for command in (["bash", "-n"], ["shellcheck", "--norc"]):
        done = subprocess.run(
            [program(command[0]), *command[1:], str(script)],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


STUB_ENGINE = """\
#!{python}
import json, os, sys
json.dump([sys.argv[1:], {{k: v for k, v in os.environ.items() if k[:2] == "T_"}}, os.getcwd()], sys.stdout)
"""


@pytest.mark.parametrize("where", [".", "a folder"])
def test_the_script_starts_the_engine_with_the_plan(where: str, tmp_path: Path) -> None:
    """Run from anywhere, the script hands the plan's words and variables to the engine, in the unit's directory."""
    program("bash")
    python = tmp_path / "my env" / "50% $x;[y]" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(STUB_ENGINE.format(python=sys.executable), encoding="utf-8")
    plan = nasty_plan(python=str(python))
    script = tmp_path / "launch.sh"
    script.write_bytes(file(plan, "launch.sh").text.encode())
    for path in (python, script):
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "a folder").mkdir()
    environment = {"PATH": os.environ["PATH"], "T_0": "from outside", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [str(script)],
        cwd=tmp_path / where,
        env=environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    words, variables, directory = json.loads(done.stdout)
    assert words == list(plan.argv[1:])
    assert variables == {each.name: each.value for each in plan.environment}
    assert directory == "/"


def test_names_of_units_reach_file_names_as_they_are() -> None:
    """The files are named by the unit, wherever the target is."""
    plan = story_plan()
    assert plan.service is not None
    other = evolve(plan, service=evolve(plan.service, unit="my-model_2"), target_name=Name("b"))
    assert [each.path for each in render_target(other)][:2] == [
        "my-model_2.service",
        "my-model_2.env",
    ]
