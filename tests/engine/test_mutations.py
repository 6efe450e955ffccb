"""Breaks the engine on purpose: every broken operation must be noticed by the random programs that guard it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from engine_programs import random_program
from engine_toy import OutOfRange, ToyExplorer
from test_explorers import ENGINE_FOLDER, explored, needs_c, seen

from kvproto.engine import c_explorer, native, tier0, tier2
from kvproto.engine.bytecode import Code
from kvproto.engine.c_explorer import CExplorer, EngineFailure
from kvproto.engine.compile_c import build, library_suffix, source_hash
from kvproto.engine.native import Engine
from kvproto.engine.program import Op
from kvproto.engine.tier0 import PythonExplorer

pytestmark = pytest.mark.slow

PROGRAMS = range(250)

BROKEN_C = {
    "an addition": ("c/interpret.h", "BINARY(ADD, UA + UB)", "BINARY(ADD, UA + UB + 1)"),
    "a subtraction": ("c/interpret.h", "BINARY(SUB, UA - UB)", "BINARY(SUB, UB - UA)"),
    "a comparison": ("c/interpret.h", "BINARY(LE, A <= B)", "BINARY(LE, A < B)"),
    "rounding": ("c/interpret.h", "return q - (a % b != 0 && (a < 0) != (b < 0));", "return q;"),
    "a set difference": ("c/interpret.h", "BINARY(BANDN, UA & ~UB)", "BINARY(BANDN, UA & UB)"),
    "a masked test": ("c/interpret.h", "NEXT(MATCHES(ip->i.a) ? 2 : IMM)", "NEXT(MATCHES(ip->i.a) ? IMM : 2)"),
    "a store": ("c/interpret.h", "(words[word] & ~(mask << shift))", "words[word]"),
    "a guard": ("c/expand.h", "first &= row[0];", "first |= row[0];"),
    "an action left out": ("c/expand.h", "set &= set - 1) {", "set &= set - 1) {\nif (set == 2) continue;"),
    "a comparison of pairs": (
        "c/table.h",
        "known |= (line[i] == pair[0]) & (x == (rest | far));",
        "known |= x == (rest | far);",
    ),
    "a comparison of words": ("c/table.h", "known |= line[i] == word;", "known |= line[i] >= word;"),
    "what was seen lately": ("c/expand.h", "key[0]++;", "break;"),
    "a link": ("c/search.h", "link_state(e, state, (uint32_t)e->expanded,", "link_state(e, state, 0,"),
    "a violation": ("c/search.h", "if (e->violation[i] == NO_STATE)", "if (1)"),
    "a deadlock": ("c/search.h", "if (from->deadlock && e->deadlock == NO_STATE)", "if (0)"),
    "a comparison of states": ("c/hash.h", "difference |= x[w] ^ y[w];", "difference = x[w] ^ y[w];"),
}
"""File of the engine, what stands there, and what is put in its place."""


def noticed(make: type[PythonExplorer] | type[CExplorer], **fields: object) -> bool:
    """Whether some random program shows a difference from the toy."""
    for number in PROGRAMS:
        program, initial = random_program(number)
        try:
            expected = seen(explored(ToyExplorer(program), initial, 10**9), len(program.claims))
        except OutOfRange:
            continue
        try:
            explorer = make(program, **fields)  # type: ignore[arg-type]
            said = seen(explored(explorer, initial, 10**9), len(program.claims))
        except (EngineFailure, IndexError, ValueError, AssertionError):
            return True
        if said != expected:
            return True
    return False


@needs_c
@pytest.mark.parametrize("name", BROKEN_C)
def test_a_broken_engine_is_noticed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One change in the C source; also with numbered states, where some of it runs only then."""
    file, old, new = BROKEN_C[name]
    folder = tmp_path / "engine"
    shutil.copytree(ENGINE_FOLDER / "c", folder / "c")
    shutil.copy(ENGINE_FOLDER / "engine.c", folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    (folder / file).write_text(text.replace(old, new))
    target = folder / f"broken{library_suffix()}"
    build(folder / "engine.c", target)
    library = native._load(target, source_hash(folder / "engine.c"))
    assert not isinstance(library, str), library
    monkeypatch.setattr(c_explorer, "load_engine", lambda: Engine(library, target, "test"))

    assert noticed(CExplorer) or noticed(CExplorer, numbered=True)


@needs_c
@pytest.mark.parametrize("code", [Code.ADD, Code.LT, Code.BAND, Code.EQI, Code.LOAD, Code.POPCOUNT])
def test_broken_printed_c_is_noticed(code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation answers one more than it should."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(tier2.EXPRESSIONS, code, f"1 + ({tier2.EXPRESSIONS[code]})")
    monkeypatch.setattr("test_mutations.PROGRAMS", range(40))

    assert noticed(CExplorer, compiling="now")


@pytest.mark.parametrize("op", sorted(tier0.EXPRESSIONS))
def test_broken_printed_python_is_noticed(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the Python tier, every operation."""
    monkeypatch.setitem(tier0.EXPRESSIONS, op, f"1 + ({tier0.EXPRESSIONS[op]})")

    assert noticed(PythonExplorer)
