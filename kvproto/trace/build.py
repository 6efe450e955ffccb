"""Making a trace: a counterexample is executed once more by the reference evaluator before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvproto.engine.blame import Ground, blame, blame_refusal
from kvproto.engine.blame import grounds as grounds_of
from kvproto.engine.evaluate import Args, Fault, Machine, NotEnabled, Run, State, choices
from kvproto.engine.outcome import Counterexample
from kvproto.engine.starting import InitFault, call, run_init
from kvproto.engine.written import opposite, written
from kvproto.ir.digest import digest
from kvproto.ir.nodes import Action, Assert, Claim, FlightInfo, PoolInfo, System, Unary
from kvproto.ir.types import ArrayT, LeafT, Path, RecordT, Type, label, leaves, show_path, values_of
from kvproto.trace.blocked import blocked, states_of
from kvproto.trace.filling import fill
from kvproto.trace.forced import attempt
from kvproto.trace.trace import ContainerView, FlightView, PoolView, SliceView, Step, Trace, Value, Vocabulary
from kvproto.trace.trace import Ground as TraceGround
from kvproto.trace.trace import State as TraceState

if TYPE_CHECKING:
    # Imported where it is wanted: most traces end.
    from kvproto.engine.liveness import Fair, Lasso


class NotReproduced(AssertionError):
    """The reference evaluator does not confirm what a search reported: a bug of kvproto."""


def build_trace(system: System, found: Counterexample) -> Trace:
    """The counterexample as a trace, step by step on the reference evaluator.

    Raises NotReproduced if a step is not enabled there, or the claim is not violated at the end.
    """
    recorder = _Recorder(system)
    state, steps, states = found.init, [], [found.init]
    blamed: list[Path] | None = None
    grounds: list[Ground] = []
    for number, (action, args) in enumerate(found.steps, 1):
        state, step, fault = recorder.step(state, action, args)
        steps.append(step)
        states.append(state)
        if fault is not None:
            blamed = recorder.at_fault(fault, found, number)
    if blamed is None and found.claim.kind == "assert":
        blamed = recorder.at_start(found.claim, found.init)
    elif blamed is None and found.loop is not None:
        grounds = recorder.on_lasso(found, states)
    elif blamed is None and found.claim.kind == "deadlock":
        blamed = recorder.at_deadlock(found.claim, state)
    elif blamed is None:
        grounds = recorder.at_state(found.claim, state)
    if blamed is None:
        blamed = list(dict.fromkeys(path for ground in grounds for path in ground.reads))
        blamed += [path for path in blocked(system, found).reads() if path not in blamed]
    return Trace(
        model=system.model,
        preset=system.preset,
        scope=system.scope,
        parameters=dict(system.parameters),
        property=found.claim.name,
        claim=found.claim.text,
        verdict="holds" if found.claim.kind == "sometimes" else "violated",
        digest=digest(system),
        init=recorder.shown(found.init),
        steps=tuple(steps),
        blame=tuple(recorder.text(path) for path in blamed),
        loop=found.loop,
        vocabulary=vocabulary(system),
        grounds=recorder.told(grounds),
    )


def lasso_of(found: Counterexample) -> Lasso:
    """A counterexample to a claim about runs, as the liveness checker takes it."""
    from kvproto.engine.liveness import Lasso

    assert found.loop is not None
    return Lasso(found.args, found.init, found.steps, found.loop)


def about(found: Counterexample) -> tuple[str, ...]:
    """For which choice of its parameters a claim about runs is violated."""
    shown = [f"{p.name} = {label(arg, p.type)}" for p, arg in zip(found.claim.params, found.args, strict=False)]
    return (f"The claim is violated for {', '.join(shown)}.",) if shown else ()


def fair_words(system: System, found: Counterexample) -> tuple[str, ...]:
    """Why fairness does not exclude the run, in one sentence; nothing for runs that end."""
    if found.loop is None:
        return ()
    from kvproto.engine.liveness import NO_FAIRNESS, fair_to

    lasso = lasso_of(found)
    if not system.fairness:
        return (NO_FAIRNESS,) if lasso.stops else ()
    whys = fair_to(system, lasso)
    failing = _failing(system, found, whys)
    if not failing and len(whys) == 1:
        return (whys[0].sentence(),)
    parts = []
    if gone := [fair for fair in whys if fair.why == "gone" and fair.group.name not in failing]:
        after = f"after step {gone[0].step}" if gone[0].step else "from the start"
        parts.append(f"nothing can be done {after} by {_named(gone)}")
    if failing:
        fails = "fails an assertion" if len(failing) == 1 else "fail assertions"
        parts.append(f"{_listed(failing)} {fails}, which is no step")
    if happens := [fair for fair in whys if fair.why == "happens"]:
        again = "happens" if len(happens) == 1 else "happen"
        parts.append(f"{_named(happens)} {again} again and again")
    if waived := [fair for fair in whys if fair.why == "waived"]:
        are = "is" if len(waived) == 1 else "are"
        parts.append(f"{_named(waived)} {are} only weakly fair, and not possible all the time")
    return (f"Fairness does not exclude this run: {'; '.join(parts)}.",) if parts else ()


def _failing(system: System, found: Counterexample, whys: Sequence[Fair]) -> list[str]:
    """Groups of which a step would happen in the cycle, and fails an assertion."""
    if found.loop is None:
        return []
    from kvproto.engine.liveness.fairness import all_instances

    cycle, instances = states_of(system, found)[found.loop :], all_instances(system)
    return [
        fair.group.name
        for fair in whys
        if fair.why != "happens"
        if any(attempt(system, *instances[n], state).end == "fails" for n in fair.group.members for state in cycle)
    ]


NAMED = 4
"""Groups that are named one by one."""


def _named(whys: Sequence[Fair]) -> str:
    """Groups by name, with the arguments that tell them apart, if they are few."""
    return _listed([fair.group.name for fair in whys]) if len(whys) <= NAMED else _actions(whys)


def _actions(whys: Sequence[Fair]) -> str:
    """Groups by the names of their actions."""
    return _listed(list(dict.fromkeys(" or ".join(fair.group.fairness.actions) for fair in whys)))


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class _Recorder:
    """Executes steps with every access written down."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.accesses: list[tuple[str, Path]] = []
        self.machine = Machine(system, lambda kind, path: self.accesses.append((kind, path)))
        self.kinds: list[tuple[Path, LeafT]] = list(leaves(system.state))
        self._texts = {path: show_path(path, system.state) for path, _ in self.kinds}

    def text(self, path: Path) -> str:
        """The path as traces write it."""
        return self._texts[path]

    def shown(self, state: State) -> TraceState:
        """The state as traces write it."""
        return {self._texts[p]: label(v, kind) for v, (p, kind) in zip(state, self.kinds, strict=True)}

    def step(self, state: State, action: Action, args: Args) -> tuple[State, Step, Fault | None]:
        """Execute one action instance; a failing assertion leaves the state as it was when it failed."""
        self.accesses.clear()
        names = dict(zip((p.name for p in action.params), args, strict=True))
        run = Run(self.machine, state, dict(names))
        fault = None
        try:
            run.block(action.body)
        except NotEnabled:
            raise NotReproduced(f"{call(action, args)} is not enabled in the reference checker") from None
        except Fault as problem:
            fault = problem
        after = tuple(run.state)
        return after, self._step(state, after, action, args), fault

    def _step(self, before: State, after: State, action: Action, args: Args) -> Step:
        shown = {p.name: label(a, p.type) for p, a in zip(action.params, args, strict=True)}
        delta: dict[str, tuple[Value, Value]] = {}
        for (path, kind), old, new in zip(self.kinds, before, after, strict=True):
            if old != new:
                delta[self._texts[path]] = (label(old, kind), label(new, kind))
        return Step(
            action=action.name,
            args=shown,
            lane=action.machine,
            loc=str(action.loc),
            text=fill(action.doc, shown),
            reads=self._accessed("read"),
            writes=self._accessed("write"),
            delta=delta,
        )

    def _accessed(self, wanted: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._texts[path] for kind, path in self.accesses if kind == wanted))

    def at_fault(self, fault: Fault, found: Counterexample, number: int) -> list[Path]:
        """What the failing step looked at, its assertion last."""
        if fault.claim != found.claim.name or number != len(found.steps) or not isinstance(fault.node, Assert):
            raise NotReproduced(f"step {number} fails with {fault.message!r}, which is not what was searched for")
        return list(dict.fromkeys(path for kind, path in self.accesses if kind == "read"))

    def at_start(self, claim: Claim, state: State) -> list[Path]:
        """What an init function had looked at when its assertion failed."""
        for init in self.system.inits:
            for args in choices(init.params):
                self.accesses.clear()
                try:
                    run_init(self.machine, init, args)
                except InitFault as problem:
                    if (problem.fault.claim, problem.state) == (claim.name, state):
                        return list(dict.fromkeys(path for kind, path in self.accesses if kind == "read"))
        raise NotReproduced(f"no init function fails {claim.name} in the reference checker")

    def at_state(self, claim: Claim, state: State) -> list[Ground]:
        """What decides that the claim is false in the last state; of a witness, that it is true."""
        quiet, cond = Machine(self.system), claim.cond
        if cond is None or quiet.holds(cond, state) != (claim.kind == "sometimes"):
            wrong = f"{claim.name} holds at the end of the run"
            wrong = "the last state is no witness" if claim.kind == "sometimes" else wrong
            raise NotReproduced(f"{wrong} in the reference checker")
        # What makes a condition true is what makes its opposite false.
        false = Unary(cond.type, "not", cond, cond.loc) if claim.kind == "sometimes" else cond
        return grounds_of(quiet, false, state)

    def on_lasso(self, found: Counterexample, states: list[State]) -> list[Ground]:
        """What decides, in the state that matters, that the goal is not met."""
        from kvproto.engine.liveness import confirm, decisive

        lasso = lasso_of(found)
        confirm(self.system, found.claim, lasso)
        goal, at = decisive(self.system, found.claim, lasso)
        return grounds_of(Machine(self.system), goal, states[at])

    def told(self, grounds: list[Ground]) -> tuple[TraceGround, ...]:
        """The grounds as traces write them."""
        found: dict[str, dict[str, None]] = {}
        for ground in grounds:
            if not ground.local and ground.reads:
                text = written(ground.part, self.system.sources)
                text = text if ground.value else opposite(text)
                found.setdefault(text, {}).update(dict.fromkeys(map(self.text, ground.reads)))
        return tuple(TraceGround(text, tuple(reads)) for text, reads in found.items())

    def at_deadlock(self, claim: Claim, state: State) -> list[Path]:
        """Why the last state is no end, then why no action can happen in it."""
        quiet = Machine(self.system)
        if claim.cond is not None and quiet.holds(claim.cond, state):
            raise NotReproduced("the last state is a proper end in the reference checker")
        found = dict.fromkeys(blame(quiet, claim.cond, state) if claim.cond is not None else [])
        for action in self.system.actions:
            for args in choices(action.params):
                refused = blame_refusal(quiet, action, args, state)
                if refused is None:
                    raise NotReproduced(f"{call(action, args)} can happen in the last state in the reference checker")
                found |= dict.fromkeys(refused)
        return list(found)


def vocabulary(system: System) -> Vocabulary:
    """Lanes, pools and flights of the system, as traces carry them."""
    return Vocabulary(
        lanes=tuple(m.name for m in system.machines),
        pools=tuple(_pool(pool) for pool in system.pools),
        flights=tuple(_flight(flight) for flight in system.flights),
        containers=tuple(_containers(system.state, (), system.state)),
    )


def _containers(kind: Type, path: Path, state: RecordT) -> Iterator[ContainerView]:
    """Queues, bags and sets of records, those inside of others left out."""
    match kind:
        case RecordT() if kind.shape == "record":
            for name, inner in kind.fields:
                yield from _containers(inner, (*path, name), state)
        case RecordT():
            yield ContainerView(show_path(path, state), kind.shape)
        case ArrayT():
            for key in values_of(kind.index):
                yield from _containers(kind.element, (*path, key), state)


def _pool(pool: PoolInfo) -> PoolView:
    pages = tuple(str(label(v, pool.page)) for v in values_of(pool.page))
    return PoolView(pool.name, pages, pool.owner, pool.content, tuple(SliceView(*part) for part in pool.slices))


def _flight(flight: FlightInfo) -> FlightView:
    ways = flight.also, flight.into, flight.slice, flight.out_of
    return FlightView(flight.requests, flight.field, flight.target, flight.source, *ways)
