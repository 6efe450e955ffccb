"""A trace as a run of its system again: labels become values, and the reference evaluator takes every step."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.engine.evaluate import Args, Fault, Machine, NotEnabled, Run, State, choices
from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import Action, Claim, System
from kvproto.ir.types import BoolT, LeafT, OptT, SetT, SortT, Value, fits, leaves, show_path
from kvproto.trace.trace import Trace
from kvproto.trace.trace import Value as Shown

Steps = tuple[tuple[Action, Args], ...]


class NoSuchRunError(Exception):
    """The trace is no run of the system, or not one that breaks its claim; the text says where it differs."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A run as far as the first violation: `states` has one more state than there are steps.

    Where the last step fails an assertion, the last state is the one that the assertion met.
    """

    states: tuple[State, ...]
    steps: Steps

    def found(self, claim: Claim) -> Counterexample:
        """The run as a counterexample."""
        return Counterexample(claim, self.states[0], self.steps)


class Walker:
    """Takes steps of one system and looks whether they break one claim about states or steps."""

    def __init__(self, system: System, claim: Claim) -> None:
        self.system = system
        self.claim = claim
        self.machine = Machine(system)

    def walk(self, init: State, steps: Steps) -> Walk | None:
        """The run up to its first violation; None if a step cannot happen, or nothing is violated."""
        states, done = [init], list[tuple[Action, Args]]()
        try:
            for action, args in steps:
                if self.broken(states[-1]):
                    break
                if not self.inside(states[-1]):
                    return None
                done.append((action, args))
                after, failed = self._step(states[-1], action, args)
                if after is None:
                    return None
                states.append(after)
                if failed:
                    return Walk(tuple(states), tuple(done))
            return Walk(tuple(states), tuple(done)) if self.broken(states[-1]) else None
        except Fault:
            return None

    def broken(self, state: State) -> bool:
        """Whether the state by itself breaks the claim."""
        cond = self.claim.cond
        if self.claim.kind == "invariant":
            return cond is not None and not self.machine.holds(cond, state)
        if self.claim.kind == "deadlock":
            # Only ends are asked whether they are proper ones: elsewhere the condition need not make sense.
            return (
                self.inside(state) and self._dead(state) and not (cond is not None and self.machine.holds(cond, state))
            )
        return False

    def inside(self, state: State) -> bool:
        """Whether the state satisfies the model's constraint."""
        constraint = self.system.constraint
        return constraint is None or self.machine.holds(constraint, state)

    def _step(self, state: State, action: Action, args: Args) -> tuple[State | None, bool]:
        """The state after a step, and whether the step fails the claim."""
        run = Run(self.machine, state, dict(zip((p.name for p in action.params), args, strict=True)))
        try:
            run.block(action.body)
        except NotEnabled:
            return None, False
        except Fault as fault:
            if fault.claim == self.claim.name and self.claim.kind == "assert":
                return tuple(run.state), True
            raise
        return tuple(run.state), False

    def _dead(self, state: State) -> bool:
        """Whether no step can happen; one that fails its assertion can."""
        for action in self.system.actions:
            for args in choices(action.params):
                try:
                    if self.machine.step(action.params, action.body, state, args) is not None:
                        return False
                except Fault:
                    return False
        return True


def walk_of(system: System, trace: Trace) -> Walk:
    """The run that the trace tells of, as far as its first violation.  Raises NoSuchRunError."""
    claim = next((claim for claim in system.claims if claim.name == trace.property), None)
    if claim is None:
        raise NoSuchRunError(f"{system.model} has no property {trace.property!r}")
    walk = Walker(system, claim).walk(state_of(system, trace), steps_of(system, trace))
    if walk is None:
        raise NoSuchRunError(f"its steps are no run of {system.model} that breaks {claim.name}")
    return walk


def state_of(system: System, trace: Trace) -> State:
    """The first state of the trace.  Raises NoSuchRunError."""
    found = list[Value]()
    for path, kind in leaves(system.state):
        text = show_path(path, system.state)
        if text not in trace.init:
            raise NoSuchRunError(f"its first state has no {text}")
        found.append(_value(trace.init[text], kind, text))
    return tuple(found)


def steps_of(system: System, trace: Trace) -> Steps:
    """The steps of the trace as actions of the system with their arguments.  Raises NoSuchRunError."""
    actions = {action.name: action for action in system.actions}
    found = list[tuple[Action, Args]]()
    for number, step in enumerate(trace.steps, 1):
        action = actions.get(step.action)
        if action is None or [p.name for p in action.params] != list(step.args):
            raise NoSuchRunError(f"step {number}, {step.action}, is no action of {system.model}")
        found.append((action, tuple(_value(step.args[p.name], p.type, f"step {number}") for p in action.params)))
    return tuple(found)


def _value(shown: Shown, kind: LeafT, where: str) -> Value:
    """What a trace writes as a value of the type."""
    try:
        value = _unlabelled(shown, kind)
        fitting = fits(value, kind)
    except (AttributeError, TypeError, ValueError):
        fitting, value = False, None
    if not fitting:
        raise NoSuchRunError(f"{shown!r} at {where} is no {kind}")
    return value


def _unlabelled(shown: Shown, kind: LeafT) -> Value:
    match kind:
        case SetT():
            if not isinstance(shown, list):
                raise TypeError
            return frozenset(_scalar(_unlabelled(item, kind.element)) for item in shown)
        case OptT():
            return None if shown is None else _unlabelled(shown, kind.inner)
        case SortT() if kind.labels:
            return kind.labels.index(str(shown))
        case BoolT():
            if not isinstance(shown, bool):
                raise TypeError
            return shown
        case _:
            return _scalar(shown)


def _scalar(value: Value | Shown) -> bool | int | str:
    if not isinstance(value, (bool, int, str)):
        raise TypeError
    return value
