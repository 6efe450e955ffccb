"""Golden errors: every file in `errors/` is a complete small model with one mistake, beside what is said about it.

Set KVPROTO_UPDATE_GOLDEN=1 to write the `.expect` files anew; then read every change.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kvproto.diagnostics import CATALOGUE, KvError
from kvproto.engine.lower import lower
from kvproto.engine.reference import explore
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.passes.fold import fold

ERRORS = Path(__file__).parent / "errors"
CASES = sorted(p.stem for p in ERRORS.glob("*.py"))
SOURCE = Path(__file__).parents[2] / "kvproto"

NO_GOLDEN_CASE = {
    "KV142": "also raised for text typed at a prompt; a golden case covers the lambda",
    "KV151": "raised by the search, not by the front end",
}
"""Codes of models that need no golden case, with the reason."""

SHOWN = {
    "read_at_import": "KV140",
}


def run(path: Path) -> None:
    """Everything that can refuse a model: import, choice of sizes, front end, lowering, a complete search."""
    model = find(str(path)).model
    system = build(model, choose(model))
    lower(fold(system), system.claims)
    search(system)


def search(system: System) -> None:
    """A complete search that raises the first error of the model itself as the user would see it."""
    error = explore(system).error
    if error is None:
        return
    _, step, node, message, code = error
    line = system.sources[node.loc.file].splitlines()[node.loc.line - 1]
    where = f"reached by {step[0]}" if step else "reached in an initial state"
    raise KvError(code, message, reason=where, cure="the trace leads to it", loc=node.loc, line=line)


@pytest.mark.parametrize("name", CASES)
def test_error_reads_as_recorded(name: str) -> None:
    with pytest.raises(KvError) as caught:
        run(ERRORS / f"{name}.py")
    text = caught.value.diagnostic.render()
    expect = ERRORS / f"{name}.expect"
    if os.environ.get("KVPROTO_UPDATE_GOLDEN"):
        expect.write_text(text)
    assert text == expect.read_text()
