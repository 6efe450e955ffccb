"""The model and the implementation agree on every variable after every step, whatever the schedule.

The two were written from the same description and share no code.  Random walks of the model, stepped as plain Python,
are replayed; in the other direction the implementation must refuse whatever the model's guards forbid.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import agreement
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outline_walks import ACTIONS, SCOPES, SWITCHES, Walk, incident, late_write, misplaced, random_parameters

from kvproto.reference.outline import Switches
from kvproto.reference.refusal import Refused
from kvproto.replay import outline, replay
from kvproto.trace.trace import Trace

WALKS = 200
"""Random walks of up to 40 steps."""


def checksum_sees_misplaced(trace: Trace) -> int | None:
    """The first step where a checksum notices the request's own pages at wrong places, or None; steps count from 1.

    The model keeps the writer of a page and not which page of the prompt it is, so its checksum lets this pass: the
    one known place where the implementation sees more.  Computed from the steps, not from the implementation.
    """
    states = trace.states()
    before = next(states)
    source: dict[object, object] = {}
    target: dict[object, object] = {}
    for number, (step, after) in enumerate(zip(trace.steps, states, strict=True), 1):
        q = f"req[{step.args['r']}]"
        slots = range(int(trace.parameters["Slot"]))
        if step.action == "forward":
            source |= {page: k for k in slots if (page := after[f"{q}.source[{k}]"]) is not None}
        if step.action == "land":
            k = step.args["k"]
            target[before[f"{q}.target[{k}]"]] = source[before[f"{q}.source[{k}]"]]
        if step.action == "attend" and trace.parameters["checksum"] and after[f"{q}.decode"] == "RUNNING":
            places = {k: page for k in slots if (page := before[f"{q}.target[{k}]"]) is not None}
            if before[f"{q}.decode"] == "READY" and any(target[page] != k for k, page in places.items()):
                return number
        before = after
    return None


def assert_agrees(trace: Trace) -> None:
    """Agreement up to what a checksum sees and the model does not."""
    agreement.assert_agrees(trace, checksum_sees_misplaced(trace))


@pytest.mark.slow
def test_random_walks_agree_on_all_variables() -> None:
    """Thousands of steps, with random switches and in all sizes; every action and every switch takes part."""
    seen: Counter[str] = Counter()
    for seed in range(WALKS):
        rng = random.Random(seed)
        walk = Walk(random_parameters(rng))
        walk.wander(rng, 40)
        assert_agrees(walk.trace())
        seen.update(step.action for step in walk.steps)
        seen.update(f"{name}={walk.values[name]}" for name in SWITCHES)
        seen["steps"] += len(walk.steps)

    assert not [name for name in ACTIONS if not seen[name]]
    assert not [f"{name}={on}" for name in SWITCHES for on in (True, False) if not seen[f"{name}={on}"]]
    assert seen["steps"] > 3000


def test_the_implementation_has_the_actions_and_switches_of_the_model() -> None:
    """No action and no switch of the model is missing in the driver's tables, and none is there in vain."""
    defaults = {name: getattr(Switches(), name) for name in SWITCHES}

    assert set(ACTIONS) == set(outline.ACTIONS)
    assert set(SWITCHES) == set(outline.SWITCHES)
    assert {**dict.fromkeys(SWITCHES, False), "release_timeout": True} == defaults
    assert set(SCOPES) == {"small", "medium", "incident"}


sizes = st.integers(1, 4)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), sizes, sizes, sizes, sizes, sizes)
def test_other_sizes_agree_too(seed: int, slots: int, short: int, large: int, pool: int, decode: int) -> None:
    """Sizes that no scope has, pools smaller than prompts included."""
    rng = random.Random(seed)
    large = max(large, slots)
    values = random_parameters(rng) | {
        "Req": 3,
        "Slot": slots,
        "short_prompt": min(short, slots),
        "PPage": large,
        "prefill_pool": min(pool, large),
        "DPage": decode,
    }
    walk = Walk(values)
    walk.wander(rng, 30)

    assert_agrees(walk.trace())


@pytest.mark.parametrize("seed", range(32))
def test_the_implementation_refuses_what_the_model_forbids(seed: int) -> None:
    """In every state of a walk every action whose guard is false is refused, and refusing changes nothing."""
    rng = random.Random(seed)
    # The guards of a deferred release are many, and random switches alone seldom come to them.
    deferred = {"deferred_release": True, "release_timeout": True} if seed % 2 else {}
    walk = Walk(random_parameters(rng) | {"checksum": False} | deferred)
    run = outline.OutlineRun.start(walk.values, "numpy")
    for _ in range(25):
        possible = []
        for call in walk.shuffled(rng):
            if walk.after(call) is not None:
                possible.append(call)
                continue
            with pytest.raises(Refused):
                run.perform(walk.as_step(call, {}))
        assert walk.flat == run.state(run.texts())
        if not possible:
            break
        assert walk.take(possible[0])
        run.perform(walk.steps[-1])


def flipped(trace: Trace, name: str) -> bool:
    """Whether the implementation ends elsewhere when one switch is the other way round than in the model."""
    run = outline.OutlineRun.start({**trace.parameters, name: not trace.parameters[name]}, "numpy")
    states = trace.states()
    next(states)
    for step, state in zip(trace.steps, states, strict=True):
        try:
            run.perform(step)
        except Refused:
            return True
        if run.state(run.texts()) != state:
            return True
    return False


def walks_with(name: str) -> Iterator[Trace]:
    """Walks in which a switch can make itself felt."""
    fixed = {"reject_at_admission": False, name: True}
    if name in ("bounded_batch", "prompt_abort"):
        # These two only forbid; a walk without them does what they would have forbidden.
        fixed |= {"deferred_release": True, "release_timeout": True, name: False}
    for seed in range(200):
        rng = random.Random(seed)
        walk = Walk(random_parameters(rng) | fixed)
        walk.wander(rng, 40)
        yield walk.trace()


@pytest.mark.parametrize("name", [name for name in SWITCHES if name != "page_tags"])
def test_each_switch_matters_to_the_comparison(name: str) -> None:
    """Agreement means something: with one switch the other way round the two come apart."""
    if name == "larger_pool":
        assert flipped(misplaced(prefill_pool=1), name)
    elif name in ("checksum", "carried_tags"):
        assert flipped(incident(), name)
    else:
        assert any(flipped(trace, name) for trace in walks_with(name))


def test_page_tags_never_refuse_anything() -> None:
    """Decode owns its pages as long as it may read them, so a tag that changes on reallocation never differs."""
    assert not any(flipped(trace, "page_tags") for trace in (incident(), late_write(), misplaced()))


def test_a_checksum_sees_pages_in_wrong_places_and_the_model_does_not() -> None:
    """The known difference: the model's `content` is a writer, real bytes are a writer and a place."""
    trace = misplaced(checksum=True)
    result = replay(trace)

    assert result.divergence is not None
    assert ("req[B].client", "WAITING", "FAILED_500") == (
        result.divergence.path,
        result.divergence.model,
        result.divergence.implementation,
    )
    assert len(trace.steps) == result.divergence.step == checksum_sees_misplaced(trace)
    assert replay(misplaced()).agrees
    assert ("[B:kiwi page 1] " * 2,) == replay(misplaced()).answers["B"].read
