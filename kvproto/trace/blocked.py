"""Why a run without end never gets to its goal: which steps would bring it nearer, and what refuses each of them.

From the goal back: of the action instances that write what the goal reads, the one that would have to come next; then
of those that write what refuses that one, and so on, until there is nobody.  An instance that is refused by the very
variables that it should change is in another phase (what comes after an answer cannot bring the answer) and not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvproto.engine.blame import blame
from kvproto.engine.evaluate import Machine, State, choices
from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import System
from kvproto.ir.types import Path, leaves
from kvproto.trace.forced import Attempt, Unmet, attempt, may_set, may_write

DEEP = 4
"""Steps back from the goal at most."""

WIDE = 3
"""Steps that are followed back from each; twice as many from the goal."""

Rank = tuple[bool | int, ...]


@dataclass(frozen=True, slots=True)
class Hurdle:
    """A step that would have changed one of `paths`, and does not happen in state `state` of the run.

    `always`: in no state of the cycle; `fair`: some fairness asks for it.  `unmet` is what is false, if it is refused
    or fails.
    """

    tried: Attempt
    paths: tuple[Path, ...]
    unmet: Unmet | None
    state: int
    always: bool
    fair: bool


@dataclass(frozen=True, slots=True)
class Blocked:
    """The hurdles from the goal back; `final` are variables behind the last one that nothing changes any more.

    `circle` is the earlier hurdle that the last one waits for.
    """

    hurdles: tuple[Hurdle, ...] = ()
    final: tuple[Path, ...] = ()
    circle: Hurdle | None = None

    def reads(self) -> list[Path]:
        """What the refusals rest on."""
        return list(dict.fromkeys(path for hurdle in self.hurdles if hurdle.unmet for path in hurdle.unmet.reads))


def blocked(system: System, found: Counterexample) -> Blocked:
    """What keeps a run without end from its goal."""
    from kvproto.engine.liveness import Lasso, decisive

    if found.loop is None:
        return Blocked()
    if found.claim.kind == "eventually_always" and found.loop < len(found.steps):
        return Blocked()  # the goal is met now and then, and what happens is the trouble
    goal, at = decisive(system, found.claim, Lasso(found.args, found.init, found.steps, found.loop))
    machine, states = Machine(system), states_of(system, found)
    reads = tuple(blame(machine, goal, states[at]))
    wanted = Unmet(goal, states[at], {}, reads)
    return _Search(system, _tried(system, found, states, at), found.init).back_from(wanted)


def states_of(system: System, found: Counterexample) -> list[State]:
    """The states of a run that has been confirmed."""
    machine, states = Machine(system), [found.init]
    actions = {action.name: action for action in system.actions}
    for named, args in found.steps:
        action = actions[named.name]
        state = machine.step(action.params, action.body, states[-1], args)
        assert state is not None, "the run has been confirmed"
        states.append(state)
    return states


@dataclass(frozen=True, slots=True)
class _Instance:
    """An action instance in the state of the cycle where it is refused, if there is one; `taken` in the run before."""

    tried: Attempt
    state: int
    always: bool
    fair: bool
    taken: bool


def _tried(system: System, found: Counterexample, states: Sequence[State], at: int) -> list[_Instance]:
    """Every action instance; `at` is the state that is looked at first."""
    fair = {name for fairness in system.fairness for name in fairness.actions}
    taken = {(action.name, args) for action, args in found.steps}
    order = [*range(at, len(states)), *range(found.loop or 0, at)]
    numbers = list({states[number]: number for number in reversed(order)}.values())[::-1]
    instances = []
    for action in system.actions:
        for args in choices(action.params):
            trials = [(number, attempt(system, action, args, states[number])) for number in numbers]
            open_ = [trial for trial in trials if trial[1].end != "possible"]
            number, tried = (open_ or trials)[0]
            always = len(open_) == len(trials)
            before = (action.name, args) in taken
            instances.append(_Instance(tried, number, always, action.name in fair, before))
    return instances


Chain = tuple[Hurdle, ...]
Ranked = tuple[tuple[Rank, Hurdle], ...]


class _Search:
    """The way back from the goal: of all short chains of hurdles the one that says most."""

    def __init__(self, system: System, instances: Sequence[_Instance], first: State) -> None:
        self.system = system
        self.machine = Machine(system)
        self.instances = instances
        self.places = [path for path, _ in leaves(system.state)]
        self.known: dict[tuple[int, int, int], bool] = {}
        self.outcomes: dict[tuple[int, tuple[Path, ...]], list[State]] = {}
        self.first = dict(zip(self.places, first, strict=True))

    def back_from(self, goal: Unmet) -> Blocked:
        """Hurdle after hurdle."""
        chains = list(self._chains(goal, ()))
        best = tuple(hurdle for _, hurdle in min(chains, key=self._merit, default=()))
        unmet = best[-1].unmet if best else goal
        if unmet is None or len(best) == DEEP or (best and best[-1].tried.end != "refused"):
            return Blocked(best)
        if circle := self._circle(best):
            return Blocked(best, circle=circle[0])
        touching = [one for one in self.instances if self._touched(one.tried, unmet.reads)]
        return Blocked(best, unmet.reads if all(one.always for one in touching) else ())

    def _chains(self, wanted: Unmet, before: Ranked) -> Iterator[Ranked]:
        """Chains behind `before`, whose last hurdle needs what is wanted; the best of each step first."""
        found = sorted(self._hurdles(wanted, tuple(h for _, h in before)), key=lambda pair: pair[0])
        found = found[: WIDE if before else WIDE * 2]
        if not found or len(before) == DEEP:
            if before:
                yield before
            return
        for ranked in found:
            chain, hurdle = (*before, ranked), ranked[1]
            if hurdle.unmet is None or hurdle.tried.end != "refused":
                yield chain
            else:
                yield from self._chains(hurdle.unmet, chain)

    def _hurdles(self, wanted: Unmet, before: Chain) -> Iterator[tuple[Rank, Hurdle]]:
        rows = [(number, one) for number, one in enumerate(self.instances) if self._touched(one.tried, wanted.reads)]
        leading = self._leading([one.tried for _, one in rows], wanted, before)
        for number, one in rows:
            idle = one.tried.end == "idle" or (one.tried.end == "possible" and one.fair)
            leads = id(one.tried) in leading
            # What changes the value and not to what is wanted is no help.
            if not idle and (leads or not before) and self._next(one.tried, wanted, before):
                unmet = one.tried.unmet[0] if one.tried.unmet else None
                paths = self._touched(one.tried, wanted.reads)
                hurdle = Hurdle(one.tried, paths, unmet, one.state, one.always, one.fair)
                yield (*_rank(one, leads=leads), number), hurdle

    def _leading(self, touching: Sequence[Attempt], wanted: Unmet, before: Chain) -> set[int]:
        """Of the steps that change what is wanted those that lead there.

        Directly, or to a phase that other steps then go on from.
        """
        here = set(wanted.reads)
        found = [tried for tried in touching if self._meets(tried, wanted, before)]
        for tried in found:  # grows
            phase = [unmet for unmet in tried.unmet if unmet.reads and set(unmet.reads) <= here]
            if phase:
                known = set(map(id, found))
                steps = [one for one in touching if id(one) not in known]
                found += [one for one in steps if all(self._lifted(tried, unmet, one) for unmet in phase)]
        return set(map(id, found))

    def _touched(self, tried: Attempt, paths: Sequence[Path]) -> tuple[Path, ...]:
        """Those of the paths that a step would change; where it cannot be forced to its end, those that it may."""
        if tried.end == "idle" and not tried.cut:
            return ()
        slots, before = self.machine.slot, tried.before
        states = self._outcomes(tried, paths)
        changed = {path for path in paths if any(state[slots[path]] != before[slots[path]] for state in states)}
        return tuple(path for path in paths if path in changed or (tried.cut and may_write(tried, [path])))

    def _outcomes(self, tried: Attempt, paths: Sequence[Path]) -> list[State]:
        """What a step may lead to: the forced one, and with each constant that it stores into one of the paths."""
        code = id(tried), tuple(paths)
        if code not in self.outcomes:
            found = [tried.after]
            for path, value in may_set(tried, paths):
                at = self.machine.slot[path]
                found.append((*tried.before[:at], value, *tried.before[at + 1 :]))
            self.outcomes[code] = list(dict.fromkeys(found))
        return self.outcomes[code]

    def _next(self, tried: Attempt, wanted: Unmet, before: Chain) -> bool:
        """Whether the step is not just in another phase.

        It is if what refuses it is what it should change.  What refused an earlier one may refuse it if that one is
        what it waits for.
        """
        if any(tried.action is hurdle.tried.action and tried.args == hurdle.tried.args for hurdle in before):
            return False
        here = set(wanted.reads)
        known = {path for hurdle in before for path in hurdle.paths}
        for unmet in tried.unmet:
            reads = set(unmet.reads)
            if reads and reads <= here:
                return False
            if reads and reads <= known and not any(self._lifted(tried, unmet, hurdle.tried) for hurdle in before):
                return False
        return True

    def _lifted(self, tried: Attempt, unmet: Unmet, by: Attempt) -> bool:
        """Whether what refuses one step may be gone after another one."""
        code = id(tried), id(unmet), id(by)
        if code not in self.known:
            self.known[code] = any(self._gone(tried, unmet, state) for state in self._outcomes(by, unmet.reads))
        return self.known[code]

    def _gone(self, tried: Attempt, unmet: Unmet, state: State) -> bool:
        again = attempt(self.system, tried.action, tried.args, state)
        gone = all(other.expr is not unmet.expr for other in again.unmet)
        return gone and (not again.cut or unmet.met(self.machine, state))

    def _meets(self, one: Attempt, wanted: Unmet, before: Chain) -> bool:
        if before:
            return self._lifted(before[-1].tried, wanted, one)
        return any(wanted.met(self.machine, state) for state in self._outcomes(one, wanted.reads))

    def _merit(self, ranked: Ranked) -> tuple[bool | int, ...]:
        """Fair steps that have not been, each leading to the one before, and not in a circle.

        Then chains that end at what the run has brought about, and in which few steps wait for what has never been so.
        """
        worst = [any(column) for column in list(zip(*(rank for rank, _ in ranked), strict=True))[:6]]
        waiting = [not self._happened(hurdle) for _, hurdle in ranked]
        circular = bool(self._circle([hurdle for _, hurdle in ranked]))
        return *worst, circular, waiting[-1], sum(waiting), len(ranked)

    def _circle(self, chain: Sequence[Hurdle]) -> list[Hurdle]:
        """The earlier hurdles that the last one waits for."""
        if not chain or chain[-1].unmet is None:
            return []
        last, unmet = chain[-1].tried, chain[-1].unmet
        return [hurdle for hurdle in chain[:-1] if self._lifted(last, unmet, hurdle.tried)]

    def _happened(self, hurdle: Hurdle) -> bool:
        """Whether a step is refused by what the run has brought about, and not by what was so from the start."""
        if hurdle.unmet is None:
            return False
        before = hurdle.tried.before
        return any(before[self.machine.slot[path]] != self.first[path] for path in hurdle.unmet.reads)


def _rank(one: _Instance, *, leads: bool) -> tuple[bool, ...]:
    """First what fairness asks for, has not been, leads to what is wanted and lacks one thing; late what is off."""
    tried = one.tried
    off = any(not unmet.reads for unmet in tried.unmet)
    return (
        tried.end == "possible",
        not one.fair,
        one.taken,
        not leads,
        len(tried.unmet) > 1,
        off,
        tried.cut,
        not one.always,
    )
