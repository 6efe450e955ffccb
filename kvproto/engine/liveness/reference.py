"""Fair lassos by definition: the oracle for claims about runs.  Read this one first.

A run is fair if for every weakly fair group there is, again and again, a step of the group or a state where it is
not enabled; and for every strongly fair group again and again a step of it, or from some point on no state where it is
enabled.  A step that changes nothing is no step; a step from one state to another is one of every group that leads from
the one to the other.  A run may stop.

So from each state this looks for a way back to it, and remembers what it has seen on the way: a walk that has seen
enough can be repeated for ever.  That is exponential in the number of groups, and obvious.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.liveness.fairness import all_instances, groups
from kvproto.engine.liveness.lasso import Lasso
from kvproto.engine.liveness.predicates import fixed
from kvproto.ir.nodes import Claim, Expr, System

Fact = tuple[str, int]
"""What a walk has seen of a group: `enabled`, `disabled` or `taken`; or a state that it must visit: `must`."""

Facts = frozenset[Fact]
Step = tuple[int, State]
"""An instance by number, and where it leads."""

N = TypeVar("N", bound=Hashable)


def find_lasso(system: System, claim: Claim) -> Lasso | None:
    """A fair run that breaks the claim, for the first choice of its parameters that has one."""
    graph = _Graph(system)
    for args in choices(claim.params):
        found = graph.lasso(claim, args)
        if found is not None:
            return found
    return None


class _Graph:
    """All states, and all steps that change something; those out of the constraint are enabled, and not followed."""

    def __init__(self, system: System) -> None:
        self.machine = Machine(system)
        self.instances = all_instances(system)
        self.groups = groups(system, self.instances)
        self.initial = [state for state in self._starts() if self._inside(state)]
        self.enabled: dict[State, list[Step]] = {}
        self.moves: dict[State, list[Step]] = {}
        waiting = deque(self.initial)
        while waiting:
            state = waiting.popleft()
            if state not in self.moves:
                self.enabled[state] = list(self._steps(state))
                self.moves[state] = [(number, after) for number, after in self.enabled[state] if self._inside(after)]
                waiting.extend(after for _, after in self.moves[state])

    def _starts(self) -> Iterator[State]:
        machine = self.machine
        if not machine.system.inits:
            yield machine.zero()
        for init in machine.system.inits:
            for args in choices(init.params):
                try:
                    state = machine.step(init.params, init.body, machine.zero(), args)
                except Fault:
                    continue
                if state is not None:
                    yield state

    def _inside(self, state: State) -> bool:
        constraint = self.machine.system.constraint
        return constraint is None or self.machine.holds(constraint, state)

    def _steps(self, state: State) -> Iterator[Step]:
        for number, (action, args) in enumerate(self.instances):
            try:
                after = self.machine.step(action.params, action.body, state, args)
            except Fault:
                continue  # a failing assertion is no step
            if after is not None and after != state:
                yield number, after

    def where(self, cond: Expr | None) -> set[State]:
        """The states that satisfy a condition."""
        assert cond is not None
        return {state for state in self.moves if self.machine.holds(cond, state)}

    def lasso(self, claim: Claim, args: Args) -> Lasso | None:
        """A fair run that breaks the claim with its parameters fixed."""
        every = set(self.moves)
        assert claim.cond is not None
        missed = every - self.where(fixed(claim, claim.cond, args))
        match claim.kind:
            case "eventually":
                return self._lasso(args, missed, missed, None)
            case "leads_to":
                assert claim.trigger is not None
                pending = missed & self.where(fixed(claim, claim.trigger, args))
                return self._lasso(args, every, missed, None, pending)
            case "always_eventually":
                return self._lasso(args, every, missed, None)
            case _:
                return self._lasso(args, every, every, missed)

    def _lasso(
        self,
        args: Args,
        before: set[State],
        within: set[State],
        must: set[State] | None,
        pending: set[State] | None = None,
    ) -> Lasso | None:
        """A stem in `before` (from a state of `pending` on, if given, in `within`), and a fair cycle in `within`."""
        for anchor in self.moves:
            cycle = self._cycle(anchor, within, must) if anchor in within else None
            if cycle is not None:
                stem = self._stem(anchor, before, within, pending)
                if stem is not None:
                    start, steps = stem
                    numbers = [*steps, *cycle]
                    return Lasso(args, start, tuple(self.instances[n] for n in numbers), len(steps))
        return None

    def _stem(
        self, anchor: State, before: set[State], within: set[State], pending: set[State] | None
    ) -> tuple[State, list[int]] | None:
        def moves(node: tuple[State, bool]) -> Iterator[tuple[int, tuple[State, bool]]]:
            state, settled = node
            for number, after in self.moves[state]:
                if after in (within if settled else before):
                    yield number, (after, settled)
                    if not settled and pending is not None and after in pending:
                        yield number, (after, True)

        starts = [(state, False) for state in self.initial if state in before]
        if pending is not None:
            starts += [(state, True) for state in self.initial if state in pending]
        wanted = (anchor, pending is not None)
        found = _shortest(starts, moves, lambda node: node == wanted)
        return None if found is None else (found[0][0], found[1])

    def _cycle(self, anchor: State, within: set[State], must: set[State] | None) -> list[int] | None:
        """The shortest fair walk from the anchor back to it; an empty one if a run may stop there."""

        def seen(state: State) -> Facts:
            now = {n for n, _ in self.enabled[state]}
            facts: set[Fact] = {("must", 0)} if must is not None and state in must else set()
            for at, group in enumerate(self.groups):
                facts.add(("enabled" if now & set(group.members) else "disabled", at))
            return frozenset(facts)

        def moves(node: tuple[State, Facts]) -> Iterator[tuple[int, tuple[State, Facts]]]:
            state, facts = node
            for number, after in self.moves[state]:
                if after in within:
                    same = {n for n, other in self.moves[state] if other == after}
                    taken = {("taken", at) for at, group in enumerate(self.groups) if same & set(group.members)}
                    yield number, (after, facts | taken | seen(after))

        def done(node: tuple[State, Facts]) -> bool:
            state, facts = node
            return state == anchor and self._enough(facts) and (must is None or ("must", 0) in facts)

        found = _shortest([(anchor, seen(anchor))], moves, done)
        return None if found is None else found[1]

    def _enough(self, facts: Facts) -> bool:
        """Whether a walk that has seen this may be repeated for ever."""
        for at, group in enumerate(self.groups):
            if ("taken", at) not in facts:
                if group.strong and ("enabled", at) in facts:
                    return False
                if not group.strong and ("disabled", at) not in facts:
                    return False
        return True


def _shortest(
    starts: Iterable[N], moves: Callable[[N], Iterable[tuple[int, N]]], done: Callable[[N], bool]
) -> tuple[N, list[int]] | None:
    """The start and the labels of a shortest way to a node that is wanted."""
    came: dict[N, tuple[N, int] | None] = dict.fromkeys(starts)
    waiting = deque(came)
    while waiting:
        node = waiting.popleft()
        if done(node):
            labels: list[int] = []
            while (link := came[node]) is not None:
                node, number = link
                labels.append(number)
            return node, labels[::-1]
        for number, after in moves(node):
            if after not in came:
                came[after] = (node, number)
                waiting.append(after)
    return None
