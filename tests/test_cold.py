"""What a cold `check` of a profile that passes does without: each of these would cost a twentieth of it, or a hundredth."""

from __future__ import annotations

import subprocess
import sys

from checkouts import REPOSITORY, SHORT


DEAR = (
    "cattrs",
    "compiler.catalog.variants",
    "compiler.checks.neighbours.capping",
    "compiler.engines.sglang.rules.adapters",
    "compiler.language.listedits",
    "compiler.language.spans",
    "compiler.remedy",
    "compiler.render",
    "compiler.report.text",
    "decimal",
    "jinja2",
    "pathlib",
    "shutil",
    "subprocess",
    "tempfile",
)
CODE = f"""
import sys
before = set(sys.modules)  # an editable install looks for its files with some of them
from compiler.cli import main
sys.argv[1:] = ["check", "profiles/{SHORT}.toml"]
try:
    main()
except SystemExit as end:
    print(end.code, *sorted(set({DEAR!r}) & (set(sys.modules) - before)))
"""


def test_a_check_that_passes_loads_nothing_dear() -> None:
    """Of what only a finding, a change, or a file that is written needs, nothing is loaded."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0"
