"""Runs in real names: from a path of representatives to a run of the system itself.

A search of representatives knows a violation by a path on which every state is the canonical form of a successor of the
state before.  Here the oracle walks the same way among the states themselves: it starts from a real initial state with
the first representative, and at each step takes the first action instance that leads to a state with the next one.  As
every permutation of a symmetric sort is an automorphism there always is one, and the run is as long as the path, which
is as long as a shortest run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from kvproto.engine.evaluate import Args, Fault, Machine, State
from kvproto.engine.lower import Lowered
from kvproto.engine.lower_code import FaultInfo
from kvproto.engine.symmetry.canonical import Canonical
from kvproto.engine.symmetry.renaming import Permutation, Renaming, renamed_args
from kvproto.ir.nodes import Action, Claim, Expr, System

Instance = tuple[Action, Args]


class NotConcrete(AssertionError):
    """A path of representatives is no path of the system: a bug of kvproto, or a sort that is not symmetric."""


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run of the system: where it starts, its steps, and the state that they end in.

    Where the last step fails, `last` is the state before it.
    """

    init: State
    steps: tuple[Instance, ...]
    last: State


@dataclass(frozen=True, slots=True)
class Failure:
    """What goes wrong at the end of a path: in an action, or while `claims` (or the constraint) are evaluated."""

    info: FaultInfo
    in_action: bool
    claims: tuple[Claim, ...] = ()


def canonical_path(
    system: System, lowered: Lowered, canonical: Canonical, start: int, actions: Iterable[int]
) -> list[int]:
    """The packed representatives on a path, from its first and the action instances that a search followed."""
    machine, instances = Machine(system), real_instances(system, lowered)
    path = [start]
    for number in actions:
        action, args = instances[number]
        after = machine.step(action.params, action.body, lowered.layout.unpack(path[-1]), args)
        if after is None:
            raise NotConcrete(f"{action.name}{args} is not enabled in the reference checker")
        path.append(canonical.of(lowered.layout.pack(after)))
    return path


def concretize(
    system: System,
    lowered: Lowered,
    canonical: Canonical,
    path: Sequence[int],
    initial: Iterable[int],
    failing: Failure | None = None,
) -> RealRun:
    """The run of the system that a path of representatives stands for.

    `system` is the one that was written (not the one made strict), `initial` its initial states in order; `path` and
    `initial` are packed.  With `failing` the run goes wrong at its end; the failing step of an action is its last one.
    """
    walk = _Walk(system, lowered, canonical)
    run = walk.along(path, initial)
    if failing is None:
        return run
    if failing.info.claim:
        step = walk.failing_step(run.last, failing.info)
        if step is None:
            raise NotConcrete(f"no step breaks {failing.info.claim} in the reference checker")
        return RealRun(run.init, (*run.steps, step), run.last)
    return walk.to_error(run, failing)


def real_instances(system: System, lowered: Lowered) -> list[Instance]:
    """The action instances of a program, with the actions as they were written."""
    actions = {action.name: action for action in system.actions}
    return [(actions[action.name], args) for action, args in lowered.instances]


class _Walk:
    """Steps of the oracle, judged by the representatives that they lead to."""

    def __init__(self, system: System, lowered: Lowered, canonical: Canonical) -> None:
        self.system = system
        self.machine = Machine(system)
        self.layout = lowered.layout
        self.canonical = canonical
        self.instances = real_instances(system, lowered)

    def along(self, path: Sequence[int], initial: Iterable[int]) -> RealRun:
        """A run whose states have these representatives."""
        start = next((s for s in initial if self.canonical.of(s) == path[0]), None)
        if start is None:
            raise NotConcrete("no initial state has the first representative")
        init = self.layout.unpack(start)
        state, steps = init, []
        for wanted in path[1:]:
            found = next((f for f in self._successors(state) if self._representative(f[1]) == wanted), None)
            if found is None:
                raise NotConcrete(f"no step of the reference checker leads to representative {wanted:#x}")
            step, state = found
            steps.append(step)
        return RealRun(init, tuple(steps), state)

    def _representative(self, state: State) -> int:
        return self.canonical.of(self.layout.pack(state))

    def _successors(self, state: State) -> Iterator[tuple[Instance, State]]:
        for action, args in self.instances:
            try:
                after = self.machine.step(action.params, action.body, state, args)
            except Fault:
                continue
            if after is not None:
                yield (action, args), after

    def failing_step(self, state: State, info: FaultInfo | None) -> Instance | None:
        """The first step from a state that fails like this; None: with any error of the model."""
        for action, args in self.instances:
            try:
                self.machine.step(action.params, action.body, state, args)
            except Fault as fault:
                if _alike(fault, info):
                    return action, args
        return None

    def to_error(self, run: RealRun, failing: Failure) -> RealRun:
        """The run with elements renamed so that it meets an error of the model at its end.

        Whether it does may depend on which element is asked first (see `kvproto.passes.symmetry.strict`), so each is
        put in the first place in turn.
        """
        turned = [self._renamed(run, permutation) for permutation in self._in_front()]
        for info in (failing.info, None):
            for candidate in turned:
                if failing.in_action:
                    step = self.failing_step(candidate.last, info)
                    if step is not None:
                        return RealRun(candidate.init, (*candidate.steps, step), candidate.last)
                elif any(self._goes_wrong(cond, candidate.last, info) for cond in self._conditions(failing)):
                    return candidate
        raise NotConcrete(f"the reference checker does not confirm {failing.info.message!r} at {failing.info.loc}")

    def _conditions(self, failing: Failure) -> Iterator[Expr]:
        yield from (claim.cond for claim in failing.claims if claim.cond is not None)
        if self.system.constraint is not None:
            yield self.system.constraint

    def _goes_wrong(self, cond: Expr, state: State, info: FaultInfo | None) -> bool:
        try:
            self.machine.holds(cond, state)
        except Fault as fault:
            return _alike(fault, info)
        return False

    def _in_front(self) -> Iterator[Permutation]:
        """For each choice of an element of every sort, the exchange of these with the first elements."""
        sorts = [group.sort for group in self.canonical.plan.groups]
        for chosen in product(*(range(sort.size) for sort in sorts)):
            exchange = {}
            for sort, element in zip(sorts, chosen, strict=True):
                order = list(range(sort.size))
                order[0], order[element] = element, 0
                exchange[sort.name] = order
            yield exchange

    def _renamed(self, run: RealRun, permutation: Permutation) -> RealRun:
        renaming = Renaming(self.system.state, permutation)
        steps = tuple((action, renamed_args(action.params, args, permutation)) for action, args in run.steps)
        return RealRun(renaming.of(run.init), steps, renaming.of(run.last))


def _alike(fault: Fault, info: FaultInfo | None) -> bool:
    """Whether the oracle's fault is the one that a program met; None: any error of the model."""
    if info is None:
        return not fault.claim
    if info.claim:
        return fault.claim == info.claim
    return (fault.code, fault.node.loc) == (info.code, info.loc)
