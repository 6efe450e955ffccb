"""Published results, reproduced: every model here gives the figures in its header, on every engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kvproto.engine.search import Options, Result, search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

if TYPE_CHECKING:
    from expectations import Expect

HERE = Path(__file__).parent
MODELS = sorted(set(HERE.glob("*.py")) - {HERE / name for name in ("expectations.py", "test_corpus.py")})

SMALL = 4000
"""States up to which the slow engines are run too."""

PLAIN: dict[str, Any] = {"keep_going": True, "symmetry": False, "por": False}
"""Every state is visited and counted."""

SAME: dict[str, dict[str, Any]] = {
    "reference": {"engine": "reference"},
    "python": {"tier": "python"},
    "bytecode": {"tier": "bytecode"},
    "compiled": {"tier": "compiled"},
    "two workers": {"workers": 2},
}
"""Ways to search that must give every figure."""

REDUCED: dict[str, dict[str, Any]] = {
    "early stop": {"keep_going": False},
    "symmetry": {"symmetry": None},
    "partial order": {"por": True},
    "all reductions": {"symmetry": None, "por": True, "keep_going": False},
}
"""Ways to search that visit fewer states and must give the same verdicts."""


def header(path: Path) -> dict[str, Any]:
    """What stands in the module of a model besides the model."""
    find(str(path))
    return next(vars(m) for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(path))


def settings() -> Iterator[tuple[Path, Expect]]:
    """Every setting of every model."""
    for path in MODELS:
        for expect in header(path)["EXPECTED"]:
            yield path, expect


def cases(ways: dict[str, dict[str, Any]], *, most: int | None = None) -> list[Any]:
    """Every setting of a size, with every way to search; the slow ones with the last only."""
    return [
        pytest.param(
            path,
            expect,
            {**PLAIN, **ways[way]},
            id="-".join(filter(None, (path.stem, str(expect), way))),
            marks=[pytest.mark.slow] if expect.slow else [],
        )
        for path, expect in settings()
        if most is None or expect.states <= most
        for way in (list(ways)[-1:] if expect.slow else ways)
    ]


def run(path: Path, expect: Expect, options: dict[str, Any]) -> Result:
    """Search the model of the file under the setting."""
    model = find(f"{path}:{expect.model}").model
    system = build(model, choose(model, preset=expect.preset, scope=expect.scope, sets=expect.sets))
    return search(system, Options(**options))


def check_verdicts(result: Result, expect: Expect) -> None:
    """The verdicts of the header, no others, and shortest counterexamples."""
    assert dict(expect.verdicts) == {f.claim.name: f.verdict for f in result.findings}
    runs = {f.claim.name: f.counterexample or f.witness for f in result.findings}
    assert dict(expect.steps) == {name: len(runs[name].steps) if runs[name] else None for name in expect.steps}


def check_figures(result: Result, expect: Expect) -> None:
    """Everything that the header says."""
    assert result.complete, result.stopped
    assert expect.states == result.states
    assert expect.depth in (None, result.depth)
    assert expect.transitions in (None, result.transitions)
    check_verdicts(result, expect)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_header(path: Path) -> None:
    """Every file says where its figures come from."""
    assert header(path)["SOURCE"]
    assert header(path)["EXPECTED"]


@pytest.mark.parametrize(("path", "expect", "options"), cases({"": {}}))
def test_figures(path: Path, expect: Expect, options: dict[str, Any]) -> None:
    check_figures(run(path, expect, options), expect)


@pytest.mark.parametrize(("path", "expect", "options"), cases(SAME, most=SMALL))
def test_every_engine(path: Path, expect: Expect, options: dict[str, Any]) -> None:
    check_figures(run(path, expect, options), expect)


@pytest.mark.parametrize(("path", "expect", "options"), cases(REDUCED))
def test_reductions(path: Path, expect: Expect, options: dict[str, Any]) -> None:
    check_verdicts(run(path, expect, options), expect)


@pytest.mark.parametrize(
    ("path", "expect", "options"),
    [case for case in cases({"": {"symmetry": None}}) if case.values[1].orbits is not None],
)
def test_orbits(path: Path, expect: Expect, options: dict[str, Any]) -> None:
    """Symmetric states are one state, and none of them is two."""
    assert expect.orbits == run(path, expect, options).states
