"""The checker of certificates: what a proof rests on.  Nothing here searches, and nothing is believed.

The model's text is made a theory again, the theory's conditions are written down again for the clauses that the
certificate names, and for each of them the certificate shows step by step that its hypotheses and the negation of its
goal contradict each other.  What is trusted besides this file: the translation of the model (`lowering`), the list of
conditions (`conditions`, `substitute`), the rules of the steps (`ground`), and the evaluator that replays witnesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvproto.prove.certificates.codec import Json, Malformed, Reader, literals, symbol_to_json, text
from kvproto.prove.certificates.ground import Clause, Ground, Refused
from kvproto.prove.certificates.ground_steps import grounded, take
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.formula import Apply, Atom, Symbol, walk
from kvproto.prove.logic.readable import reading
from kvproto.prove.logic.theory import Clause as Named
from kvproto.prove.logic.theory import Theory

SCHEMA = "kvproto.proof/1"


@dataclass(frozen=True, slots=True)
class Checked:
    """What a certificate has been found to prove, and from what."""

    claims: tuple[str, ...]
    clauses: tuple[Named, ...]
    conditions: int
    steps: int


def check(data: Json, theory: Theory) -> Checked:
    """Check a certificate against the theory of the model as it is now; raises `Refused` with the reason."""
    try:
        for name, now in header(theory).items():
            if data[name] != now:
                raise Refused(f"its {name}: {_short(data[name])}; those of the model: {_short(now)}")
        if not theory.claims:
            raise Refused("it claims nothing")
        rigid_stay_rigid(theory)
        symbols = symbols_of(theory)
        # What a step chooses is chosen anew each time: nothing can be said of it from one state to the next.
        reader = Reader((*theory.state, *theory.rigid), {})
        clauses = tuple(_clause(entry, reader) for entry in data["clauses"])
        entries = {text(entry["name"]): entry for entry in data["conditions"]}
        if len(entries) < len(data["conditions"]):
            raise Refused("it has two entries for one condition")
        todo = conditions(theory, clauses)
        if odd := entries.keys() ^ {condition.name for condition in todo}:
            raise Refused(f"conditions of the clauses and of the certificate differ: {min(odd)}")
        for condition in todo:
            follow(condition, entries[condition.name], symbols)
    except (Malformed, LookupError, TypeError, ValueError) as problem:
        raise Refused(f"it is malformed: {problem}") from None
    steps = sum(len(entry["steps"]) for entry in entries.values())
    return Checked(tuple(claim.name for claim in theory.claims), clauses, len(todo), steps)


def header(theory: Theory) -> dict[str, Json]:
    """What a certificate and the model have to agree on word for word."""
    return {
        "model": theory.model,
        "preset": theory.preset,
        "switches": dict(theory.switches),
        "digest": theory.digest,
        "sorts": list(theory.sorts),
        "symbols": [symbol_to_json(symbol) for symbol in symbols_of(theory)],
        "assumptions": list(theory.assumptions),
        "claims": [{"name": claim.name, "text": claim.text} for claim in theory.claims],
    }


def rigid_stay_rigid(theory: Theory) -> None:
    """Axioms are assumed in every state, so they may speak of nothing that changes."""
    changing = {symbol.name for symbol in symbols_of(theory) if symbol not in theory.rigid}
    updated = {update.symbol for step in theory.transitions for update in step.updates}
    assumed = {
        node.symbol.name for axiom in theory.axioms for node in walk(axiom.formula) if isinstance(node, Atom | Apply)
    }
    if updated & set(theory.rigid) or assumed & changing:
        raise Refused("an axiom of the model speaks of what changes")


def symbols_of(theory: Theory) -> tuple[Symbol, ...]:
    """Symbols of the state, rigid ones, and those that steps choose; names are unique."""
    chosen = [symbol for step in theory.transitions for symbol in step.chosen]
    return tuple(dict.fromkeys((*theory.state, *theory.rigid, *chosen)))


def follow(condition: Condition, entry: Json, symbols: Iterable[Symbol]) -> None:
    """Follow the refutation of one condition; raises `Refused` where it does not hold."""
    names = {hypothesis.name for hypothesis in condition.hypotheses}
    uses = [text(name) for name in entry["uses"]]
    if unknown := set(uses) - names:
        raise Refused(f"{condition.name}: there is no hypothesis {min(unknown)}")
    try:
        ground = grounded(condition, uses)
        reader = Reader(symbols, ground.constants)
        for step in entry["steps"]:
            take(ground, reader.step(step))
    except (Refused, Malformed) as problem:
        raise Refused(f"{condition.name}: {problem}") from None
    if entry["elements"] != elements(ground):
        raise Refused(f"{condition.name}: it speaks of {elements(ground)}, not of {entry['elements']}")
    contradiction(condition.name, ground.clauses, [literals(clause) for clause in entry["clauses"]])


def elements(ground: Ground) -> dict[str, int]:
    """How many elements of each sort a refutation speaks of: no size bounds it, these are all it needs."""
    sorts = [constant.sort for constant in ground.constants.values()]
    return {sort: sorts.count(sort) for sort in sorted(set(sorts))}


def contradiction(name: str, given: Iterable[Clause], learned: Sequence[Clause]) -> None:
    """Each learned clause follows by unit propagation from all before it, and the last one is empty."""
    known = Propagation()
    for clause in given:
        known.add(clause)
    for number, clause in enumerate(learned, 1):
        if not known.refutes(-literal for literal in clause):
            raise Refused(f"{name}: clause {number} of {len(learned)} does not follow")
        known.add(clause)
    if not learned or learned[-1]:
        raise Refused(f"{name}: it does not end in a contradiction")


class Propagation:
    """Clauses, and what follows from literals by way of clauses of which all literals but one are false."""

    def __init__(self) -> None:
        self.clauses: list[Clause] = []
        self.having: defaultdict[int, list[Clause]] = defaultdict(list)

    def add(self, clause: Clause) -> None:
        """One clause more."""
        self.clauses.append(clause)
        for literal in clause:
            self.having[literal].append(clause)

    def refutes(self, supposed: Iterable[int]) -> bool:
        """Whether a clause loses its last literal if these are true."""
        todo = [*supposed, *(clause[0] for clause in self.clauses if len(clause) == 1)]
        if () in self.clauses:
            return True
        true: set[int] = set()
        while todo:
            literal = todo.pop()
            if -literal in true:
                return True
            if literal in true:
                continue
            true.add(literal)
            for clause in self.having[-literal]:
                rest = [other for other in clause if -other not in true]
                if not rest:
                    return True
                if len(rest) == 1:
                    todo.append(rest[0])
        return False


def _clause(entry: Json, reader: Reader) -> Named:
    formula = reader.formula(entry["formula"])
    if entry["text"] != reading(formula):
        raise Refused(f"clause {entry['name']} does not read as its formula does")
    return Named(text(entry["name"]), formula, text(entry["text"]))


def _short(value: Json) -> str:
    shown = str(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
