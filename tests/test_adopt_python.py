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


SERVE = '["sglang", "serve", "--model-path", {model}, "--port", str({port})]'


@pytest.mark.parametrize(
    ("before", "model", "port"),
    [
        ('R = "/m"', 'os.path.join(R, "a")', "8000"),
        ('R = Path("/m")', 'R / "a"', "4000 * 2"),
        ('T = {"m": "/m/a", **{"p": 8000}}', 'T["m"]', 'T["p"]'),
        ('C = dict(m="/m/a")\nC["p"] = 8000', 'C["m"]', 'C["p"]'),
        ("BIG = False", '"/m/b" if BIG else "/m/a"', "8001 - 1"),
        ("P = None", '"/m/a"', "P or 8000"),
        ('M = ""', 'M or "/m/a"', "7999 + 1"),
        ('K = "x"', '"/m/a" if K == "x" and not K == "y" else "/m/b"', "8000 if K is not None else 1"),
        ('K = "x"', '"/m/b" if K != "x" or K == "y" else "/m/a"', "8000"),
        ("class B:\n    class C:\n        pass", '"/m/a"', "8000"),
        ('os.environ["P"] = "8000"', 'os.environ.get("M", "/m/a")', "8000"),
    ],
)  # fmt: skip
def test_an_expression_is_worked_out(before: str, model: str, port: str) -> None:
    """Paths, tables, sums, choices, and defaults come to what they would come to, without being run."""
    settings = adopted(f"{before}\nrun({SERVE.format(model=model, port=port)})\n")
    assert (settings["model.path"], settings["serve.port"]) == ("/m/a", 8000)


@pytest.mark.parametrize(
    "text",
    [
        "words = {0}\nmore = words + extra()\nrun(more)\n",
        "words = list({0})\nwords.insert(0, sys.executable)\nrun(words)\n",
        "words = {0}\nif FAST:\n    words.append('--enable-metrics')\nrun(words)\n",
        "for each in MODELS:\n    run({0})\n",
        "match kind:\n    case 1:\n        run({0})\n",
        "async def up():\n    await asyncio.create_subprocess_exec(*{0})\n",
        "with open('log') as log:\n    run({0}, stdout=log)\n",
        "try:\n    run({0})\nexcept OSError:\n    pass\n",
        "if __name__ == '__main__':\n    run({0})\n",
        "run('sglang', 'serve', '--model-path', '/m/a', '--port', '8000')\n",
    ],
)
def test_wherever_a_call_stands_it_is_read(text: str) -> None:
    """In loops, branches, and blocks, behind `await`, and with its words as arguments."""
    words = SERVE.format(model='"/m/a"', port=8000)
    settings = adopted(text.replace("{0}", words))
    assert (settings["model.path"], settings["serve.port"]) == ("/m/a", 8000)


@pytest.mark.parametrize(
    ("port", "left"),
    [
        ("P if BIG else 8000", "{P if BIG else 8000}"),
        ("first() or 8000", "{first() or 8000}"),
        ("T[key]", "{T[key]}"),
        ("8000 / 2", "{8000 / 2}"),
        ('os.environ["P"]', "${P}"),
    ],
)
def test_what_an_expression_hangs_on_is_left_open(port: str, left: str) -> None:
    """A choice that nobody can make here is none, and stays as it is written."""
    words = f'["sglang", "serve", "--model-path", "/m/a", "--port", {port}]'
    got = outcome(read_text(f"run({words})\n", name="a.py"))
    assert got.adopted is not None
    assert "serve.port" not in got.settings
    (span,) = [each for each in got.adopted.launch.command.words if each.unknown]
    assert span.text == left


def test_words_stand_where_they_are_put() -> None:
    """`insert` puts a word at its place; at one that nobody knows it is open."""
    text = 'cmd = ["python", "sglang.launch_server", "/m/a"]\ncmd.insert(1, "-m")\ncmd.insert({0}, "--model-path")\nrun(cmd)\n'
    assert adopted(text.replace("{0}", "3"))["model.path"] == "/m/a"
    got = outcome(read_text(text.replace("{0}", "n"), name="a.py"))
    assert "launch-incomplete" in got.codes


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


def test_an_option_of_the_program_itself_may_be_said() -> None:
    """One without a default is asked for by its own name; what is said of another comes before its default."""
    text = (
        'p.add_argument("--model")\np.add_argument("--tp", default=2)\nargs = p.parse_args()\n'
        'run(["sglang", "serve", "--model-path", args.model, "--tp", str(args.tp)])\n'
    )
    got = outcome(read_text(text, name="a.py"))
    assert "`--var model=...`" in got.found[0].help[0]
    said = outcome(read_text(text, name="a.py", given={"model": "/m/a", "tp": "4"})).settings
    assert (said["model.path"], said["parallel.tensor"]) == ("/m/a", 4)


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
