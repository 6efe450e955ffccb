"""One target from small worlds to a proof: search, lower, infer, and what each of them has to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kvproto.diagnostics import Diagnostic, KvError
from kvproto.engine.clock import Clock
from kvproto.engine.outcome import Counterexample, Finding, Options, Result
from kvproto.engine.search import search, select
from kvproto.ir.nodes import LIVENESS, Claim
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target
from kvproto.prove.exact.bounded import Bounded
from kvproto.prove.exact.bounded import search as bounded_search
from kvproto.prove.exact.limit import Limit, broken, is_assumption, limits
from kvproto.prove.inference.prove import prove
from kvproto.prove.logic.formula import INT
from kvproto.prove.logic.theory import Theory
from kvproto.prove.lowering.fail import NotGeneral
from kvproto.prove.lowering.system import Lowered, lower
from kvproto.prove.proof import Limits, Proof, Undecided
from kvproto.prove.saying.clause_text import user_clauses
from kvproto.prove.worlds.induction import Shown, shown
from kvproto.prove.worlds.instances import Instance, instances, seeds, with_numbers
from kvproto.prove.worlds.reached import Reached, reached

MAX_STATES = 300_000
"""States of a small world after which a search is a sample."""

BOUNDED_STEPS = 6
"""Steps of the search with open numbers where no proof is found."""

Verdict = Literal["proved", "violated", "undecided", "sizes only", "vacuous", "not asked"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a target; numbers in `sets` keep their values, sizes in it are sizes of the small world."""

    target: Target
    sets: Mapping[str, str] = field(default_factory=dict)
    scope: str | None = None
    properties: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    time_limit: float | None = None
    exact: bool = True
    """Whether it is asked if assumptions about numbers could be weaker."""


@dataclass(frozen=True, slots=True)
class World:
    """A small world that was searched."""

    instance: Instance
    result: Result


@dataclass(slots=True)
class Answer:
    """What is known of a target; `verdicts` by property, in the order of the model.

    `runs` are counterexamples and witnesses with the world that they happen in.
    """

    wanted: Wanted
    claims: tuple[Claim, ...]
    worlds: list[World] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    runs: dict[str, tuple[World, Counterexample]] = field(default_factory=dict)
    lowered: Lowered | None = None
    outside: tuple[Diagnostic, ...] = ()
    result: Proof | Undecided | None = None
    reached: Reached | None = None
    induction: Shown | None = None
    """The counterexample to induction as a run of one step, where it breaks a claim."""
    limits: list[Limit] = field(default_factory=list)
    """What becomes of the claims without the assumptions about numbers."""
    bounded: Bounded | None = None
    """A search with open numbers, where no proof was found."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def theory(self) -> Theory | None:
        """The theory, without the claims that are known to be false and the assertions that nobody asks for."""
        return None if self.lowered is None else without(self.lowered.theory, (*self.violated, *self.unasked))

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the properties that a proof could still decide."""
        provable = [claim.name for claim in self.claims if claim.kind != "sometimes"]
        return tuple(name for name in provable if self.verdicts[name] == "undecided")

    @property
    def unasked(self) -> tuple[str, ...]:
        """Names of assertions of the model that are not asked for."""
        if self.lowered is None:
            return ()
        asked = {claim.name for claim in self.claims}
        every = [claim.name for claim in self.lowered.source.system.claims if claim.kind == "assert"]
        return tuple(name for name in every if name not in asked)

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the properties that a run breaks."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict == "violated")

    @property
    def exit_code(self) -> int:
        """0 all proved, 1 something is violated or never happens, 3 anything else."""
        found = set(self.verdicts.values())
        if found & {"violated", "vacuous"}:
            return 1
        return 0 if found <= {"proved"} and "proved" in found else 3


def answer(wanted: Wanted, progress: Callable[[str], None] = lambda _: None) -> Answer:
    """Search small worlds of the target, then prove what no run breaks.

    Raises KvError where the model or its settings are wrong, KV169 where nothing is asked that a proof could be about.
    """
    clock = Clock()
    target = wanted.target
    chosen = choose(target.model, preset=target.preset, scope=wanted.scope, sets=wanted.sets)
    system = build(target.model, chosen)
    claims = _claims(select(system, wanted.properties), select(system, ()))
    found = Answer(wanted, claims)
    try:
        found.lowered = _lowered(wanted, chosen, claims)
    except NotGeneral as problem:
        found.outside = problem.all
    _search(found, chosen, progress)
    _judge(found)
    if found.lowered is not None and found.open:
        _prove(found, chosen, progress)
    if found.lowered is not None and found.violated and wanted.exact:
        _measure(found, found.lowered.theory, progress)
    found.seconds, found.cpu_seconds = clock.seconds(), clock.cpu_seconds()
    return found


def _claims(asked: Sequence[Claim], every: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims a proof can be about, and all witnesses."""
    provable = [claim for claim in asked if claim.kind in ("invariant", "assert")]
    if not provable:
        names = ", ".join(claim.name for claim in asked)
        raise KvError(
            "KV169",
            f"there is nothing to prove: {names or 'no property'} is not about every state",
            reason="a proof is of invariants and of assertions in actions",
            cure="kvproto check judges claims about runs, deadlocks and what can happen",
        )
    return (*provable, *(claim for claim in every if claim.kind == "sometimes"))


def _lowered(wanted: Wanted, chosen: Chosen, claims: Sequence[Claim]) -> Lowered:
    names = tuple(claim.name for claim in claims if claim.kind in ("invariant", "assert"))
    return lower(wanted.target.model, chosen, fixed=frozenset(wanted.sets), properties=names)


# --- small worlds -------------------------------------------------------------------------------------


def _search(found: Answer, chosen: Chosen, progress: Callable[[str], None]) -> None:
    """Search every small world, until all that could be proved is known to be false."""
    names = tuple(claim.name for claim in found.claims)
    options = Options(properties=names, max_states=MAX_STATES, time_limit=found.wanted.time_limit)
    for instance in _worlds(found, chosen):
        progress(f"searching {shown_sizes(instance)}")
        world = World(instance, search(instance.system, options))
        found.worlds.append(world)
        for finding in world.result.findings:
            run = _run_of(finding)
            if run is not None:
                found.runs.setdefault(finding.claim.name, (world, run))
        if all(claim.name in found.runs for claim in found.claims):
            break


def _worlds(found: Answer, chosen: Chosen) -> list[Instance]:
    if found.lowered is not None:
        return list(instances(found.lowered, chosen, scope=found.wanted.scope, sets=found.wanted.sets))
    model, wanted = found.wanted.target.model, found.wanted
    names = [wanted.scope] if wanted.scope else [chosen.scope]
    made = [choose(model, preset=wanted.target.preset, scope=name or None, sets=wanted.sets) for name in names]
    return [Instance(one.scope, {}, one, build(model, one)) for one in made]


def _run_of(finding: Finding) -> Counterexample | None:
    """A run that breaks an invariant, or shows what can happen."""
    if finding.claim.kind in LIVENESS:
        return None
    return finding.counterexample or finding.witness


def _judge(found: Answer) -> None:
    """What small worlds alone tell."""
    open_verdict: Verdict = "sizes only" if found.lowered is None else "undecided"
    complete = all(world.result.complete for world in found.worlds)
    for claim in found.claims:
        if claim.kind == "sometimes":
            shown = claim.name in found.runs
            found.verdicts[claim.name] = "proved" if shown else "vacuous" if complete else open_verdict
        else:
            found.verdicts[claim.name] = "violated" if claim.name in found.runs else open_verdict


# --- proof --------------------------------------------------------------------------------------------


def _prove(found: Answer, chosen: Chosen, progress: Callable[[str], None]) -> None:
    lowered, wanted = found.lowered, found.wanted
    theory = found.theory
    assert lowered is not None and theory is not None
    user = user_clauses(wanted.target.model, chosen, frozenset(wanted.sets), wanted.clauses)
    rows = seeds(lowered, [world.instance for world in found.worlds])
    progress(f"looking for an invariant in {len(rows):,} states")
    found.result = prove(theory, rows, user=user, limits=Limits(seconds=wanted.time_limit))
    if isinstance(found.result, Proof):
        found.verdicts |= dict.fromkeys(found.open, "proved")
        if wanted.exact and any(map(is_assumption, theory.axioms)):
            progress("looking for runs beyond the assumptions")
            found.limits = limits(theory)
        return
    before = found.violated
    _search_beyond(found, chosen, theory, progress)
    if found.violated != before and found.open:
        _prove(found, chosen, progress)  # what is left may not depend on what is false


def _measure(found: Answer, theory: Theory, progress: Callable[[str], None]) -> None:
    """Where numbers are open: for which of them the claim with the shortest run is broken."""
    claims = {claim.name for claim in theory.claims} & set(found.violated)
    runs = sorted((len(found.runs[name][1].steps), name) for name in claims)
    if runs and any(symbol.result == INT for symbol in theory.rigid):
        progress("looking for the numbers with which a run goes wrong")
        limit = broken(theory, runs[0][1])
        if limit.boundary is not None:
            found.limits.append(limit)


def _search_beyond(found: Answer, chosen: Chosen, theory: Theory, progress: Callable[[str], None]) -> None:
    """Where no proof is found, look for runs in worlds that the failed attempt points to."""
    lowered, result = found.lowered, found.result
    assert lowered is not None and isinstance(result, Undecided)
    if result.stuck is not None:
        progress("looking for the state in which the proof is stuck")
        found.reached = reached(lowered, chosen, result.stuck.before)
        if found.reached.yes:
            _search_world(found, with_numbers(lowered, chosen, found.reached.settings))
        found.induction = shown(lowered, chosen, result.stuck)
    if found.open and any(symbol.result == INT for symbol in theory.rigid):
        progress("searching with open numbers")
        _search_open(found, chosen, theory)


def _search_open(found: Answer, chosen: Chosen, theory: Theory) -> None:
    """Look for numbers with which a short run goes wrong, and for that run in the small world that has them."""
    assert found.lowered is not None
    sizes = {sort: min(int(world.instance.system.parameters[sort]) for world in found.worlds) for sort in theory.sorts}
    found.bounded = bounded_search(theory, sizes, BOUNDED_STEPS)
    if found.bounded.run is None:
        return
    numbers = {name.rpartition(".")[2]: value for name, value in found.bounded.run.parameters.items()}
    _search_world(found, with_numbers(found.lowered, chosen, {**numbers, **sizes}))


def _search_world(found: Answer, instance: Instance | None) -> None:
    """Search one more small world for what is undecided."""
    if instance is None:
        return
    options = Options(properties=found.open, max_states=MAX_STATES, time_limit=found.wanted.time_limit)
    world = World(instance, search(instance.system, options))
    for finding in world.result.findings:
        run = _run_of(finding)
        if run is not None:
            found.runs[finding.claim.name] = (world, run)
            found.verdicts[finding.claim.name] = "violated"
    found.worlds.append(world)


def without(theory: Theory, names: Sequence[str]) -> Theory:
    """The theory without some of its claims and assertions."""
    if not names:
        return theory
    transitions = tuple(
        replace(step, obligations=tuple(duty for duty in step.obligations if duty.name not in names))
        for step in theory.transitions
    )
    claims = tuple(claim for claim in theory.claims if claim.name not in names)
    return replace(theory, transitions=transitions, claims=claims)


def shown_sizes(instance: Instance) -> str:
    """`2 Req, 1 Page`, and what numbers are changed."""
    sizes = [f"{size} {sort}" for sort, size in instance.chosen.binding.sizes.items()]
    return ", ".join([*sizes, *(f"{name}={value}" for name, value in instance.sets.items())])
