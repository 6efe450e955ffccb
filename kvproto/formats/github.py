"""Results for GitHub Actions: annotations on the lines of the claims, and a summary of the step.

GitHub shows ten annotations of a step and drops the rest without a word, so there is one for a property, however many
targets violate it; everything is in the summary.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvproto.diagnostics import Loc
from kvproto.formats.judged import Case, Judged, Refusal, cases, target_words, unproven
from kvproto.formats.markup import block, code, plain
from kvproto.formats.mermaid import mermaid
from kvproto.report.build import report
from kvproto.trace.printable import printable
from kvproto.view.verdicts import WORDS, overall

MOST_ANNOTATIONS = 10
"""So many of a step are shown."""

SUMMARY_BYTES = 1 << 20
"""A summary that is larger is refused, the whole of it."""

KEPT_FREE = 1024
"""Bytes of the summary that are left for saying that something was left out."""

LONGEST = 2000
"""Characters of a sentence."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A property of a model that does not hold in some targets: violations before doubts, the shortest run first."""

    name: str
    claim: str
    loc: Loc | None
    where: tuple[tuple[Judged, Case], ...]

    @property
    def violated(self) -> bool:
        """Whether a run shows it; otherwise it could not be decided."""
        return self.where[0][1].verdict == "violated"


def problems(results: Sequence[Judged]) -> list[Problem]:
    """What does not hold, violations first, otherwise in the order in which it was found."""
    groups: dict[tuple[str, str], list[tuple[Judged, Case]]] = {}
    for judged in results:
        for case in unproven(judged):
            groups.setdefault((judged.row.result.system.model, case.name), []).append((judged, case))
    found = []
    for group in groups.values():
        # Sorting is stable: of runs of the same length the first target's is told.
        group.sort(key=lambda entry: (entry[1].verdict != "violated", _length(entry[1])))
        case = group[0][1]
        found.append(Problem(case.name, case.claim, case.loc, tuple(group)))
    return sorted(found, key=lambda problem: not problem.violated)


def _length(case: Case) -> int:
    return len(case.trace.steps) if case.trace else 0


def notices(results: Sequence[Judged]) -> list[str]:
    """The workflow commands that annotate lines, ten at most."""
    found = problems(results)
    # The last one says what is left out, where something is.
    room = MOST_ANNOTATIONS if len(found) <= MOST_ANNOTATIONS else MOST_ANNOTATIONS - 1
    lines = [_annotation(problem) for problem in found[:room]]
    if found[room:]:
        names = ", ".join(problem.name for problem in found[room:])
        lines.append(command("warning", {"title": "kvproto"}, f"{len(found) - room} more do not hold: {names}"))
    return lines


def _annotation(problem: Problem) -> str:
    judged, case = problem.where[0]
    word = "violated" if problem.violated else "inconclusive"
    text = "\n".join([f"{problem.claim}: {word} in {', '.join(_where(problem))}", *case.why, *case.missing])
    # A file that is not in the repository has no line to show it on.
    place = {} if problem.loc is None else _place(problem.loc, judged.files.get(problem.loc.file))
    return command("error" if problem.violated else "warning", {**place, "title": f"{problem.name} {word}"}, text)


def refusal_notice(refusal: Refusal) -> str:
    """The workflow command that annotates the line of an error."""
    loc = refusal.diagnostic.loc
    place = {} if loc is None else _place(loc, refusal.path)
    return command("error", {**place, "title": f"{refusal.diagnostic.code} {refusal.head}"}, refusal.text)


def _place(loc: Loc, path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    columns = {"col": str(loc.col + 1), "endColumn": str(loc.end_col + 1)} if loc.end_col > loc.col else {}
    return {"file": printable(path), "line": str(loc.line), **columns}


def _where(problem: Problem) -> list[str]:
    """The targets, with the lengths of their runs."""
    told = []
    for judged, case in problem.where:
        doubtful = "inconclusive" if problem.violated and case.verdict == "inconclusive" else ""
        told.append(", ".join(filter(None, (target_words(judged), case.steps, doubtful))))
    return told


def command(name: str, properties: dict[str, str], message: str) -> str:
    """A workflow command on one line, whatever is in it."""
    fields = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {fields}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# --- the summary --------------------------------------------------------------------------------------


def summary(results: Sequence[Judged], *, room: int = SUMMARY_BYTES) -> str:
    """The summary in Markdown, at most `room` bytes of it: the table of verdicts, then why, the shortest run first."""
    if room < KEPT_FREE:
        return ""
    text = "\n".join(_table(results))
    left = room - KEPT_FREE - len(text.encode())
    if left < 0:
        return cut(text, room - KEPT_FREE) + "\n\nThe table is too long for a summary; the log has all of it.\n"
    dropped = 0
    for problem in problems(results):
        section = "\n" + "\n".join(_section(problem))
        size = len(section.encode())
        if dropped or size > left:
            dropped += 1
        else:
            text, left = text + section, left - size
    if dropped:
        text += f"\n{dropped} more do not hold, and had no room here; the log has all of them.\n"
    return text


def cut(text: str, size: int) -> str:
    """Whole lines of the text, at most so many bytes."""
    kept = text.encode()[:size].decode(errors="ignore")
    return kept.rpartition("\n")[0]


def _table(results: Sequence[Judged]) -> Iterator[str]:
    yield "## kvproto check\n"
    yield "| target | verdict | not proved | states | search |"
    yield "|---|---|---|---:|---|"
    for judged in results:
        result = judged.row.result
        names = ", ".join(code(case.name) + (f" ({case.steps})" if case.steps else "") for case in unproven(judged))
        end = "complete" if result.complete else f"stopped: {plain(result.stopped)}"
        holding = sum(case.verdict == "holds" for case in cases(judged))
        yield (
            f"| {code(target_words(judged))} | {WORDS[overall(result)]} "
            f"| {names or f'nothing: {holding} hold'} | {result.states:,} | {end} |"
        )
    yield ""


def _section(problem: Problem) -> Iterator[str]:
    judged, case = problem.where[0]
    word = "violated" if problem.violated else "inconclusive"
    yield f"### {code(problem.name)} {word}\n"
    yield f"{plain(problem.claim, LONGEST)}\n"
    yield "In " + ", ".join(map(code, _where(problem))) + ".\n"
    for number, sentence in enumerate(case.why, 1):
        yield f"{number}. {plain(sentence, LONGEST)}"
    yield ""
    for sentence in case.missing:
        yield f"- {plain(sentence, LONGEST)}"
    yield ""
    if case.trace is not None:
        yield block(mermaid(report(case.trace)), "mermaid") + "\n"
    commands = [judged.again(case)] if judged.command else []
    if case.file is not None:
        commands.append(f"kvproto show {printable(shlex.quote(case.file))}")
    if commands:
        yield "Again, and the whole run:\n"
        yield block("\n".join(commands), "sh") + "\n"
