"""Scripts of traces, given to released SGLang that runs by itself: 0.5.19 has the defects, 0.5.23 goes its own way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from benches import EngineBench
from engine_runs import recorded, started

from kvproto.engines import fitting
from kvproto.engines.child import Child
from kvproto.injection import schedule, script
from kvproto.whatif.subject import subject

pytestmark = [pytest.mark.network, pytest.mark.slow]

INCIDENT, LATE = "incident-reads_no_foreign_data", "0.5.19-writes_spare_other_requests"


@pytest.fixture(scope="module")
def old() -> Iterator[Child]:
    yield from started("0.5.19")


@pytest.fixture(scope="module")
def new() -> Iterator[Child]:
    yield from started("0.5.23")


def ran(child: Child, name: str, needed: bool = False) -> tuple[bool, str]:
    """Whether the release did all of a script, and what was said."""
    trace = recorded(name)
    faults: dict[str, Any] = {"__name__": "faults"}
    exec(compile(script(schedule(subject(trace)), name), "faults.py", "exec"), faults)
    bench = EngineBench(child, child.start(fitting.sizes(trace)).state)
    said: list[str] = []
    return faults["run"](bench, needed, said.append), said[-1]


@pytest.mark.parametrize("needed", [False, True])
@pytest.mark.parametrize("name", [INCIDENT, LATE])
def test_0_5_19_has_both_defects(old: Child, name: str, needed: bool) -> None:
    done, said = ran(old, name, needed)

    assert done, said


@pytest.mark.parametrize(
    ("name", "order"), [(INCIDENT, "finalize(B)"), (LATE, "decode page 0 is B's, and it holds what A wrote")]
)
def test_0_5_23_goes_its_own_way(new: Child, name: str, order: str) -> None:
    done, said = ran(new, name)

    assert not done
    assert order in said
