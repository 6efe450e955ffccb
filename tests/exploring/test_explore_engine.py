"""Exploring released SGLang: both known defects of 0.5.19, and within the same orders none of 0.5.23."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_runs import recorded, started

from kvproto.engines import fitting
from kvproto.engines.child import Child
from kvproto.exploring.beside import Beside
from kvproto.exploring.engine import Engine
from kvproto.exploring.search import Explored, Plan, explore
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

pytestmark = [pytest.mark.network, pytest.mark.slow]

KNOWN = ("reads_own_writes", "writes_spare_other_requests")
LATE = "0.5.19-writes_spare_other_requests"


@pytest.fixture(scope="module")
def old() -> Iterator[Child]:
    yield from started("0.5.19")


@pytest.fixture(scope="module")
def new() -> Iterator[Child]:
    yield from started("0.5.23")


def explored(child: Child, keep: int = 0, **plan: int) -> Explored:
    """The code beside the preset of its version, in the scope of the recorded traces, from `keep` steps of one."""
    named = find(f"sglang@{child.version}")
    beside = Beside(
        build(named.model, choose(named.model, preset=named.preset, scope="small")),
        grouped=Engine.grouped,
        left_out=Engine.left_out,
    )
    late = recorded(LATE)
    engine = Engine(child, fitting.sizes(late), beside.system)
    return explore(engine, beside, Plan(first=beside.path_of(late.steps[:keep]), claims=KNOWN, **plan))


def test_orders_at_random_show_both_defects_of_0_5_19(old: Child) -> None:
    result = explored(old, depth=0, schedules=60, seed=3)

    found = result.findings.violations
    assert {claim: (len(one.path), one.way, one.expected) for claim, one in found.items()} == {
        "reads_own_writes": (17, "sampled", True),
        "writes_spare_other_requests": (18, "sampled", True),
    }
    assert result.exit_code == 1


def test_the_same_orders_show_none_in_0_5_23(old: Child, new: Child) -> None:
    result = explored(new, depth=0, schedules=30, seed=3)

    assert result.extents[0].schedules == 30
    assert result.findings.violations == {}


@pytest.mark.parametrize(("keep", "depth"), [(15, 3)])
def test_every_order_after_the_abort(old: Child, new: Child, keep: int, depth: int) -> None:
    before, after = (explored(child, keep, depth=depth, schedules=0) for child in (old, new))

    (found,) = before.findings.violations.values()
    assert (found.claim, found.way, len(found.path)) == ("writes_spare_other_requests", "bounded", keep + depth)
    assert str(found.path[-1]) == "land(A, 0)"
    assert after.findings.violations == {}
    assert [extent.depth for extent in (*before.extents, *after.extents)] == [depth, depth]


def test_the_shallow_orders_agree_with_the_model(new: Child) -> None:
    result = explored(new, depth=3, schedules=0)

    assert result.extents[0].places > 50
    assert not result.findings.wrong
    assert result.exit_code == 3
