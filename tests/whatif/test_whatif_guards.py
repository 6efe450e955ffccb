"""Missing guards: the same as by brute force, and for every seeded bug the one that its preset has taken away."""

from __future__ import annotations

import pytest
from schedule_oracle import Ending, taken
from whatif_samples import WRONG, found_by, sample

from kvproto.engine.evaluate import Machine
from kvproto.explain.slice import backward_slice
from kvproto.lang.frontend.build import build
from kvproto.trace.analysis import Guard
from kvproto.whatif.guards import guards
from kvproto.whatif.settings import settings
from kvproto.whatif.subject import Subject

FINITE = [name for name in WRONG if not WRONG[name].about_runs]


def endings(subject: Subject) -> dict[tuple[str, str], Ending]:
    """How the schedule ends under each setting that stops it, by brute force on systems built alone."""
    found = {}
    for setting in settings(subject.model, subject.chosen):
        system = build(subject.model, setting.chosen(subject.chosen))
        claim, init = system.claim(subject.trace.property), subject.states[0]
        if init not in set(Machine(system).initial()):
            continue
        ending = taken(system, claim, init, subject.calls)
        left_out = taken(system, claim, init, subject.calls, leave_out=True)
        if ending.end in ("holds", "refused") and left_out.end != "violated":
            found[setting.name, str(setting.value)] = ending
    return found


def first_difference(subject: Subject, ending: Ending) -> int | None:
    """The first step after which the states differ."""
    pairs = enumerate(zip(subject.states, ending.states, strict=False))
    return next((number for number, (one, other) in pairs if one != other), None)


@pytest.mark.parametrize("name", FINITE)
def test_brute_force_agrees(name: str) -> None:
    subject = found_by(name)
    found = {(guard.name, str(guard.value)): guard for guard in guards(subject, None)}
    expected = endings(subject)

    # Presets that do the same as another one are left out.
    presets = {(s.name, str(s.value)) for s in settings(subject.model, subject.chosen) if s.kind == "preset"}
    assert expected.keys() - presets <= found.keys() <= expected.keys()
    for key, guard in found.items():
        check(subject, guard, expected[key])


def check(subject: Subject, guard: Guard, ending: Ending) -> None:
    """The guard says what brute force found."""
    since = first_difference(subject, ending)
    assert (guard.effect == "refused") == (ending.end == "refused")
    if guard.effect == "refused":
        assert (guard.step, guard.since) == (ending.step, min(since or ending.step, ending.step))
        assert guard.condition
        assert guard.action == subject.calls[guard.step - 1][0]
    else:
        assert guard.effect == ("harmless" if since is None else "diverted")
        assert guard.step == guard.since == (len(subject.calls) if since is None else since)
    assert bool(guard.difference) == (since is not None and since <= guard.since)


@pytest.mark.parametrize("name", WRONG)
def test_the_missing_guard_of_every_seeded_bug(name: str) -> None:
    """It is named first, the claim holds with it, and it acts on a step that the verdict rests on.

    A claim about runs may rest on what never happens.
    """
    subject = found_by(name)
    found = guards(subject)

    assert WRONG[name].missing == found[0].name
    assert found[0].verdict == "holds"
    rests_on = backward_slice(subject.trace).steps | {len(subject.calls)}
    assert {found[0].step, found[0].since} & rests_on or WRONG[name].about_runs


def test_a_switch_that_only_gets_in_the_way_is_none() -> None:
    """Without `chunks` of a second chunk nothing changes for a run that takes one; nor is any size tried."""
    subject = found_by("blocks.deferred_release@not-poisoned-ack_means_quiet")
    tried = {setting.name for setting in settings(subject.model, subject.chosen)}

    assert "chunks" not in tried
    assert {"poisons", "limit", "right"} <= tried


def test_the_environment_is_no_measure() -> None:
    """It comes last, nobody searches under it, and presets leave it as it is."""
    found = guards(found_by("blocks.control_channel@overtakes-stays_stopped"))
    kinds = [guard.kind for guard in found]

    assert kinds == sorted(kinds, key=["switch", "preset", "environment"].index)
    assert ("ordered", "environment", True, "") in [(g.name, g.kind, g.value, g.verdict) for g in found]


def test_every_preset_that_is_enough_is_told_and_no_later_one_that_is_not() -> None:
    """In the order of the model, from the first that is enough on."""
    subject = sample("outline@incident", "reads_own_writes")
    found = {guard.name: guard.verdict for guard in guards(subject) if guard.kind == "preset"}
    order = [preset.name for preset in subject.model.presets if preset.name in found]
    verdicts = [found[name] for name in order]

    assert verdicts.count("holds") > 1
    assert set(verdicts[verdicts.index("holds") :]) == {"holds"}


def test_what_a_search_found_is_told() -> None:
    """Deferred release stops this run and not the one in which it ends too early; both together is enough."""
    subject = sample("outline@0.5.19", "no_free_under_write")
    found = {guard.name: guard for guard in guards(subject)}

    assert ("violated", 7) == (found["deferred_release"].verdict, found["deferred_release"].other)
    assert "0.5.21" == found["deferred_release"].release
    assert "holds" == found["patched"].verdict


def test_too_many_states_are_inconclusive() -> None:
    subject = sample("outline@incident", "reads_own_writes")
    verdicts = {guard.name: guard.verdict for guard in guards(subject, 20)}

    assert "inconclusive" == verdicts["reject_at_admission"]


def test_the_guard_is_quoted_without_its_switch() -> None:
    """`not cfg.check or a == b` is told as what it asks for once the switch is on."""
    subject = sample("sglang@incident", "committed_pages_are_own")
    conditions = {guard.name: guard.condition for guard in guards(subject, None)}

    assert "q.prefill == Prefill.BOOTSTRAP" == conditions["reject_at_admission"]
    assert all("cfg" not in condition for condition in conditions.values())
