"""The model beside the code: the same steps on the reference evaluator, and what the two say differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvproto.engine.blame import conjuncts, refusal
from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.outcome import Counterexample
from kvproto.engine.wording import shortest
from kvproto.exploring.target import Happening, Path
from kvproto.ir.nodes import Action, Param, System
from kvproto.ir.types import LeafT, OptT, SetT, SortT, Value, label, leaves, show_path
from kvproto.passes import run as folded
from kvproto.trace.trace import State as Shown
from kvproto.trace.trace import Step
from kvproto.trace.trace import Value as Told

TICKS = ("waiting_timeout", "bootstrap_timeout", "release_timeout")
"""Steps of a clock."""

ENVIRONMENT = (
    *("submit", "disconnect", "call_fails", "resubmit", "vanish", "lose_up", "lose_down", "crash_worker"),
    *("prefill_dies", "heartbeat_failure", "retract", "fail_transfer", *TICKS),
)
"""Steps of whoever uses the system or disturbs it.  The model says when they may happen; the code takes them as they
come, so that one of them is possible there and not in the model is no difference."""


MOST_KEPT = 4096
"""States of the model of which is remembered what follows from them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A variable that the code has otherwise than the model."""

    path: str
    model: Told
    code: Told


class Beside:
    """A model that takes the steps of an implementation.

    `left_out` are parameters that the implementation does without; the model gets the first of their values.
    """

    def __init__(
        self, system: System, *, grouped: Mapping[str, tuple[str, ...]] | None = None, left_out: tuple[str, ...] = ()
    ) -> None:
        self.system = system
        # What is switched off is taken out for speed; reasons and traces come from the system as it is written.
        self._folded = folded(system)
        self._machine = Machine(self._folded)
        self._actions = {action.name: action for action in self._folded.actions}
        self._grouped = grouped or {}
        self._left_out = left_out
        self._kinds = [(show_path(path, system.state), kind) for path, kind in leaves(system.state)]
        self._told: dict[State, Shown] = {}
        self._ahead: dict[State, tuple[Happening, ...]] = {}

    def knows(self, step: Happening) -> bool:
        """Whether the step has the arguments of the model's action; one that only the code has may have any."""
        action = next((one for one in self.system.actions if one.name == step.action), None)
        if action is None:
            return True
        kinds = {param.name: param for param in action.params if param.name not in self._left_out}
        given = dict(step.args)
        return given.keys() == kinds.keys() and all(
            any(type(told) is type(given[name]) and told == given[name] for told in _domain(param))
            for name, param in kinds.items()
        )

    def start(self) -> State:
        """The model's first state."""
        return next(iter(self._machine.initial()))

    def shown(self, state: State) -> Shown:
        """The state as traces write it."""
        return {path: label(value, kind) for value, (path, kind) in zip(state, self._kinds, strict=True)}

    def after(self, state: State, step: Happening) -> State | None:
        """The state after a step and those that the code does in one go with it; None if the model refuses it."""
        calls, end = self._taken(state, step)
        return end if calls else None

    def _taken(self, state: State, step: Happening) -> tuple[list[tuple[Action, Args]], State]:
        """The model's steps for one of the code, and the state after them; no steps if the model refuses it."""
        action = self._actions.get(step.action)
        if action is None:
            return [], state
        args = self._args(action, step)
        end = self._step(state, action, args)
        if end is None:
            return [], state
        calls = [(action, args)]
        for name in self._grouped.get(step.action, ()):
            follower = self._actions[name]
            given = Happening(name, tuple(pair for pair in step.args if pair[0] in {p.name for p in follower.params}))
            further = self._step(end, follower, self._args(follower, given))
            if further is not None:
                calls.append((follower, self._args(follower, given)))
                end = further
        return calls, end

    def _written(self, action: Action) -> Action:
        """The action as it is written."""
        return next(one for one in self.system.actions if one.name == action.name)

    def _step(self, state: State, action: Action, args: Args) -> State | None:
        try:
            return self._machine.step(action.params, action.body, state, args)
        except Fault:
            return None

    def _args(self, action: Action, step: Happening) -> Args:
        given = dict(step.args)
        return tuple(value_of(given[p.name], p.type) if p.name in given else 0 for p in action.params)

    def refuses(self, state: State, step: Happening) -> str:
        """Which part of a guard refuses a step, as it is written in the model."""
        action = next((one for one in self.system.actions if one.name == step.action), None)
        if action is None:
            return "the model has no such action"
        machine = Machine(self.system)
        refused = refusal(machine, action, self._args(action, step), state)
        if refused is None:
            return "the model goes wrong in it"
        text, part = shortest(conjuncts(machine, refused), self.system.sources)
        return f"{text}  ({part.loc})"

    def differences(self, state: State, code: Shown) -> list[Difference]:
        """What the code has otherwise, among the variables that both have."""
        if state not in self._told:
            if len(self._told) > MOST_KEPT:
                self._told.clear()
            self._told[state] = self.shown(state)
        model = self._told[state]
        return [
            Difference(path, model[path], value)
            for path, value in code.items()
            if path in model and not (type(model[path]) is type(value) and model[path] == value)
        ]

    def possible(self, state: State) -> tuple[Happening, ...]:
        """What the model lets the system do by itself, steps that change nothing left out."""
        if state not in self._ahead:
            if len(self._ahead) > MOST_KEPT:
                self._ahead.clear()
            self._ahead[state] = tuple(self._possible(state))
        return self._ahead[state]

    def _possible(self, state: State) -> Iterator[Happening]:
        members = {name for names in self._grouped.values() for name in names}
        for action in self._folded.actions:
            if action.switched_off or action.name in ENVIRONMENT or action.name in members:
                continue
            for args in choices(action.params):
                after = self._step(state, action, args)
                if after is not None and after != state:
                    yield self._happening(action, args)

    def _happening(self, action: Action, args: Args) -> Happening:
        pairs = [(p.name, label(value, p.type)) for p, value in zip(action.params, args, strict=True)]
        return Happening(action.name, tuple(pair for pair in pairs if pair[0] not in self._left_out))

    def path_of(self, steps: Sequence[Step]) -> Path:
        """The steps of a trace as the implementation takes them."""
        members = {name for names in self._grouped.values() for name in names}
        return tuple(
            Happening(step.action, tuple(pair for pair in step.args.items() if pair[0] not in self._left_out))
            for step in steps
            if step.action not in members
        )

    def broken(self, state: State) -> frozenset[str]:
        """Invariants that a state breaks."""
        return frozenset(
            claim.name
            for claim in self._folded.claims
            if claim.kind == "invariant" and claim.cond is not None and not self._machine.holds(claim.cond, state)
        )

    def broken_in(self, code: Shown) -> frozenset[str]:
        """Invariants that a state of the code breaks, which shows all of the model's variables."""
        return self.broken(tuple(value_of(code[path], kind) for path, kind in self._kinds))

    def counterexample(self, path: Path, claim: str) -> Counterexample | None:
        """The model's run for a path of the code, if it breaks the claim in its last state."""
        found = next((one for one in self.system.claims if one.name == claim and one.kind == "invariant"), None)
        state = start = self.start()
        calls: list[tuple[Action, Args]] = []
        for step in path:
            taken, state = self._taken(state, step)
            if not taken:
                return None
            calls += [(self._written(action), args) for action, args in taken]
        if found is None or found.cond is None or self._machine.holds(found.cond, state):
            return None
        return Counterexample(found, start, tuple(calls))


def _domain(param: Param) -> list[Told]:
    """Every value that a parameter can have, as traces write it."""
    return [label(value, param.type) for (value,) in choices((param,))]


def value_of(told: Told, kind: LeafT) -> Value:
    """What a trace writes as a value of the type."""
    match kind:
        case SetT():
            assert isinstance(told, list)
            members = (value_of(item, kind.element) for item in told)
            return frozenset(item for item in members if isinstance(item, (bool, int, str)))
        case OptT():
            return None if told is None else value_of(told, kind.inner)
        case SortT() if kind.labels and isinstance(told, str):
            return kind.labels.index(told)
        case _:
            assert not isinstance(told, list)
            return told
