"""Programs in Python: what they would run is read, and nothing of them is run."""

from __future__ import annotations

import pytest

from compiler.engines.adopting import ChangeKind
from launching import outcome, read_text


LIST = '["python", "-m", "sglang.launch_server", "--model-path", "/m/a", "--port", "{0}"]'


def adopted(text: str, **given: str) -> dict[str, object]:
    """The settings of a program, but for those that nobody gave."""
    got = outcome(read_text(text, name="a.py", given=given), version="0.5.11")
    assert "launch-unfaithful" not in got.codes
    return dict(got.settings)


@pytest.mark.parametrize(
    "text",
    [
        f"import subprocess\nsubprocess.Popen({LIST.format(8000)})\n",
        f"cmd = {LIST.format(8000)}\nrun(cmd)\n",
        (
            "PORT = 8000\n"
            'cmd = ["python", "-m", "sglang.launch_server"]\n'
            'cmd += ["--model-path", "/m/a"]\ncmd.extend(["--port"])\ncmd.append(str(PORT))\n'
        ),
        'import os\nos.system("python -m sglang.launch_server --model-path /m/a --port 8000")\n',
        'PORT = 8000\nrun(f"python -m sglang.launch_server --model-path /m/a --port {PORT}", shell=True)\n',
        (
            'cmd = " ".join(["python", "-m", "sglang.launch_server", "--model-path", "/m/a", "--port", "8000"])\n'
            "subprocess.run(cmd, shell=True)\n"
        ),
        'launch_server_cmd("""\npython -m sglang.launch_server --model-path /m/a \\\n --port 8000\n""")\n',
        'def serve(port=8000):\n    return ["python", "-m", "sglang.launch_server", "--model-path", "/m/a", "--port", str(port)]\n',
        'class A:\n    port = 8000\n    def up(self):\n        run(["sglang", "serve", "--model-path", "/m/a", "--port", str(self.port)])\n',
        (
            'p.add_argument("--port", default=8000)\nargs = p.parse_args()\n'
            'run(["sglang", "serve", "--model-path", "/m/a", "--port", str(args.port)])\n'
        ),
    ],
)
def test_a_launch_of_a_program(text: str) -> None:
    """A list of words, a text for a shell, and what both are made of come to the same launch."""
    settings = adopted(text)
    assert (settings["model.path"], settings["serve.port"]) == ("/m/a", 8000)


def test_what_is_known_at_the_start_only_stays_open() -> None:
    """A parameter without a default can be said, and words under a condition that hangs on one may not be there."""
    text = (
        "def up(model, tp=None):\n"
        '    cmd = ["python", "-m", "sglang.launch_server", "--model-path", model]\n'
        "    if tp:\n"
        '        cmd += ["--tp", str(tp)]\n'
        "    subprocess.run(cmd)\n"
    )
    got = outcome(read_text(text, name="a.py"))
    assert got.codes == ["launch-incomplete"]
    assert got.adopted is not None
    (left,) = got.adopted.chosen.reading.open
    assert left.flag == '{["--tp", str(tp)]}'
    assert "`--var model=...`" in got.found[0].help[0]
    said = outcome(read_text(text, name="a.py", given={"model": "Qwen/Qwen3-8B"}))
    assert said.settings["model.id"] == "Qwen/Qwen3-8B"


def test_a_text_that_a_condition_adds_to() -> None:
    """What a branch puts behind a text may not be there either, and is not lost."""
    text = (
        'cmd = "python -m sglang.launch_server --model-path /m/a"\n'
        'if METRICS:\n    cmd += " --enable-metrics"\n'
        "os.system(cmd)\n"
    )
    got = outcome(read_text(text, name="a.py"))
    assert got.adopted is not None
    assert [each.flag for each in got.adopted.chosen.reading.open] == ['{" --enable-metrics"}']


def test_the_variables_of_a_program() -> None:
    """What it sets for itself, and what it gives the server, the server gets."""
    text = (
        'os.environ["A"] = "1"\nenv = os.environ.copy()\nenv["B"] = "2"\nenv.update({"C": os.environ.get("C", "3")})\n'
        f"subprocess.Popen({LIST.format(1)}, env=env)\n"
    )
    settings = adopted(text)
    assert [settings[f"env.{name}"] for name in "ABC"] == ["1", "2", "3"]
    unknown = outcome(read_text(f"def up(env):\n    run({LIST.format(1)}, env=env)\n", name="a.py"))
    assert "the variables of `env={env}` are not known before the start" in "".join(
        unknown.changes(ChangeKind.UNKNOWN)
    )


@pytest.mark.parametrize(
    "text",
    [
        '"""Start it by: python -m sglang.launch_server --model-path /m/a"""\nimport x\n',
        'print("python -m sglang.launch_server --model-path /m/a")\nimport x\n',
        'p.add_argument("--x", help="for python -m sglang.launch_server --model-path /m/a")\n',
        'raise ValueError("python -m sglang.launch_server --model-path /m/a")\n',
        "def (\n# sglang\n",
    ],
)
def test_a_launch_that_is_only_spoken_of(text: str) -> None:
    """What a program says, and what is no Python, is no launch."""
    assert outcome(read_text(text, name="a.py")).codes == ["launch-unreadable"]


def test_a_unit_in_a_program() -> None:
    """A text of another kind that a program holds is read as that, with its places in the program."""
    text = 'UNIT = """[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server --model-path /m/a --tp 2\n"""\n'
    got = outcome(read_text(text, name="a.py"))
    assert got.settings["parallel.tensor"] == 2
    assert got.adopted is not None
    assert got.adopted.launch.command.words[0].span is not None
    assert got.adopted.launch.command.words[0].span.line == 2


def test_several_launches_of_a_program() -> None:
    """Each is told by its line."""
    text = f"run({LIST.format(1)})\nrun({LIST.format(2)})\n"
    assert outcome(read_text(text, name="a.py")).codes == ["launch-several"]
    assert outcome(read_text(text, name="a.py", line=2)).settings["serve.port"] == 2
