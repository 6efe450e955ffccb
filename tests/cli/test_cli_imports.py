"""What a verb loads: nothing that only another verb needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kvproto.shipped import ROOT

TRACE = ROOT / "traces" / "sglang-incident-reads_own_writes.trace.json"

EXTRAS = ("textual", "networkx", "graphviz")
"""What the extras bring: a plain installation has none of it."""

TESTS = ("playwright", "jsonschema", "perfetto", "google.protobuf", "itf_py", "hypothesis", "pytest")
"""What only tests need."""

HEAVY = ("numpy", "jinja2")
"""What takes a while to load, and only some verbs need."""


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        (["--help"], ["rich"]),
        (["show", str(TRACE)], ["kvproto.engine.search", "kvproto.lang.frontend", "kvproto.page", "kvproto.tui"]),
        (["check", "outline@incident", "--quiet"], ["rich", "kvproto.page", "kvproto.tui", "kvproto.replay"]),
    ],
    ids=["help", "show", "check"],
)
def test_a_verb_loads_only_what_it_needs(verb: list[str], more: list[str], tmp_path: Path) -> None:
    text = (
        "import sys\n"
        "from kvproto.cli.main import main\n"
        f"code = main({verb!r})\n"
        f"print(*sorted(m for m in {[*EXTRAS, *TESTS, *HEAVY, *more]!r} if m in sys.modules), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode in (0, 1)
    assert "" == done.stderr.strip()
