"""From a trace to its report."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kvproto.explain import Edge, Page, Slice
from kvproto.explain.facts import Facts
from kvproto.explain.slice import START, written
from kvproto.explain.why import why
from kvproto.explain.words import call
from kvproto.report.changes import changes
from kvproto.report.containers import Containers
from kvproto.report.mail import messages
from kvproto.report.notes import notes
from kvproto.report.pages import pools
from kvproto.report.report import Excerpt, Link, Message, Pool, Replayed, Report, Row
from kvproto.report.sentences import sentence
from kvproto.report.whatif import told
from kvproto.trace.codec import file_name
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import Step, Trace

if TYPE_CHECKING:
    # A replay needs tensors; most reports have none.
    from kvproto.replay.result import ReplayResult


def report(
    trace: Trace,
    *,
    file: str | None = None,
    verbs: Iterable[str] = ("replay", "explain"),
    sources: bool = False,
    replayed: ReplayResult | None = None,
) -> Report:
    """Everything that can be drawn of a trace.

    `file` is what commands call the trace, by default the name under which it is written; `verbs` are those that can do
    something with it; with `sources` the text of a shipped model is read as well.
    """
    facts = Facts(trace)
    domain = facts.domain
    sent = messages(trace)
    found = pools(trace, facts.states, domain.flights)
    excerpts, cited = _sources(trace) if sources else ({}, {})
    causes = trace.why or why(trace)
    return Report(
        trace=trace,
        title=f"{printable(trace.property)}: {printable(trace.verdict)} in {_steps(len(trace.steps))}",
        facts=header(trace),
        commands=commands(trace, file or file_name(trace), verbs),
        why=tuple(sentence(printable(text), facts.end) for text in causes),
        whatif=tuple(sentence(text, facts.end) for text in told(trace) if text not in causes),
        lanes=tuple(dict.fromkeys([*trace.vocabulary.lanes, *(step.lane for step in trace.steps)])),
        requests=_requests(trace, found),
        rows=_rows(facts, sent, found),
        states=tuple(facts.states),
        messages=sent,
        flights=domain.flights,
        reads=domain.reads,
        causes=_causes(facts.slice, facts),
        pools=found,
        ending=_ending(trace),
        shape=_shape(trace, facts.slice),
        excerpts=excerpts,
        cites=cited,
        replayed=_beside(trace, replayed, found) if replayed is not None else None,
    )


def _sources(trace: Trace) -> tuple[dict[str, Excerpt], dict[str, tuple[Link, ...]]]:
    from kvproto.report.sources import cites, excerpts, model_of

    model = model_of(trace)
    return ({}, {}) if model is None else (excerpts(trace, model), cites(trace, model))


def _beside(trace: Trace, result: ReplayResult, found: Sequence[Pool]) -> Replayed:
    from kvproto.report.beside import beside

    return beside(result, found, _places(trace))


def header(trace: Trace) -> tuple[tuple[str, str], ...]:
    """The lines of the header: name and text."""
    target = printable(trace.model) + (f"@{printable(trace.preset)}" if trace.preset else "")
    scope = f"scope {printable(trace.scope)}, " if trace.scope else ""
    sizes = [f"{printable(k)}={printable(str(v))}" for k, v in trace.parameters.items() if not isinstance(v, bool)]
    lines = [
        ("claim", printable(trace.claim)),
        ("found", ", ".join(printable(ground.text) for ground in trace.grounds)),
        ("model", f"{target}, {scope}{_steps(len(trace.steps))}"),
        ("sizes", ", ".join(sizes)),
        ("on", ", ".join(printable(k) for k, v in trace.parameters.items() if v is True)),
        ("off", ", ".join(printable(k) for k, v in trace.parameters.items() if v is False)),
        ("search", _search(trace)),
        ("least", printable(" ".join(trace.analysis.minimised if trace.analysis is not None else ()))),
        ("digest", printable(trace.digest)),
    ]
    return tuple((name, text) for name, text in lines if text)


def _search(trace: Trace) -> str:
    """Strength of the search that found the run, and whether there is a shorter one."""
    shortest = {True: "no shorter run does this", False: "not necessarily the shortest run", None: ""}[trace.shortest]
    return ", ".join(filter(None, [printable(trace.strength), shortest]))


def commands(trace: Trace, file: str, verbs: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What to run next, and what for.  Words that no shell takes in harmless form are shown, not offered."""
    name = printable(shlex.quote(file))
    offers = {
        "replay": (f"kvproto replay {name}", "run it on the reference implementation"),
        "explain": (f"kvproto explain {printable(shlex.quote(trace.property))}", "what this property protects"),
    }
    return tuple(offers[verb] for verb in offers if verb in verbs)


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number} steps"


def _requests(trace: Trace, found: Sequence[Pool]) -> tuple[str, ...]:
    """Labels of requests in the model's order, then whoever else owns or writes a page."""
    declared = [label for view in trace.vocabulary.flights for label in view.requests]
    cells = [cell for pool in found for history in pool.cells for cell in history]
    others = [name for cell in cells for name in (cell.owner, *cell.contents, *cell.coming) if name is not None]
    return tuple(dict.fromkeys([*declared, *others]))


def _rows(facts: Facts, sent: Sequence[Message], found: Sequence[Pool]) -> tuple[Row, ...]:
    trace = facts.trace
    busy = {m.sent for m in sent} | {m.taken for m in sent}
    busy |= {n for f in facts.domain.flights for n in (f.posted, f.ended, *f.left)}
    requests, pages, containers = _requests(trace, found), _places(trace), Containers(trace)
    said = notes(facts)
    moved: dict[int | None, list[Page]] = {}
    for flight in facts.domain.flights:
        for at in dict.fromkeys((flight.posted, flight.ended)):
            moved.setdefault(at, []).extend(page for page in (flight.target, flight.source) if page)
    rows = []
    for number, step in enumerate(trace.steps, 1):
        guilty = number in facts.slice.steps
        touched = [pages[path] for path in (*step.reads, *written(step)) if path in pages]
        rows.append(
            Row(
                number=number,
                lane=step.lane,
                action=step.action,
                call=short_call(step),
                full=full_call(step),
                text=printable(" ".join(step.text.split())),
                loc=step.loc,
                guilty=guilty,
                local=not guilty and number not in busy,
                requests=tuple(r for r in requests if any(_names(value, r) for value in step.args.values())),
                pages=tuple(dict.fromkeys([*touched, *moved.get(number, ())])),
                changes=tuple(changes(step.delta, facts.states[number - 1], containers)),
                notes=tuple(said.get(number, ())),
            )
        )
    return tuple(rows)


def _names(value: object, request: str) -> bool:
    return value is not None and not isinstance(value, (bool, list)) and str(value) == request


def _places(trace: Trace) -> dict[str, Page]:
    """The page that an owner or content variable belongs to."""
    return {
        path: Page(pool.name, page)
        for pool in trace.vocabulary.pools
        for page in pool.pages
        for path in (pool.owned(page), *pool.contents(page).values())
    }


def short_call(step: Step) -> str:
    """`land(A,0)`: an action with its arguments' values only; booleans by name, `long` or `not long`."""
    parts = []
    for name, value in step.args.items():
        if isinstance(value, bool):
            parts.append(printable(name) if value else f"not {printable(name)}")
        else:
            parts.append(shown(value))
    return f"{printable(step.action)}({','.join(parts)})"


def full_call(step: Step) -> str:
    """`land(r=A, k=0)`."""
    return printable(call(step))


def _causes(cut: Slice, facts: Facts) -> tuple[Edge, ...]:
    """Reads-from edges of the slice between machines: the others follow from the order of a lane."""
    lane = [step.lane for step in facts.trace.steps]
    return tuple(
        edge
        for edge in cut.edges
        if edge.source != START and edge.step != cut.verdict and lane[edge.source - 1] != lane[edge.step - 1]
    )


def _ending(trace: Trace) -> str:
    if trace.loop is None:
        return ""
    again = trace.loop < len(trace.steps)
    return f"then step {trace.loop + 1} again, for ever" if again else "then nothing happens any more"


def _shape(trace: Trace, cut: Slice) -> str:
    """Property, and the actions of the slice with repetitions left out: traces alike have it in common."""
    names: list[str] = []
    for number, step in enumerate(trace.steps, 1):
        if number in cut.steps and f"{step.lane}.{step.action}" not in names[-1:]:
            names.append(f"{step.lane}.{step.action}")
    return f"{trace.property}: {' '.join(names)}"
