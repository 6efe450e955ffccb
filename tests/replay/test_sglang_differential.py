"""The model `sglang` and its implementation agree on every variable after every step, whatever the schedule.

The two share no code.  Random walks of the model, stepped by the reference evaluator, are replayed; in the other
direction the implementation must refuse whatever the model's guards forbid.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import agreement
import pytest
from sglang_walks import SCOPES, SWITCHES, Walk, answered, as_step, deep, incident, landed, posted, random_settings

from kvproto.reference.refusal import Refused
from kvproto.replay import replay, sglang
from kvproto.trace.trace import State, Trace

GROUPS = 60
"""Bindings of the model; building one takes as long as many walks, so each has several."""

WALKS = 4
STEPS = 80

Place = tuple[object, ...]


def walks(groups: int, seed: int = 0, **settings: bool | int) -> Iterator[Walk]:
    """Random walks in all scopes with random switches, some of them given."""
    for group in range(seed, seed + groups):
        rng = random.Random(group)
        chosen = random_settings(rng) | settings
        scope = rng.choice(SCOPES)
        for _ in range(WALKS):
            yield Walk(scope, **chosen).wander(rng, STEPS)


def checksum_sees_misplaced(trace: Trace) -> int | None:
    """The first step where a checksum notices the request's own pages at wrong places, or None; steps count from 1.

    The model keeps the writer of a page and not which page of the prompt it is, so its checksum lets this pass: the
    one known place where the implementation sees more.  Computed from the steps, not from the implementation.
    """
    states = trace.states()
    before = next(states)
    filled: dict[object, object] = {}
    written: dict[Place, object] = {}
    for number, (step, after) in enumerate(zip(trace.steps, states, strict=True), 1):
        q = f"req[{step.args.get('r')}]"
        positions = range(int(trace.parameters["Pos"]))
        if step.action in ("forward", "forward_chunk", "compute_chunk"):
            filled |= {page: k for k in positions if (page := after[f"{q}.source[{k}]"]) is not None}
        if step.action in ("land", "land_late"):
            p, d, k = step.args["p"], step.args["d"], step.args["k"]
            target = before[f"receiver[{d}][{step.args['r']}].target[{k}]"]
            written[p, d, target] = filled.get(before[f"{q}.source[{k}]"])
        if step.action == "attend" and trace.parameters["checksum"] and after[f"{q}.decode"] == "RUNNING":
            if before[f"{q}.decode"] == "READY" and not in_place(str(step.args["r"]), before, written, positions):
                return number
        before = after
    return None


def in_place(name: str, state: State, written: dict[Place, object], positions: range) -> bool:
    """Whether what was written into a request's pages came from the same positions."""
    return all(
        position == k
        for k in positions
        for (_, d, page), position in written.items()
        if state[f"receiver[{d}][{name}].target[{k}]"] == page
    )


def assert_agrees(trace: Trace) -> None:
    """Agreement up to what a checksum sees and the model does not."""
    agreement.assert_agrees(trace, checksum_sees_misplaced(trace))


@pytest.mark.slow
def test_random_walks_agree_on_all_variables() -> None:
    """Thousands of steps, with random switches and in all scopes; every action and every switch takes part."""
    seen: Counter[str] = Counter()
    for walk in walks(GROUPS):
        assert_agrees(walk.trace())
        seen.update(step.action for step in walk.steps)
        seen.update(f"{name}={walk.system.parameters[name]}" for name in SWITCHES)
        seen["steps"] += len(walk.steps)

    assert not [name for name in sglang.ACTIONS if not seen[name]]
    assert not [f"{name}={on}" for name in SWITCHES for on in (True, False) if not seen[f"{name}={on}"]]
    assert seen["steps"] > 5000


@pytest.mark.parametrize("scope", SCOPES)
def test_walks_of_the_presets_agree(scope: str) -> None:
    """Every scope, with the switches of the release of the incident and of the last one."""
    for preset in ("0.5.19", "0.5.23"):
        rng = random.Random(preset)
        for _ in range(3):
            assert_agrees(Walk(scope, preset=preset).wander(rng, STEPS).trace())


DEEP: list[tuple[str, str, dict[str, bool | int]]] = [
    ("small", "0.5.19", {}),
    ("chunks", "0.5.21", {}),
    ("small", "0.5.23", {}),
    ("fan-out", "0.5.21", {}),
    ("fan-in", "0.5.22", {}),
    ("pages", "patched", {}),
    ("incident", "incident", {}),
    ("pages", "0.5.19", {"resubmission": True, "faults": 2}),
    ("fan-in", "0.5.19", {"pipeline": True, "Pos": 2, "PPage": 2, "DPage": 2, "prefill_pool": 2, "two_chunks": True}),
    ("chunks", "0.5.22", {"early_send": True, "decode_tree": True, "early_send_wait": False}),
    ("small", "0.5.22", {"worker_crash": True, "node_failure": True, "message_loss": True, "faults": 2}),
    ("small", "0.5.23", {"retraction": True, "faults": 2}),
]


@pytest.mark.parametrize(("scope", "preset", "settings"), DEEP)
def test_states_deep_in_a_search_are_reached_alike(scope: str, preset: str, settings: dict[str, bool | int]) -> None:
    """Shortest ways into late states meet more than random walks do: pages reused, rooms forgotten, late writes."""
    steps = 0
    for walk in deep(scope, 20, limit=300_000, seed=1, preset=preset, **settings):
        assert_agrees(walk.trace())
        steps += len(walk.steps)

    assert steps > 300


def test_the_implementation_has_the_actions_and_parameters_of_the_model() -> None:
    """Nothing of the model is missing in the driver's tables, and nothing is there in vain."""
    system = Walk("small").system

    assert {action.name for action in system.actions} == set(sglang.ACTIONS)
    assert {action.name: tuple(p.name for p in action.params) for action in system.actions} == {
        name: arguments for name, (arguments, _) in sglang.ACTIONS.items()
    }
    assert set(SWITCHES) == set(sglang.SWITCHES)
    assert set(system.parameters) == {*sglang.SIZES, *sglang.SWITCHES}


@pytest.mark.parametrize("scope", ["small", "fan-in", "fan-out"])
def test_variables_stand_in_the_models_order(scope: str) -> None:
    """The first difference that is named is the first one in the model."""
    walk = Walk(scope)
    run = sglang.SglangRun.start(walk.system.parameters, "numpy")

    assert list(walk.init.items()) == list(run.state(run.texts()).items())


@pytest.mark.parametrize("seed", range(16))
def test_the_implementation_refuses_what_the_model_forbids(seed: int) -> None:
    """In every state of a walk every action whose guard is false is refused, and refusing changes nothing."""
    rng = random.Random(seed)
    # The guards of a deferred release are many, and random switches alone seldom come to them.
    deferred = {"deferred_release": True, "defer_all_failures": True} if seed % 2 else {}
    walk = Walk(rng.choice(SCOPES), **(random_settings(rng) | {"checksum": False} | deferred))
    run = sglang.SglangRun.start(walk.system.parameters, "numpy")
    for _ in range(40):
        possible = []
        for call in walk.shuffled(rng):
            if walk.after(call) is not None:
                possible.append(call)
                continue
            with pytest.raises(Refused):
                run.perform(as_step(call, {}))
        assert walk.shown() == run.state(run.texts())
        if not possible:
            break
        assert walk.take(possible[0])
        run.perform(walk.steps[-1])


def flipped(trace: Trace, name: str) -> bool:
    """Whether the implementation ends elsewhere when one switch is the other way round than in the model."""
    result = replay(replace(trace, parameters={**trace.parameters, name: not trace.parameters[name]}))
    return result.divergence is not None


HELP: dict[str, dict[str, bool]] = {
    "hasty_timeouts": {"timeouts": True, "message_loss": False, "worker_crash": False},
    "unequal_lengths": {"larger_pool": False},
    "early_send": {"two_chunks": True},
    "early_send_wait": {"early_send": True, "two_chunks": True, "larger_pool": True, "early_send_wait": False},
    "decode_tree": {"transfer_failures": False, "checksum": False, "carried_tags": False},
    "aux_loss": {"transfer_failures": False, "client_disconnects": False},
    "retire_after_forward": {"reject_at_admission": False, "unequal_lengths": False, "larger_pool": False},
    "reject_at_admission": {"unequal_lengths": False, "larger_pool": False},
    "probe": {"transfer_failures": True},
    "poison": {"transfer_failures": True, "deferred_release": True},
    "failure_to_all": {"transfer_failures": True},
    "keep_ack_target": {"deferred_release": True, "generations": False, "poison": False},
    "defer_all_failures": {"deferred_release": True},
    "rank_agreement": {"deferred_release": True},
    "no_release_timeout": {"deferred_release": True, "no_release_timeout": False, "bounded_batch": False},
    "prompt_abort": {"deferred_release": True, "prompt_abort": False, "no_release_timeout": False},
    "generations": {"deferred_release": True, "poison": False},
    "batch_recheck": {"bounded_batch": True},
    "source_hold": {"source_hold": False, "transfer_failures": True},
}
"""Companions without which a switch can hardly make itself felt; one that only forbids is off in the model itself."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SWITCHES if name != "page_tags"])
def test_each_switch_matters_to_the_comparison(name: str) -> None:
    """Agreement means something: with one switch the other way round the two come apart."""
    settings = {name: True} | HELP.get(name, {})

    assert any(flipped(walk.trace(), name) for walk in walks(40, **settings))


def test_page_tags_never_refuse_anything() -> None:
    """Decode owns its pages as long as it may read them, so a tag that changes on reallocation never differs."""
    assert not any(flipped(walk.trace(), "page_tags") for walk in walks(6))
    assert not flipped(incident(), "page_tags")


def misplaced(**settings: bool | int) -> Trace:
    """A late write of A reads B's second page, from a reused source page, into B's first: own text, wrong place."""
    walk = Walk("large", Pos=2, PPage=2, prefill_pool=2, DPage=3, probe=True, **settings)
    walk.follow(*posted(0, long=True), ("call_fails", 0, 0, 0), ("inflight_failure", 0))
    walk.follow(("receive_failure", 0, 0, 0), ("transfer_failure", 0), ("probe_session", 0, 0))
    walk.follow(("submit", 2, False), ("enter", 2), ("prealloc", 2))
    walk.follow(*posted(1, long=True), *landed(1, 2), *answered(1)[:3])
    return walk.follow(("land_late", 0, 0, 0, 1), ("attend", 1)).trace()


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
