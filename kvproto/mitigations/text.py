"""The answer for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvproto.lang.binding import Flag
from kvproto.mitigations.answer import Answer, GoalAnswer
from kvproto.mitigations.lattice import bits
from kvproto.mitigations.switches import Question
from kvproto.trace.printable import fold, printable

WIDTH = 110

Traces = Mapping[tuple[int, str], str]
"""Trace files by set and property."""

MARKS = {True: "holds", False: "VIOLATED", None: "INCONCL."}


def describe(answer: Answer, traces: Traces) -> list[str]:
    """Everything: each switch alone, the boundary for every goal, what the verdicts rest on."""
    lines = [*heading(answer), *alone(answer)]
    for group in groups(answer):
        lines += ["", *_group(answer, group, traces)]
    return [*lines, "", *basis(answer)]


def describe_asked(answer: Answer, traces: Traces) -> list[str]:
    """The sets that were asked for, and nothing else."""
    lines = heading(answer)
    for chosen, verdicts in answer.sets.items():
        lines.append(f"{words(answer.question, chosen)}: {_overall(verdicts)}")
        for name, verdict in verdicts.items():
            lines.append(f"  {MARKS[verdict]:<9} {name}")
            lines += _trace(answer, traces, chosen, (name,))
    return lines


def _overall(verdicts: Mapping[str, bool | None]) -> str:
    if False in verdicts.values():
        return "not enough"
    return "inconclusive" if None in verdicts.values() else "suffices"


def heading(answer: Answer) -> list[str]:
    """The target, how many switches are tried, and what the environment may do."""
    asked, system = answer.question, answer.base
    scope = f"  scope {system.scope}" if system.scope else ""
    lines = [f"{printable(asked.target)}{scope}  {len(asked.switches)} switches to choose from"]
    flags = asked.model.params.parameters() if asked.model.params else {}
    others = {name: p for name, p in flags.items() if isinstance(p, Flag) and name not in asked.switches}
    for title, kind in (("environment", "environment"), ("on throughout", "mitigation")):
        names = [
            name if system.parameters[name] else f"not {name}"
            for name, p in others.items()
            if p.kind == kind and (system.parameters[name] or kind == "environment")
        ]
        if names:
            lines += _folded(f"{title}: {', '.join(names)}", "  ")
    return lines


def alone(answer: Answer) -> list[str]:
    """A row for each switch alone, a column for each property."""
    names = list(next(iter(answer.sets.values())))
    rows = [(words(answer.question, chosen), verdicts) for chosen, verdicts in answer.sets.items()]
    width = max(len(name) for name, _ in rows)
    marks = {True: ".", False: "V", None: "?"}
    head = " ".join(f"{number:>2}" for number in range(1, len(names) + 1))
    legend = ", ".join(f"{number} {name}" for number, name in enumerate(names, 1))
    lines = ["", "each switch alone (V violated, . holds, ? inconclusive)", *_folded(legend, "  ")]
    lines.append(f"  {'':<{width}}  {head}")
    for name, verdicts in rows:
        lines.append(f"  {name:<{width}}  " + " ".join(f"{marks[verdicts[one]]:>2}" for one in names))
    return lines


def groups(answer: Answer) -> list[list[GoalAnswer]]:
    """Goals with the same answer together, in the order of the first of each."""
    found: dict[object, list[GoalAnswer]] = {}
    for goal in answer.goals:
        b = goal.boundary
        found.setdefault((b.sufficient, b.insufficient, b.hurts, b.open), []).append(goal)
    return list(found.values())


def _group(answer: Answer, group: list[GoalAnswer], traces: Traces) -> Iterator[str]:
    first, asked = group[0], answer.question
    boundary = first.boundary
    yield from (f"{goal.name}: {goal.claim}" for goal in group)
    if boundary.sufficient == (0,) and not boundary.insufficient and not boundary.open:
        yield "  needs none of the switches"
    elif boundary.sufficient:
        yield f"  suffices, each of these smallest sets ({len(boundary.sufficient)})"
    else:
        yield "  no set of these switches suffices" if not boundary.open else "  no set is known to suffice"
    for chosen in boundary.sufficient:
        if chosen or boundary.insufficient:
            empty = f"   (vacuously: {first.vacuous[chosen]} is never true)" if chosen in first.vacuous else ""
            yield from _folded(" + ".join(asked.names(chosen)) + empty, "    ")
    if boundary.insufficient:
        yield f"  not enough, each of these largest sets ({len(boundary.insufficient)})"
    names = tuple(dict.fromkeys(name for goal in group for name in goal.names))
    for chosen in boundary.insufficient:
        yield from _folded(words(asked, chosen), "    ")
        yield from _trace(answer, traces, chosen, names)
    if boundary.hurts:
        yield "  more is not always better"
    for chosen, bit in boundary.hurts:
        text = f"{words(asked, bit)} does harm: it holds with {words(asked, chosen)}, and not if that is on, too"
        yield from _folded(text, "    ")
        yield from _trace(answer, traces, chosen | bit, names)
    for chosen in boundary.open[:4]:
        yield from _folded(f"undecided: {words(asked, chosen)}", "    ")
    if len(boundary.open) > 4:
        yield f"    and {len(boundary.open) - 4} more sets are undecided"


def words(asked: Question, chosen: int) -> str:
    """A set in words: its switches, or what it lacks if that is shorter."""
    missing = asked.everything & ~chosen
    if chosen == 0:
        return "(none)"
    if missing == 0 and chosen.bit_count() > 1:
        return "everything"
    if missing.bit_count() < chosen.bit_count() and chosen.bit_count() > 3:
        return f"everything but {', '.join(asked.names(missing))}"
    return " + ".join(asked.names(chosen))


def _trace(answer: Answer, traces: Traces, chosen: int, names: tuple[str, ...]) -> list[str]:
    """The first property that is violated with that set, with its run.  Never folded: it is there to be copied."""
    for name in names:
        run = answer.runs.get((chosen, name))
        if run is not None:
            count = f"{len(run.steps)} step{'' if len(run.steps) == 1 else 's'}"
            what = f"{name}, " if len(names) > 1 else ""
            return [f"        {what}{count} -> {printable(traces.get((chosen, name), '(no trace written)'))}"]
    return []


def basis(answer: Answer) -> list[str]:
    """What the answer rests on: how many sets were decided and how, and what is assumed about the others."""
    work, switches = answer.work, answer.question.switches
    ways = ", ".join(f"{count:,} by {way}" for way, count in sorted(work.ways.items()) if way != "same system")
    lines = _folded(
        f"{work.sets:,} of {1 << len(switches):,} sets looked at, {work.systems:,} different systems, "
        f"{work.searches:,} searches, {work.states:,} states, {work.seconds:.1f} s; verdicts: {ways}",
        "  ",
    )
    boundaries = [goal.boundary for goal in answer.goals]
    if all(b.exact for b in boundaries):
        lines += _folded("every set was decided; nothing is assumed", "  ")
    else:
        harmful = sorted({bit for b in boundaries for bit in bits(b.split)})
        known = f", except for {', '.join(words(answer.question, bit) for bit in harmful)}" if harmful else ""
        lines += _folded(
            f"assumed of the other sets: that one more switch does no harm{known}. Every set that differs from a "
            "reported one by one switch was decided, and no two decided sets contradict this. "
            "--exact decides every set",
            "  ",
        )
    if answer.never_fired:
        lines += _folded(f"warning KV301  never happened with any set: {', '.join(answer.never_fired)}", "  ")
    if any(goal.boundary.open for goal in answer.goals):
        cures = "--max-sets, or of each search --max-states or --time-limit"
        lines.append(f"  inconclusive: a budget was met; raise it ({cures})")
    if any(goal.vacuous for goal in answer.goals):
        lines.append("  inconclusive: a property holds vacuously with a set that is reported; do not select it")
    return lines


def _folded(text: str, indent: str) -> list[str]:
    first, *rest = fold(text, WIDTH - len(indent) - 2)
    return [indent + first, *(f"{indent}  {line}" for line in rest)]
