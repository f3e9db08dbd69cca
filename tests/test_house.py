"""The house: who may import whom, how large a room may grow, and that every test says what it pins."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from emitted import nodes_of


ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "compiler"

# Each room may import from the rooms in the rows above its own, and from itself; not from its own row.
ROWS = (
    # values that everything speaks of
    ("value", "near"),
    ("secretnames",),
    (
        "abreast",
        "same",
        "listening",
        "bisection",
        "versions",
        "secrecy",
        "quantities",
        "ranges",
        "yamltext",
        "visibledevices",
    ),
    ("most",),
    ("diagnostics", "architecture", "releases", "profile"),
    ("source", "origins", "facts", "unknown", "bounds"),
    ("buffers", "ranks"),
    ("plan",),
    ("rules", "judged", "planjson", "writtenplan", "bars"),
    # text and files in
    ("quoting", "language"),
    ("catalog", "memory", "workspace"),
    ("checkpoint", "engines", "service"),
    # what is decided
    ("inputs", "planner", "consequence"),
    ("checks", "render"),
    ("accept", "concealing"),
    # what the verbs need
    ("remedy", "tree", "explain", "report", "predict", "reference", "schema"),
    ("edit", "starter", "webpage"),
    ("pipeline",),
    # what compiles more than once, and the host, which the compiler never sees
    ("adopt", "diff", "host", "amend", "why"),
    ("cli",),
    ("__main__",),
)
ROW_OF = {room: number for number, row in enumerate(ROWS) for room in row}

# A third-party library is imported by these modules only; attrs by all.
LIBRARIES = {
    "cattrs": ("compiler.host.record",),
    "click": ("compiler.cli",),
    "jinja2": ("compiler.render.templates",),
    "packaging": ("compiler.workspace",),
    "tomlkit": ("compiler.edit.witness",),
    "tree_sitter": ("compiler.adopt.shell", "compiler.adopt.shell.words"),
    "tree_sitter_bash": ("compiler.adopt.shell",),
    "yaml": ("compiler.yamltext",),
}
MODULE_LINES = 300
FUNCTION_LINES = 60

MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("test_*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Everything a module imports, lazily or not, with its line."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "compiler":
                yield from ((f"compiler.{each.name}", node.lineno) for each in node.names)
            else:
                yield node.module, node.lineno


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__version__" else None


def test_every_room_has_a_row() -> None:
    """A new module or folder of the package is put into the table before it is used."""
    rooms = {room for path in MODULES if (room := room_of(name_of(path)))}
    assert rooms - set(ROW_OF) == set()


def test_imports_point_upwards() -> None:
    """A module imports from the rows above its own only, so that a newcomer can read the house from the top."""
    wrong = [
        f"{name_of(path)}:{line}: {imported}"
        for path in MODULES
        if (room := room_of(name_of(path))) is not None
        for imported, line in imports_of(path)
        if imported.startswith("compiler.")
        and (other := room_of(imported)) not in {None, room}
        and ROW_OF[other or ""] >= ROW_OF[room]
    ]
    assert wrong == []


def test_a_library_has_one_place() -> None:
    """A third-party library can be replaced in one place."""
    wrong = [
        f"{name}:{line}: {imported}"
        for path in MODULES
        if (name := name_of(path))
        for imported, line in imports_of(path)
        if (places := LIBRARIES.get(imported.partition(".")[0])) is not None
        and not any(name == place or name.startswith(f"{place}.") for place in places)
    ]
    assert wrong == []


def test_a_module_stays_small() -> None:
    """A module has one reason to exist, and a reader sees all of it."""
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_a_function_stays_small() -> None:
    """A function fits on a screen."""
    long = [
        f"{name_of(path)}.{node.name}: {length} lines"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert long == []


def test_no_engine_is_named_outside_its_own_room() -> None:
    """What differs between engines is asked of the engine, not decided by its name."""
    named = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if "engines" not in path.parts
        for node in nodes_of(path)
        if isinstance(node, ast.Compare)
        for each in (node.left, *node.comparators)
        if isinstance(each, ast.Constant) and each.value in {"sglang", "vllm"}
    ]
    assert named == []


# Texts outside `engines/` that name one, each with its reason; what is said about a plan asks the plan's own engine.
EXAMPLES = {
    "compiler.adopt.programming": "how a command is given",
    "compiler.adopt.spent": "first words of the variables that servers and their libraries read",
    "compiler.catalog.writing": "where the log of one of them prints the figure of a new GPU's file",
    "compiler.cli.session": "how an engine with its release is written",
    "compiler.reference": "a profile",
}


def test_no_text_is_about_one_engine() -> None:
    """A message names the engine that it is about; an example may name any."""
    named = {
        name_of(path)
        for path in MODULES
        if "engines" not in path.parts
        for text in _texts(path)
        if "sglang" in text.lower()
    }
    assert named == EXAMPLES.keys()


def _texts(path: Path) -> Iterator[str]:
    """The texts of a module that do not stand alone, as a docstring does."""
    alone = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_every_test_says_what_it_pins() -> None:
    """A test's docstring is the sentence of behaviour that it pins."""
    silent = [
        f"{path.stem}.{node.name}"
        for path in TESTS
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


NAMES = re.compile(r"(^|_)(utils?|helpers?|managers?|handle[rs]?|process(es)?)($|_)")


def test_names_say_something() -> None:
    """No module and no function is named by what could be said of any."""
    names = [path.stem for path in MODULES] + [
        node.name
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    assert [name for name in names if NAMES.search(name.lower())] == []


PURE = {"language", "memory", "engines", "planner", "checks", "render", "remedy", "plan", "report"}
IMPURE = {
    "time",
    "datetime",
    "socket",
    "subprocess",
    "urllib.request",
    "http",
    "random",
    "getpass",
    "platform",
}


def test_the_core_is_pure() -> None:
    """No step looks at a clock, a network, the host, or chance: the same inputs give the same bytes."""
    impure = [
        f"{name_of(path)}: {imported}"
        for path in MODULES
        if room_of(name_of(path)) in PURE
        for imported, _ in imports_of(path)
        if imported in IMPURE
    ]
    assert impure == []
