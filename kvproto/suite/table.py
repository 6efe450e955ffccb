"""The suite as text: by mechanism, the models of it with the reports they are of, and what became of each preset."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from kvproto.engine.outcome import Result
from kvproto.lang.reports import Mechanism, Report
from kvproto.suite.run import Judgement
from kvproto.trace.printable import cells, fold, pad

WIDTH = 100

OTHERS = "models without a report"

WORDS = {0: "as expected", 1: "NOT AS EXPECTED", 3: "INCONCL."}


def table(judged: Sequence[Judgement], *, quiet: bool = False) -> list[str]:
    """A paragraph a mechanism; with `quiet` what is as expected is left out."""
    lines: list[str] = []
    for title, some in _groups(judged):
        shown = [j for j in some if j.code or not quiet]
        if shown:
            lines += [title, *_models(shown), ""]
    return [*lines, totals(judged)]


def totals(judged: Sequence[Judgement]) -> str:
    """`43 reports, 38 models, 102 presets: all as expected`."""
    reports = {r.where for j in judged for r in j.entry.reports}
    models = {j.entry.model for j in judged}
    wrong = sum(j.code == 1 for j in judged)
    doubtful = sum(j.code == 3 for j in judged)
    parts = [f"{wrong} not as expected"] * bool(wrong) + [f"{doubtful} inconclusive"] * bool(doubtful)
    verdict = ", ".join(parts) or "all as expected"
    return (
        f"{_count(len(reports), 'report')}, {_count(len(models), 'model')}, {_count(len(judged), 'preset')}: {verdict}"
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _groups(judged: Sequence[Judgement]) -> Iterable[tuple[str, list[Judgement]]]:
    for mechanism in Mechanism:
        yield mechanism.value, [j for j in judged if mechanism in [r.mechanism for r in j.entry.reports[:1]]]
    yield OTHERS, [j for j in judged if not j.entry.reports]


def _models(judged: Sequence[Judgement]) -> Iterable[str]:
    size = max(cells(j.entry.preset) for j in judged)
    for model in sorted({j.entry.model for j in judged}):
        mine = [j for j in judged if j.entry.model == model]
        heading = f"{model}  {_reports(mine[0].entry.reports)}".rstrip()
        yield from (f"  {line}" for line in fold(heading, WIDTH - 2))
        for j in mine:
            yield f"    {pad(j.entry.preset, size)}  {WORDS[j.code]}: {found_words(j.result)}"
            yield from (f"      {line}" for word in j.words() for line in fold(word, WIDTH - 6))
            if j.code:
                # Never folded: it is there to be copied.
                yield f"      see  kvproto check {shlex.quote(j.entry.target)}"


def _reports(reports: Sequence[Report]) -> str:
    return ", ".join(f"{r.where}{'' if r.established else ' (cause not established)'}" for r in reports)


def found_words(result: Result) -> str:
    """`VIOLATED reads_own (9)` or `holds (3 properties)`, and how many states there are."""
    broken = [
        f"{f.claim.name} ({len(f.counterexample.steps)})" if f.counterexample else f.claim.name
        for f in result.findings
        if f.verdict == "violated"
    ]
    held = sum(f.verdict == "holds" for f in result.findings)
    what = f"VIOLATED {', '.join(broken)}" if broken else f"{held} of {len(result.findings)} hold"
    return f"{what}  [{result.states:,} states, {'complete' if result.complete else f'stopped: {result.stopped}'}]"
