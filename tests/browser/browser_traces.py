"""The traces whose pages are opened: recorded, random, hostile, and a long one; the same in every run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sglang_walks import EAGERNESS, Call, Walk
from trace_strategies import containing, traces, transfers, values, words

from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import Claim, Const
from kvproto.ir.types import BoolT
from kvproto.trace import codec
from kvproto.trace.analysis import EFFECTS, GUARD_KINDS, VERDICTS, Analysis, Dot, Guard, NoReturn
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace

ROOT = Path(__file__).parent.parent.parent
RECORDED = sorted(path.name.removesuffix(".trace.json") for path in (ROOT / "traces").glob("*.trace.json"))
INCIDENT = "sglang-incident-reads_own_writes"

MARKUP = "</script><img src=x onerror=alert(1)>"
"""What a name may be; where it is not taken as text it says so in a dialog."""


@cache
def recorded(name: str) -> Trace:
    """A trace of `traces/`."""
    return codec.read(ROOT / "traces" / f"{name}.trace.json")


@st.composite
def lassos(draw: st.DrawFn) -> Trace:
    """A run without end with pools and flights."""
    trace = draw(transfers(hostile=False))
    return replace(trace, loop=draw(st.integers(0, len(trace.steps))))


@st.composite
def analysed(draw: st.DrawFn) -> Trace:
    """A trace of which is told what would have been, anything at all."""
    trace = draw(transfers())
    end = len(trace.steps)
    number, path = st.integers(1, max(end, 1)), st.sampled_from(sorted(trace.init))
    guards = st.builds(
        Guard,
        name=words,
        kind=st.sampled_from(GUARD_KINDS),
        value=st.booleans() | words,
        effect=st.sampled_from(EFFECTS),
        step=number,
        since=number,
        action=words,
        condition=words,
        loc=words,
        about=words,
        release=words,
        difference=words,
        verdict=st.sampled_from(VERDICTS),
        other=st.integers(1, 50),
    )
    dots = st.builds(Dot, number, path, values, values, st.sampled_from(["refused", "harmless"]), number, words)
    avoidable = st.lists(st.booleans(), min_size=end + 1, max_size=end + 1).map(tuple)
    no_return = st.builds(
        NoReturn, st.none() | number, st.none() | number, avoidable, st.integers(1, 99), st.booleans()
    )
    if not end:
        return replace(trace, analysis=Analysis(minimised=("nothing to leave out",)))
    measures = [replace(guard, since=min(guard.since, guard.step)) for guard in draw(st.lists(guards, max_size=3))]
    red = draw(st.lists(dots, max_size=4))
    minimised = draw(st.lists(words, max_size=2))
    return replace(trace, analysis=Analysis(tuple(measures), tuple(red), draw(no_return), tuple(minimised)))


KINDS = {
    "transfers": transfers(hostile=False),
    "hostile": transfers(),
    "containers": containing(),
    "lassos": lassos(),
    "analysed": analysed(),
    "anything": traces(),
}
"""Pools with slices and flights, and with nasty names; queues, bags and sets; runs without end; what would have been;
no pictures."""

EACH = 36
"""Random traces of each kind."""


@cache
def randomly(kind: str) -> list[Trace]:
    """Random traces of a kind: what Hypothesis generates first, without its database and without shrinking."""
    found: list[Trace] = []

    @settings(
        max_examples=EACH,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[kind])
    def collect(trace: Trace) -> None:
        found.append(trace)

    collect()
    return found[:EACH]


def hostile() -> Trace:
    """The incident, in which a request, an action, the claim, a preset, paths and a guard are markup."""

    def said(text: str) -> str:
        return MARKUP if text in ("A", "attend", "token_count_check") else text.replace("[A]", f"[{MARKUP}]")

    def put(value: Any) -> Any:
        match value:
            case str():
                return said(value)
            case list():
                return [put(item) for item in value]
            case dict():
                return {said(key): put(item) for key, item in value.items()}
        return value

    data = put(json.loads(codec.dumps(recorded(INCIDENT))))
    return codec.loads(json.dumps(data | {"claim": MARKUP, "preset": MARKUP, "why": []}), name="hostile")


LONG = 1000
"""Steps of the long trace."""

SIZES = {
    "Req": 8,
    "Pos": 24,
    "DPage": 48,
    "PPage": 48,
    "PRow": 4,
    "DRow": 4,
    "short_prompt": 22,
    "prefill_pool": 24,
}
"""Its world: about 900 variables."""


@cache
def long_run() -> Trace:
    """A random walk of `sglang` with eight requests and 48 pages; no request fails while another way is open."""
    walk = Walk("incident", **SIZES, retraction=True, resubmission=True)
    rng = random.Random(3)
    rare = {*EAGERNESS, "finish"} - {"resubmit", "retract", "attend"}
    taken: list[Call] = []
    while len(taken) < LONG:
        order = sorted(walk.shuffled(rng), key=lambda call: call[0].name in rare)
        taken.append(next(call for call in order if walk.take(call)))
    here = walk.system.actions[0].loc
    reached = Claim("walked", "sometimes", "a thousand steps can be taken", "", Const(BoolT(), True, here), here)
    return build_trace(walk.system, Counterexample(reached, walk.machine.zero(), tuple(taken)))


def chunks(found: list[Trace], size: int) -> Iterator[list[Trace]]:
    """Traces in groups, for pages with several of them."""
    for start in range(0, len(found), size):
        yield found[start : start + size]
