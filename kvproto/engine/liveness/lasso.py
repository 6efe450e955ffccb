"""Lassos: runs that break a claim about runs, and their confirmation by the reference evaluator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.liveness.fairness import Group, Instance, all_instances, groups
from kvproto.engine.liveness.predicates import fixed
from kvproto.engine.starting import call
from kvproto.ir.nodes import Action, Claim, Expr, System


class NotConfirmed(AssertionError):
    """The reference evaluator does not confirm a lasso: a bug of kvproto."""


@dataclass(frozen=True, slots=True)
class Lasso:
    """A run: the steps from `init`, then `steps[loop:]` again and again; it stops if these are none.

    `args` is the choice of the claim's parameters that the run breaks.
    """

    args: Args
    init: State
    steps: tuple[Instance, ...]
    loop: int

    @property
    def stops(self) -> bool:
        """Whether nothing happens any more after the last step."""
        return self.loop == len(self.steps)


def confirm(system: System, claim: Claim, lasso: Lasso) -> None:
    """Execute the lasso by the reference evaluator, and check by definition that it is fair and breaks the claim.

    Raises NotConfirmed.
    """
    states = list(_executed(system, lasso))
    if states[-1] != states[lasso.loop]:
        raise NotConfirmed("the cycle of the lasso does not return to where it began")
    check_fair(system, states[lasso.loop :])
    if not breaks(system, claim, lasso, states):
        raise NotConfirmed(f"{claim.name} is true of the lasso")


def decisive(system: System, claim: Claim, lasso: Lasso) -> tuple[Expr, int]:
    """A condition that is false, and after how many steps: what the cycle never (or again and again) fails to meet."""
    assert claim.cond is not None
    goal = fixed(claim, claim.cond, lasso.args)
    machine = Machine(system)
    for number, state in enumerate(_executed(system, lasso)):
        if number >= lasso.loop and not machine.holds(goal, state):
            return goal, number
    raise NotConfirmed(f"the goal of {claim.name} is true in the whole cycle")


@dataclass(frozen=True, slots=True)
class Fair:
    """Why a lasso is fair to one group: a step of it "happens" (it is `step`), or none can happen after step `step`.

    "gone": none can happen any more; "waived": none can happen in some state of the cycle, which is enough if the
    group is only weakly fair.
    """

    group: Group
    why: Literal["happens", "gone", "waived"]
    step: int

    def sentence(self) -> str:
        """One sentence."""
        after = f" after step {self.step}" if self.step else " in the initial state"
        match self.why:
            case "happens":
                return f"{self.group.name} happens again and again (step {self.step})."
            case "gone":
                return f"{self.group.name} is not possible any more{after}."
            case "waived":
                return f"{self.group.name} is only weakly fair, and not possible{after}."


def fair_to(system: System, lasso: Lasso) -> tuple[Fair, ...]:
    """Why fairness does not exclude the lasso, for each group that could have."""
    cycle = list(_executed(system, lasso))[lasso.loop :]
    model = _Steps(system)
    return tuple(_fair(model, group, cycle, lasso) for group in groups(system, model.instances))


NO_FAIRNESS = "No action is declared fair, so a run may stop anywhere."


def why_fair(system: System, lasso: Lasso) -> tuple[str, ...]:
    """Why fairness does not exclude the lasso, a sentence for each group that could have."""
    if not system.fairness:
        return (NO_FAIRNESS,) if lasso.stops else ()
    return tuple(fair.sentence() for fair in fair_to(system, lasso))


class _Steps:
    """What can happen in a state, by definition."""

    def __init__(self, system: System) -> None:
        self.machine = Machine(system)
        self.instances = all_instances(system)
        self.known: dict[tuple[State, int], State | None] = {}

    def after(self, state: State, number: int) -> State | None:
        """The different state to which an instance leads; None if there is none."""
        if (state, number) not in self.known:
            after = self._executed(state, *self.instances[number])
            self.known[state, number] = None if after == state else after
        return self.known[state, number]

    def _executed(self, state: State, action: Action, args: Args) -> State | None:
        try:
            return self.machine.step(action.params, action.body, state, args)
        except Fault as fault:
            if not fault.claim:
                raise
            return None  # a failing assertion is no step

    def enabled(self, group: Group, state: State) -> bool:
        """Whether a step of the group can happen."""
        return any(self.after(state, number) is not None for number in group.members)

    def taken(self, group: Group, state: State, after: State) -> bool:
        """Whether the step between the states is one of the group."""
        return state != after and any(self.after(state, number) == after for number in group.members)


def _executed(system: System, lasso: Lasso) -> Iterator[State]:
    """The states of the lasso."""
    machine, actions = Machine(system), {action.name: action for action in system.actions}
    state = lasso.init
    if not 0 <= lasso.loop <= len(lasso.steps):
        raise NotConfirmed(f"a lasso of {len(lasso.steps)} steps cannot return to step {lasso.loop}")
    if not _is_initial(machine, state):
        raise NotConfirmed("the lasso does not begin in an initial state")
    yield _inside(machine, state)
    for instance, args in lasso.steps:
        after = _step(machine, actions[instance.name], args, state)
        if after is None or after == state:
            raise NotConfirmed(f"{call(instance, args)} is no step in the reference checker")
        state = after
        yield _inside(machine, state)


def _step(machine: Machine, action: Action, args: Args, state: State) -> State | None:
    try:
        return machine.step(action.params, action.body, state, args)
    except Fault as fault:
        raise NotConfirmed(f"{call(action, args)} fails in the reference checker: {fault.message}") from None


def _inside(machine: Machine, state: State) -> State:
    constraint = machine.system.constraint
    if constraint is not None and not machine.holds(constraint, state):
        raise NotConfirmed("the lasso leaves the state constraint")
    return state


def _is_initial(machine: Machine, state: State) -> bool:
    for init in machine.system.inits:
        for args in choices(init.params):
            try:
                if machine.step(init.params, init.body, machine.zero(), args) == state:
                    return True
            except Fault:
                continue  # another way to start fails; that is a finding of its own
    return not machine.system.inits and state == machine.zero()


def check_fair(system: System, cycle: list[State], done: Collection[Instance] = ()) -> None:
    """Check every group on the cycle: its states, the first of them repeated at the end (a single one: it stops).

    `done` are instances that count as steps of the cycle, whatever they lead to.  Raises NotConfirmed.
    """
    model = _Steps(system)
    for group in groups(system, model.instances):
        if any(model.taken(group, *pair) for pair in pairwise(cycle)):
            continue
        if any(model.instances[number] in done for number in group.members):
            continue
        enabled = [model.enabled(group, state) for state in cycle]
        if any(enabled) if group.strong else all(enabled):
            raise NotConfirmed(f"the lasso is not fair: {group.name} can happen and never does")


def breaks(system: System, claim: Claim, lasso: Lasso, states: Sequence[State]) -> bool:
    """Whether a run breaks the claim, by definition: its states, from that of `lasso.loop` on again and again."""
    assert claim.cond is not None
    machine = Machine(system)
    goal = [machine.holds(fixed(claim, claim.cond, lasso.args), state) for state in states]
    match claim.kind:
        case "eventually":
            return not any(goal)
        case "leads_to":
            assert claim.trigger is not None
            trigger = fixed(claim, claim.trigger, lasso.args)
            return any(
                machine.holds(trigger, state) and not any(goal[min(number, lasso.loop) :])
                for number, state in enumerate(states)
            )
        case "always_eventually":
            return not any(goal[lasso.loop :])
        case "eventually_always":
            return not all(goal[lasso.loop :])
        case _:
            raise AssertionError(f"{claim.kind} is no claim about runs")


def _fair(model: _Steps, group: Group, cycle: list[State], lasso: Lasso) -> Fair:
    for number, pair in enumerate(pairwise(cycle), lasso.loop + 1):
        if model.taken(group, *pair):
            return Fair(group, "happens", number)
    enabled = [model.enabled(group, state) for state in cycle]
    if not any(enabled):
        return Fair(group, "gone", lasso.loop)
    return Fair(group, "waived", lasso.loop + enabled.index(False))
