"""Published results, reproduced: every model here gives the figures in its header, on every engine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kvproto.engine.search import Options, Result, search
from kvproto.ir.nodes import LIVENESS, System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

if TYPE_CHECKING:
    from expectations import Expect

HERE = Path(__file__).parent
MODELS = sorted(p for p in HERE.glob("*.py") if p.stem not in ("conftest", "expectations") and "test_" not in p.stem)

SMALL = 5000
"""States up to which the slow engines are run too."""

KNOWN = {f.name for f in fields(Options)}
"""Options that the search has."""

PLAIN = {"keep_going": True, "symmetry": False, "por": False}
"""Every state is visited and counted."""

TIERS = ("python", "bytecode", "compiled")
"""Ways to run the fast engine; all must give every figure of a header."""

VARIANTS: dict[str, dict[str, Any]] = {
    "early stop": {"keep_going": False},
    "symmetry": {"symmetry": None},
    "partial order": {"por": True},
    "all reductions": {"symmetry": None, "por": True},
    "two workers": {"workers": 2},
}
"""Ways to search that must not change a verdict."""


def header(path: Path) -> dict[str, Any]:
    """What stands in the module of a model besides the model."""
    find(str(path))
    return next(vars(m) for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(path))


def cases(*, small: bool = False) -> list[Any]:
    """Every setting of every model."""
    found = []
    for path in MODELS:
        for expect in header(path)["EXPECTED"]:
            if not small or expect.states <= SMALL:
                marks = [pytest.mark.slow] if expect.slow else []
                found.append(pytest.param(path, expect, id=f"{path.stem}{expect}", marks=marks))
    return found


def system_of(path: Path, expect: Expect) -> System:
    """The model of the file under the setting."""
    model = find(str(path)).model
    return build(model, choose(model, preset=expect.preset, scope=expect.scope))


def run(system: System, wanted: Mapping[str, Any], **more: Any) -> Result:
    """Search with those of the wanted options that there are; without properties the search cannot judge yet."""
    judged = tuple(claim for claim in system.claims if claim.kind not in UNJUDGED)
    options = Options(**{name: value for name, value in {**wanted, **more}.items() if name in KNOWN})
    return search(replace(system, claims=judged), options)


def lengths(result: Result) -> dict[str, int]:
    """Steps of the counterexamples and witnesses found."""
    runs = {f.claim.name: f.counterexample or f.witness for f in result.findings}
    return {name: len(found.steps) for name, found in runs.items() if found is not None}


def check_counts(result: Result, expect: Expect) -> None:
    """All figures of the header."""
    assert result.complete, result.stopped
    assert (expect.states, expect.depth) == (result.states, result.depth)
    assert expect.transitions in (None, result.transitions)
    check_verdicts(result, expect)
    found = lengths(result)
    assert dict(expect.steps) == {name: found.get(name) for name in expect.steps}


def check_verdicts(result: Result, expect: Expect) -> None:
    """The verdicts of the header, and no others."""
    judged = {f.claim.name: f.verdict for f in result.findings}
    left = sorted({claim.name for claim in result.system.claims} ^ set(judged))
    assert not left
    unjudged = [name for name in expect.verdicts if name not in judged]
    if unjudged:
        print(f"not compared, for runs are not judged yet: {', '.join(unjudged)}")
    assert {name: v for name, v in expect.verdicts.items() if name in judged} == judged


UNJUDGED = LIVENESS
"""Kinds of properties that the search does not judge yet."""


def test_every_file_says_where_it_comes_from() -> None:
    for path in MODELS:
        assert header(path)["SOURCE"] and header(path)["EXPECTED"], path.name


@pytest.mark.parametrize(("path", "expect"), cases())
def test_figures(path: Path, expect: Expect) -> None:
    """On whatever tier the search chooses."""
    system = system_of(path, expect)
    assert {claim.name for claim in system.claims} == set(expect.verdicts)
    check_counts(run(system, PLAIN), expect)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("path", "expect"), cases(small=True))
def test_tiers(path: Path, expect: Expect, tier: str) -> None:
    check_counts(run(system_of(path, expect), PLAIN, tier=tier), expect)


@pytest.mark.parametrize(("path", "expect"), cases(small=True))
def test_reference(path: Path, expect: Expect) -> None:
    """The oracle."""
    check_counts(run(system_of(path, expect), PLAIN, engine="reference"), expect)


@pytest.mark.parametrize("variant", [v for v, wanted in VARIANTS.items() if set(wanted) <= KNOWN])
@pytest.mark.parametrize(("path", "expect"), cases())
def test_variants(path: Path, expect: Expect, variant: str) -> None:
    """Reductions and the like change figures, but no verdict and no length of a counterexample."""
    result = run(system_of(path, expect), PLAIN, **VARIANTS[variant])

    check_verdicts(result, expect)
    found = lengths(result)
    assert dict(expect.steps) == {name: found.get(name) for name in expect.steps}


@pytest.mark.parametrize(("path", "expect"), [case for case in cases() if case.values[1].orbits is not None])
def test_orbits(path: Path, expect: Expect) -> None:
    """Symmetric states are one state, and none of them is two."""
    result = run(system_of(path, expect), PLAIN, symmetry=None)
    if not getattr(result, "symmetric", ()):
        pytest.skip("symmetry is not used yet")
    assert expect.orbits == result.states
