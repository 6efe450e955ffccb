"""A model that goes wrong while it runs: which error comes first, and the run that leads to it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.engine.explorer import FaultHit
from kvproto.engine.lower_code import FaultInfo
from kvproto.engine.reduction import Runs
from kvproto.engine.starting import InitFault, call, called, run_init, starts
from kvproto.ir.nodes import Claim, System

CURES = {
    "KV201": "guard the store with require(...), take min(x, limit), or widen the type",
    "KV202": "guard the line with require(n < len(...)), or use an element of the sort instead of a number",
    "KV203": "test for None first: require(x is not None), or `if x is not None`",
    "KV204": "test the divisor first: require(n != 0), or `if n != 0`",
    "KV205": "give a default: min(..., default=0)",
    "KV206": "guard the line with require(len(queue) < n), or make the queue longer",
    "KV207": "guard the line with require(len(queue) > 0)",
    "KV208": "guard the line with require(bag.count(x) < n), or allow more copies",
}


class ModelErrors:
    """Finds and explains errors of the model that an explorer has met."""

    def __init__(self, runs: Runs, claims: Sequence[Claim]) -> None:
        self.runs = runs
        self.system, self.lowered, self.explorer = runs.system, runs.lowered, runs.explorer
        self.claims = claims

    def first(self) -> KvError | None:
        """The error that was met first: a fault that is no failed assertion."""
        errors = [h for h in self.explorer.faults() if not self.lowered.faults[h.fault].claim]
        return self._explained(min(errors, key=self._moment)) if errors else None

    def _moment(self, hit: FaultHit) -> tuple[int, ...]:
        """When the fault was met, in a form that can be compared: tiers look at different times.

        States are found in the order of (length of the path, initial state, instances on the path).
        """
        start, path = self.explorer.path(hit.state)
        if hit.action >= 0:
            return (len(path), start, *path, hit.action)
        if any(claim is not None and claim.kind == "invariant" for claim, _ in self._faulty_claims(hit)):
            return (len(path) - 1, start, *path)  # when the state was found
        return (len(path), start, *path, len(self.lowered.instances))  # after its last action

    def _faulty_claims(self, hit: FaultHit) -> list[tuple[Claim | None, Fault]]:
        """The selected properties that go wrong at this place in this state, in the words of the oracle."""
        return self._faulty_conditions(self._state(hit.state), self.lowered.faults[hit.fault])

    def _faulty_conditions(self, state: State, info: FaultInfo) -> list[tuple[Claim | None, Fault]]:
        """The same for any state; None stands for the constraint."""
        machine = Machine(self.system)
        asked = [(claim, claim.cond) for claim in self.claims if not claim.params]
        found: list[tuple[Claim | None, Fault]] = []
        for claim, cond in [*asked, (None, self.system.constraint)]:
            try:
                if cond is not None:
                    machine.holds(cond, state)
            except Fault as fault:
                if (fault.code, fault.node.loc) == (info.code, info.loc):
                    found.append((claim, fault))
        return found

    def _state(self, number: int) -> State:
        return self.lowered.layout.unpack(self.explorer.packed(number))

    def _explained(self, hit: FaultHit) -> KvError:
        """The error with the run that leads to it and the oracle's own words."""
        info = self.lowered.faults[hit.fault]
        asked = [claim for claim in self.claims if not claim.params]
        init, steps = self.runs.to_error(hit, asked)
        machine, state, fault = Machine(self.system), init, None
        for action, args in steps if hit.action < 0 else steps[:-1]:
            after = machine.step(action.params, action.body, state, args)
            assert after is not None, "the run was made by the oracle"
            state = after
        run = self._origin(init) + [call(action, args) for action, args in steps]
        if hit.action < 0:
            claim, fault = next(iter(self._faulty_conditions(state, info)), (None, None))
            what = f"evaluating {claim.name if claim else 'the constraint'} " if fault else ""
            place = f"{what}after: {listed(run)}" if run else f"{what}in the initial state"
        else:
            action, args = steps[-1]
            place = f"reached by: {listed(run)}"
            try:
                machine.step(action.params, action.body, state, args)
            except Fault as problem:
                fault = problem
        if fault is None:
            raise AssertionError(f"the reference checker does not confirm {info.message!r} at {info.loc}: {place}")
        return model_error(self.system, fault, place)

    def in_claim(self, claim: Claim, number: int, fault: Fault) -> KvError:
        """The error that a claim about runs goes wrong in a state."""
        start, path = self.explorer.path(number)
        run = self._origin(self._state(start)) + [call(*self.lowered.instances[at]) for at in path]
        return model_error(self.system, fault, f"evaluating {claim.name} after: {listed(run) or 'nothing yet'}")

    def _origin(self, wanted: State) -> list[str]:
        """The init function that gave an initial state, where there is a choice."""
        machine = Machine(self.system)
        choices = list(starts(self.system))
        for init, args in choices if len(choices) > 1 else []:
            try:
                if run_init(machine, init, args) == wanted:
                    return [called(init.name, init.params, args)]
            except InitFault:
                continue
        return []


def model_error(system: System, fault: Fault, place: str) -> KvError:
    """KV2nn where the model goes wrong while it runs."""
    loc = fault.node.loc
    lines = system.sources.get(loc.file, "").splitlines()
    return KvError(
        fault.code,
        fault.message,
        reason=place,
        cure=CURES[fault.code],
        loc=loc,
        line=lines[loc.line - 1] if 0 < loc.line <= len(lines) else "",
    )


def listed(run: Sequence[str]) -> str:
    """Steps in order, folded between steps."""
    glued = ", ".join(step.replace(" ", "\0") for step in run)
    return "\n      ".join(textwrap.wrap(glued, 84, break_long_words=False, break_on_hyphens=False)).replace("\0", " ")
