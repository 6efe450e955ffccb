"""The why and the what-if as they are shown: repeated sentences are counted, red dots told in one."""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.report.report import Report, Sentence, Span
from kvproto.report.sentences import sentence
from kvproto.trace.printable import printable

REPEATED = 3
"""So many sentences that differ in their beginning only are shown as one."""


def told(report: Report, *, everything: bool = False) -> tuple[Sentence, ...]:
    """The sentences of the why.

    That a run without end is fair takes a sentence for every action: `land (r=A) is not possible any more after
    step 8.`  The first stands for all that say the same, unless `everything` is wanted.
    """
    return report.why if everything else tuple(_summed(report.why))


def what_if(report: Report) -> tuple[Sentence, ...]:
    """What would have stopped it, and the changes without which every step happens and the claim holds."""
    analysis = report.trace.analysis
    dots = [dot for dot in analysis.dots if dot.effect == "harmless"] if analysis is not None else []
    if not dots:
        return report.whatif
    places = ", ".join(f"step {dot.step} {printable(dot.path)}" for dot in dots)
    one = "this change" if len(dots) == 1 else "any one of these changes"
    text = f"Every step could happen without {one}, and the claim would hold (red dots): {places}."
    return (*report.whatif, sentence(text, len(report.rows)))


def _summed(sentences: Sequence[Sentence]) -> list[Sentence]:
    found: list[Sentence] = []
    at = 0
    while at < len(sentences):
        same = _alike(sentences, at)
        found.append(sentences[at])
        if same >= REPEATED:
            found.append((Span(f"The same is true of {same - 1} other actions."),))
            at += same
        else:
            at += 1
    return found


def _alike(sentences: Sequence[Sentence], at: int) -> int:
    """How many sentences from here on say the same of different actions."""
    end = _ending(sentences[at])
    same = 0
    while end and at + same < len(sentences) and _ending(sentences[at + same]) == end:
        same += 1
    return same


def _ending(sentence: Sentence) -> str:
    """What is said of the action with which a sentence begins: `admit (r=A) is ...`; "" for other sentences."""
    text = "".join(span.text for span in sentence)
    name, bracket, rest = text.partition(" (")
    return rest.partition(")")[2] if bracket and name.isidentifier() else ""
