"""What the template fills in for one trace, in the order in which a reader meets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby

from markupsafe import Markup

from kvproto.page.basis import bases
from kvproto.page.looks import Looks
from kvproto.report import Excerpt, Link, Replayed, Report, Row, Sentence, Span
from kvproto.report.as_json import as_json
from kvproto.trace.analysis import Dot
from kvproto.trace.printable import printable, shown


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of the model with their numbers, those of a guard apart: `element` is `mark` for them."""

    element: str
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """An action as the model has it, and what it cites; there may be no lines."""

    id: str
    place: str
    parts: tuple[Part, ...]
    cites: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """A page in the model and on the implementation."""

    name: str
    model: str
    text: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """A replay: `words` say how it went, `parted` is the step at which the two differ (None: nowhere).

    `pages` are those of the last state that both reached, `when`.
    """

    implementation: str
    words: Sentence
    parted: int | None
    when: str
    answers: tuple[str, ...]
    pages: tuple[Beside, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """A trace as the template needs it; `lists` are facts that are long and seldom wanted, `data` is for the script."""

    number: int
    id: str
    label: str
    length: str
    shape: str
    title: str
    verdict: str
    mood: str
    """`bad`, `good` or `open`: how the verdict looks."""
    property: str
    claim: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...]
    commands: tuple[tuple[str, str], ...]
    why: tuple[Sentence, ...]
    whatif: tuple[Sentence, ...]
    init: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    partly: bool
    ending: str
    excerpts: Mapping[str, Written]
    replayed: Compared | None
    data: Mapping[str, object]
    looks: str

    def fields(self) -> dict[str, object]:
        """By name, for the template."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_IN_TABLE = ("full", "text", "loc", "changes", "notes")
"""What the script reads from the table of steps."""

_LISTS = ("on", "off")
_MANY = 8
"""Facts that are lists are opened only when asked for, if they are as long as this."""


def content(report: Report, number: int, label: str) -> Content:
    """What the template says of a trace; it is number `number` on the page, from 1."""
    trace, name, looks = report.trace, f"t{number}", Looks(report)
    return Content(
        number=number,
        id=name,
        label=label,
        length=_steps(report),
        shape=report.shape,
        title=report.title,
        verdict=trace.verdict.upper(),
        mood=_MOODS.get(trace.verdict, "open"),
        property=trace.property,
        claim=trace.claim,
        lead=_lead(report),
        facts=tuple((key, text) for key, text in report.facts if key != "claim" and not _is_list(key, text)),
        lists=tuple((key, tuple(text.split(", "))) for key, text in report.facts if _is_list(key, text)),
        commands=report.commands,
        why=report.why,
        whatif=report.whatif,
        init=tuple((path, shown(value)) for path, value in trace.init.items()),
        rows=report.rows,
        partly=any(row.guilty for row in report.rows) and not all(row.guilty for row in report.rows),
        ending=report.ending,
        excerpts=_written(report, name),
        replayed=_compared(report, report.replayed) if report.replayed is not None else None,
        data=_data(report, looks),
        looks=looks.template(),
    )


def _is_list(key: str, text: str) -> bool:
    return key in _LISTS and text.count(", ") >= _MANY


def _steps(report: Report) -> str:
    return "1 step" if len(report.rows) == 1 else f"{len(report.rows)} steps"


_MOODS = {"violated": "bad", "holds": "good"}
"""Of verdicts; the others leave something open."""


def _lead(report: Report) -> str:
    """What this is, for a reader who has never seen such a page."""
    trace = report.trace
    model = trace.model + (f"@{trace.preset}" if trace.preset else "")
    if trace.strength == "induction":
        return f"A step of the model {model} that a proof would have to exclude. It need not happen."
    if trace.verdict != "violated":
        return f"A run of the model {model} in {_steps(report)}."
    fewest = ", and no shorter run does" if trace.shortest else ""
    return f"This run of the model {model} breaks it in {_steps(report)}{fewest}."


def _data(report: Report, looks: Looks) -> dict[str, object]:
    """For the script; what stands on the page already is read from there."""
    data = {name: value for name, value in as_json(report).items() if name not in ("init", "excerpts", "cites")}
    steps = data["steps"]
    assert isinstance(steps, list)
    data["steps"] = [{name: value for name, value in step.items() if name not in _IN_TABLE} for step in steps]
    reads = [[read.step, f"{read.page.pool}/{read.page.label}", read.reader, read.content] for read in report.reads]
    dots = [[dot.step, dot.path, _then(dot)] for dot in report.trace.analysis.dots] if report.trace.analysis else []
    drawn = [[[looks.number(cell) for cell in history] for history in pool.cells] for pool in report.pools]
    return {**data, "reads": reads, "dots": dots, "looks": drawn, "bases": bases(report.trace)}


def _then(dot: Dot) -> str:
    """What had followed if the step had left the variable as it was."""
    return "the claim would hold" if dot.effect == "harmless" else f"step {dot.at} could not happen"


def _written(report: Report, name: str) -> dict[str, Written]:
    """By action, in the order in which they first occur."""
    found: dict[str, Written] = {}
    for row in report.rows:
        excerpt, cites = report.excerpts.get(row.action), report.cites.get(row.action, ())
        if row.action not in found and (excerpt is not None or cites):
            place = f"{excerpt.file}:{excerpt.at}" if excerpt is not None else row.loc
            found[row.action] = Written(f"{name}.a{len(found) + 1}", place, _parts(excerpt), cites)
    return found


def _parts(excerpt: Excerpt | None) -> tuple[Part, ...]:
    """The lines in runs of guards and others."""
    if excerpt is None:
        return ()
    digits = len(str(excerpt.first + len(excerpt.lines) - 1))
    numbered = enumerate(excerpt.lines, excerpt.first)
    # What stands above the action's own line, its decorator, is on the page in words: the lane and what is cited.
    body = ((number, text) for number, text in numbered if number >= excerpt.at)
    runs = groupby(body, key=lambda line: line[0] in excerpt.guards)
    return tuple(
        # The line break is outside printable text: each line is made printable by itself.
        Part(
            "mark" if guard else "span",
            Markup("\n").join(f"{number:{digits}}  {printable(text)}" for number, text in run),
        )
        for guard, run in runs
    )


def _compared(report: Report, replayed: Replayed) -> Compared:
    state = len(replayed.pages) - 1
    return Compared(
        implementation=replayed.implementation,
        words=_how_it_went(replayed, len(report.rows)),
        parted=replayed.diverged,
        when=f"after step {state}" if state else "at the start",
        answers=replayed.answers,
        pages=tuple(
            Beside(
                f"{seen.page.pool}/{seen.page.label}",
                _in_model(report, seen.page.pool, seen.page.label, state),
                seen.text,
                seen.agrees,
            )
            for seen in replayed.pages[state]
        ),
    )


def _how_it_went(replayed: Replayed, steps: int) -> Sentence:
    if replayed.diverged is None:
        every = "every state was the model's" if replayed.performed else "its state was the model's"
        return (Span(f"It performed {replayed.performed} of {steps} steps, and {every}."),)
    where = (Span(f"step {replayed.diverged}", replayed.diverged),) if replayed.diverged else (Span("the start"),)
    return (Span("Model and implementation part at "), *where, Span(f": {replayed.difference}."))


def _in_model(report: Report, pool: str, page: str, state: int) -> str:
    """What the model says of a page, without its name."""
    found: Sequence[str] = [p.at(page, state).words for p in report.pools if p.name == pool]
    return found[0].partition(": ")[2] if found else ""
