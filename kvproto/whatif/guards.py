"""The missing guard: the schedule of a trace under other switches, and where it comes to an end there.

A switch that only gets in the way of the schedule is no guard: if the steps that it refuses can be left out and the
claim breaks all the same, that is a counterexample of its own, and the switch is not named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kvproto.engine.evaluate import Machine, State
from kvproto.engine.starting import run_init, starts
from kvproto.explain.slice import backward_slice
from kvproto.ir.nodes import System
from kvproto.ir.types import fits, label, leaves, show_path
from kvproto.trace.analysis import Effect, Guard
from kvproto.trace.printable import shown
from kvproto.whatif.schedule import Calls, Course, Outcome
from kvproto.whatif.searches import STATES, searches
from kvproto.whatif.settings import Setting, settings
from kvproto.whatif.subject import Subject
from kvproto.whatif.words import refusing


def guards(subject: Subject, states: int | None = STATES) -> tuple[Guard, ...]:
    """What would have kept the schedule from breaking the claim, the best first (see `_rank`).

    Under each measure that is found the scope is searched, up to so many states; None: not at all.
    """
    every = settings(subject.model, subject.chosen)
    tried = [(guard, setting) for setting in every for guard in _tried(subject, setting)]
    searched = searches(subject, tried, states) if states is not None else _different([guard for guard, _ in tried])
    important = backward_slice(subject.trace).steps
    return tuple(sorted(searched, key=lambda guard: _rank(guard, important)))


def _different(tried: Sequence[Guard]) -> list[Guard]:
    """Without presets that do the same as one before."""
    seen = set[tuple[str, int, int]]()
    kept = list[Guard]()
    for guard in tried:
        code = guard.effect, guard.since, guard.step
        if guard.kind != "preset" or code not in seen:
            kept.append(guard)
        seen |= {code} if guard.kind == "preset" else set()
    return kept


def _rank(guard: Guard, important: frozenset[int]) -> tuple[int, ...]:
    """Measures before presets before the environment; those under which the claim holds in the scope before others.

    A measure that breaks another claim comes after the presets.  Then what is turned on before what is set otherwise;
    what refuses a step that the verdict rests on; what is early; what a later release has.
    """
    kinds = {"switch": 0, "preset": 1, "environment": 2}
    verdicts = {"holds": 0, "": 1, "inconclusive": 1, "violated": 2}
    return (
        1 if guard.breaks else kinds[guard.kind],
        bool(guard.breaks),
        verdicts[guard.verdict],
        guard.value is not True,
        guard.step not in important,
        guard.since,
        guard.value is True and not guard.release,
        guard.step,
    )


def _tried(subject: Subject, setting: Setting) -> Iterator[Guard]:
    """The setting as a guard, if it is one."""
    names = {name for name, _ in subject.calls} if subject.finite else None
    system = subject.variants.system(setting.chosen(subject.chosen), only=names)
    if (subject.finite and _same(subject, system)) or not _comparable(subject, system):
        return
    course = Course(system, subject.trace.property, subject.calls, subject.trace.loop, subject.args)
    init = _start(subject, system)
    if init is None:
        yield _guard(subject, setting, "refused", 0, 0)
        return
    outcome = course.take([init])
    if outcome.end in ("holds", "refused") and not course.broken_without_refused(init):
        yield _judged(subject, setting, system, course.calls, outcome)


def _same(subject: Subject, system: System) -> bool:
    """Whether nothing that the schedule needs has changed: then the very same objects are there."""
    known = {id(part) for part in (*subject.system.actions, *subject.system.inits, *subject.system.claims)}
    parts = (*system.actions, *system.inits, system.claim(subject.trace.property))
    return system.constraint is subject.system.constraint and all(id(part) in known for part in parts)


def _comparable(subject: Subject, system: System) -> bool:
    """Whether the state has the same variables, and those of the trace fit."""
    mine, theirs = list(leaves(subject.system.state)), list(leaves(system.state))
    if [path for path, _ in mine] != [path for path, _ in theirs]:
        return False
    return all(fits(value, kind) for value, (_, kind) in zip(subject.states[0], theirs, strict=True))


def _start(subject: Subject, system: System) -> State | None:
    """The initial state that is made as that of the trace; None if it is refused."""
    if all(one is other for one, other in zip(subject.system.inits, system.inits, strict=True)):
        return subject.states[0]
    before, after = Machine(subject.system), Machine(system)
    for (init, args), (other, _) in zip(starts(subject.system), starts(system), strict=True):
        if run_init(before, init, args) == subject.states[0]:
            return run_init(after, other, args)
    return None


def _judged(subject: Subject, setting: Setting, system: System, calls: Calls, outcome: Outcome) -> Guard:
    pairs = zip(subject.states, outcome.states, strict=False)
    since = next((number for number, (one, other) in enumerate(pairs) if one != other), None)
    read: tuple[str, ...] = ()
    if outcome.end == "refused":
        last = outcome.step if since is None else min(since, outcome.step)
        guard = _guard(subject, setting, "refused", outcome.step, last)
        refused = refusing(system, calls, outcome)
        guard, read = replace(guard, condition=refused.condition, loc=refused.loc), refused.reads
    elif since is None:
        end = len(subject.calls)
        guard = _guard(subject, setting, "harmless", end, end)
    else:
        guard = _guard(subject, setting, "diverted", since, since)
    return replace(guard, difference=_difference(subject, outcome, guard.since, read))


def _guard(subject: Subject, setting: Setting, effect: Effect, step: int, since: int) -> Guard:
    name = subject.calls[step - 1][0] if step else ""
    place = next((str(action.loc) for action in subject.system.actions if action.name == name), "")
    return Guard(
        setting.name,
        setting.kind,
        setting.value,
        effect,
        step,
        since,
        name,
        loc=place,
        about=setting.about,
        release=setting.release,
    )


MOST = 2
"""Variables named of those that differ."""


def _difference(subject: Subject, outcome: Outcome, number: int, read: Collection[str]) -> str:
    """What the setting changed first: `req[A].stub = false instead of true`.

    Variables come first that are in `read`, then those that the verdict reads, then what later steps of the slice read
    of this one.
    """
    if number >= len(outcome.states):
        return ""
    root, rows = subject.system.state, dict[str, str]()
    for at, (path, kind) in enumerate(leaves(root)):
        mine, theirs = subject.states[number][at], outcome.states[number][at]
        if mine != theirs:
            text = show_path(path, root)
            rows[text] = f"{text} = {shown(label(theirs, kind))} instead of {shown(label(mine, kind))}"
    used = [edge.path for edge in backward_slice(subject.trace).edges if edge.source == number]
    wanted = [path for path in (*read, *subject.trace.blame, *used) if path in rows]
    named = list(dict.fromkeys([*wanted, *rows]))[:MOST]
    more = f" and {len(rows) - MOST} more" if len(rows) > MOST else ""
    return "; ".join(rows[path] for path in named) + more
