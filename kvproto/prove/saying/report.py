"""What is known of a target as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvproto import __version__
from kvproto.ir.nodes import Claim
from kvproto.prove.exact.bounded import describe as bounded_lines
from kvproto.prove.logic.formula import INT, Apply, Formula, walk
from kvproto.prove.logic.readable import reading, render
from kvproto.prove.logic.theory import Clause, Theory
from kvproto.prove.proof import Induction, Proof, Undecided
from kvproto.prove.prover import Answer, Verdict, World, shown_sizes
from kvproto.prove.saying.states_text import changes, labels_of, state_lines, step_text
from kvproto.trace.printable import printable

WORDS: dict[Verdict, str] = {
    "proved": "PROVED",
    "violated": "VIOLATED",
    "undecided": "UNDECIDED",
    "sizes only": "SIZES ONLY",
    "vacuous": "VACUOUS",
}
METHOD = "inductive invariant"

INDUCTION = "counterexample to induction"
"""The name under which that trace is among the others."""


def describe(answer: Answer, traces: Mapping[str, str], *, quiet: bool = False) -> list[str]:
    """The answer for a terminal."""
    lines = [printable(answer.wanted.target.text)]
    lines += [_claim_line(answer, claim, traces) for claim in _judged(answer, quiet)]
    if isinstance(answer.result, Proof) and not quiet:
        lines += _proof(answer, answer.result)
    if isinstance(answer.result, Undecided) and answer.open:
        lines += _undecided(answer, answer.result, traces)
    if not isinstance(answer.result, Proof) and not quiet:
        lines += [f"  {line}" for limit in answer.limits for line in limit.lines()]
    if answer.outside:
        lines += _outside(answer)
    if not quiet:
        lines += [f"  searched {_searched(world)}" for world in answer.worlds]
        lines += _vacuity(answer)
    return [*lines, f"  {answer.seconds:.1f} s"]


def row(answer: Answer) -> str:
    """The answer on one line."""
    counts: dict[str, list[str]] = {}
    for claim in answer.claims:
        if claim.kind != "sometimes" or answer.verdicts[claim.name] == "vacuous":
            counts.setdefault(WORDS[answer.verdicts[claim.name]], []).append(claim.name)
    told = "  ".join(f"{word} {', '.join(names)}" for word, names in counts.items())
    size = f"  {len(answer.result.clauses)} clauses" if isinstance(answer.result, Proof) else ""
    return f"{answer.wanted.target.text:<38} {told}{size}  {answer.seconds:.1f} s"


def _judged(answer: Answer, quiet: bool) -> list[Claim]:
    """Properties to tell of: witnesses only where they are missing."""
    shown = [c for c in answer.claims if c.kind != "sometimes" or answer.verdicts[c.name] != "proved"]
    return [claim for claim in shown if not quiet or answer.verdicts[claim.name] != "proved"]


def _claim_line(answer: Answer, claim: Claim, traces: Mapping[str, str]) -> str:
    verdict = answer.verdicts[claim.name]
    width = max(len(c.name) for c in answer.claims)
    text = f"  {WORDS[verdict]:<10} {claim.name:<{width}}"
    if verdict == "violated":
        world, run = answer.runs[claim.name]
        where = f"  {traces[claim.name]}" if claim.name in traces else ""
        return f"{text}  {len(run.steps)} steps with {shown_sizes(world.instance)}{where}"
    if verdict == "vacuous":
        return f"{text}  happens in no small world: {claim.text}"
    return f"{text}  {claim.text}"


def scope_text(theory: Theory) -> str:
    """What the theory is about: `any number of Req and Page, every hold and delta with ...`."""
    sorts = " and ".join(filter(None, [", ".join(theory.sorts[:-1]), *theory.sorts[-1:]])) or "steps"
    numbers = ", ".join(symbol.spelled for symbol in theory.rigid if symbol.result == INT)
    known = " and ".join(reading(axiom.formula) for axiom in theory.axioms if _about_numbers(axiom))
    with_numbers = f", and every {numbers}{f' with {known}' if known else ''}" if numbers else ""
    return f"any number of {sorts}{with_numbers}"


def _about_numbers(axiom: Clause) -> bool:
    return any(isinstance(node, Apply) for node in walk(axiom.formula))


# --- proofs -------------------------------------------------------------------------------------------


def _proof(answer: Answer, proof: Proof) -> Iterator[str]:
    theory = answer.theory
    assert theory is not None
    own = {claim.name for claim in theory.claims}
    clauses = [clause for clause in proof.clauses if clause.name not in own]
    yield f"  {METHOD} of {len(proof.clauses)} clauses, strength inductive, for {scope_text(theory)}"
    yield from (f"    {text}" for text in clause_texts(clauses))
    for rejected in proof.rejected:
        yield f"  not part of it: {rejected.clause.text}: {_why_rejected(rejected.where)}"
    yield from (f"  assumes: {text}" for text in theory.assumptions)
    yield from (f"  {line}" for limit in answer.limits for line in limit.lines())


def clause_texts(clauses: Sequence[Clause]) -> list[str]:
    """Clauses as they read; those of one reading once."""
    return list(dict.fromkeys(render(clause) for clause in clauses))


def _why_rejected(where: Induction) -> str:
    if where.action is None:
        return "it does not hold at the start"
    return f"{where.action.name} may break it"


def _vacuity(answer: Answer) -> Iterator[str]:
    """Runs that show what the proof is about."""
    shown = [claim for claim in answer.claims if claim.kind == "sometimes" and claim.name in answer.runs]
    told = [f"{claim.name} ({len(answer.runs[claim.name][1].steps)} steps)" for claim in shown]
    if told:
        yield f"  happens: {', '.join(told)}"
    elif not any(claim.kind == "sometimes" for claim in answer.claims):
        never = _never_fired(answer)
        happens = "every action happens" if not never else f"never: {', '.join(never)}"
        yield f"  the model has no @sometimes to show what can happen; in the small worlds {happens}"


def _never_fired(answer: Answer) -> list[str]:
    """Actions that happen in no small world."""
    fired = {name for world in answer.worlds for name, count in world.result.fired.items() if count}
    names = [a.name for world in answer.worlds[:1] for a in world.instance.system.actions if not a.switched_off]
    return [name for name in names if name not in fired]


def _searched(world: World) -> str:
    end = "complete" if world.result.complete else f"stopped: {world.result.stopped}"
    return f"{shown_sizes(world.instance)}: {world.result.states:,} states, {end}"


# --- no proof -----------------------------------------------------------------------------------------


def _undecided(answer: Answer, found: Undecided, traces: Mapping[str, str]) -> Iterator[str]:
    yield f"  {found.reason}"
    if found.stuck is not None:
        yield from _induction(answer, found.stuck, traces)
    for clause in found.nearest:
        yield f"  was given up and would exclude it: {render(clause)}"
    for text in found.tried:
        yield f"  tried {text}"
    for rejected in found.rejected:
        yield f"  your clause does not hold: {rejected.clause.text}: {_why_rejected(rejected.where)}"
    if answer.bounded is not None:
        yield from (f"  {line}" for line in bounded_lines(answer.bounded))
    yield f'  to go on: give a clause that excludes the state before:  --clause "{elements(answer.theory)}..."'


def elements(theory: Theory | None) -> str:
    """How a clause about the model begins: an element of each sort, named by the first letter of that."""
    names = dict.fromkeys(sort[0].lower() for sort in theory.sorts) if theory else {}
    return f"{', '.join(names)}: " if names else ""


def _induction(answer: Answer, stuck: Induction, traces: Mapping[str, str]) -> Iterator[str]:
    theory, lowered = answer.theory, answer.lowered
    assert theory is not None and lowered is not None
    labels = labels_of(lowered)
    broken = stuck.broken.text or reading(stuck.broken.formula)
    yield f"  a counterexample to induction of {stuck.broken.name}: {broken}"
    yield "  every clause holds before, and this one not after:"
    yield from (f"    before  {line}" for line in state_lines(theory, stuck.before, labels))
    if stuck.action is not None:
        yield f"    step    {step_text(stuck.action, stuck.choice, stuck.before, labels)}"
        yield from (f"    after   {line}" for line in changes(theory, stuck.before, stuck.after, labels))
    if answer.reached is not None:
        yield f"  is the state before real? {answer.reached.why}"
    if INDUCTION in traces:
        yield f"  to look at it: kvproto show {traces[INDUCTION]}"


def _outside(answer: Answer) -> Iterator[str]:
    sizes = "; ".join(shown_sizes(world.instance) for world in answer.worlds)
    yield f"  outside of what proofs are about, so checked for these sizes only: {sizes}"
    for one in answer.outside:
        yield from (f"  {line}" for line in one.render().rstrip().splitlines())


# --- JSON ---------------------------------------------------------------------------------------------


def as_json(answer: Answer, traces: Mapping[str, str], certificate: str | None = None) -> dict[str, object]:
    """One object of schema `kvproto.result/1`, with what a proof has beside a search."""
    theory = answer.theory
    system = answer.worlds[0].instance.system
    return {
        "schema": "kvproto.result/1",
        "kvproto": __version__,
        "target": answer.wanted.target.text,
        "model": system.model,
        "preset": system.preset,
        "parameters": dict(theory.switches) if theory else dict(system.parameters),
        "scope": scope_text(theory) if theory else system.scope,
        "engine": "prove",
        "complete": answer.exit_code != 3,
        "states": sum(world.result.states for world in answer.worlds),
        "transitions": sum(world.result.transitions for world in answer.worlds),
        "depth": max(world.result.depth for world in answer.worlds),
        "seconds": round(answer.seconds, 3),
        "cpu_seconds": round(answer.cpu_seconds, 3),
        "properties": [_property(answer, claim, traces) for claim in answer.claims],
        "method": METHOD if isinstance(answer.result, Proof) else None,
        "clauses": _clauses(answer),
        "assumptions": [*theory.assumptions, *map(_axiom, theory.axioms)] if theory else [],
        "limits": [{"lines": limit.lines(), "exact": limit.exact} for limit in answer.limits],
        "sizes": [shown_sizes(world.instance) for world in answer.worlds],
        "outside": [_diagnostic_text(one.code, one.message, one.loc) for one in answer.outside],
        "undecided": _stuck_json(answer, traces),
        "certificate": certificate,
    }


def _property(answer: Answer, claim: Claim, traces: Mapping[str, str]) -> dict[str, object]:
    verdict = answer.verdicts[claim.name]
    run = answer.runs.get(claim.name)
    proved = verdict == "proved"
    inductive = proved and claim.kind != "sometimes"
    broken = verdict in ("violated", "vacuous")
    return {
        "name": claim.name,
        "kind": claim.kind,
        "verdict": "violated" if broken else "holds" if proved else "inconclusive",
        "strength": "inductive" if inductive else "exhaustive" if run else "bounded",
        "trace": traces.get(claim.name),
        "length": len(run[1].steps) if run else None,
        "reason": None if proved or broken else WORDS[verdict].lower(),
    }


def _clauses(answer: Answer) -> list[dict[str, str]]:
    if not isinstance(answer.result, Proof):
        return []
    return [{"name": clause.name, "text": render(clause)} for clause in answer.result.clauses]


def _axiom(clause: Clause) -> str:
    return _text(clause.formula)


def _text(formula: Formula) -> str:
    return reading(formula)


def _diagnostic_text(code: str, message: str, loc: object) -> str:
    return f"{code} {loc or ''} {message}".replace("  ", " ")


def _stuck_json(answer: Answer, traces: Mapping[str, str]) -> dict[str, object] | None:
    found = answer.result
    if not isinstance(found, Undecided) or not answer.open:
        return None
    told: dict[str, object] = {
        "reason": found.reason,
        "tried": list(found.tried),
        "nearest": [render(clause) for clause in found.nearest],
    }
    theory, lowered = answer.theory, answer.lowered
    if found.stuck is not None and theory is not None and lowered is not None:
        labels, stuck = labels_of(lowered), found.stuck
        step = stuck.action and step_text(stuck.action, stuck.choice, stuck.before, labels)
        told |= {
            "broken": stuck.broken.text or reading(stuck.broken.formula),
            "before": list(state_lines(theory, stuck.before, labels)),
            "step": step,
            "after": list(state_lines(theory, stuck.after, labels)),
            "reachable": answer.reached.yes if answer.reached else None,
            "trace": traces.get(INDUCTION),
        }
    return told
