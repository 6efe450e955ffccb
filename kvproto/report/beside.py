"""A replay beside the model: what every page holds in the implementation, and whether that is what the model says."""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.explain import Page
from kvproto.replay.result import PageTexts, ReplayResult
from kvproto.report.report import Pool, Replayed, Seen
from kvproto.trace.printable import printable, shown

IMPLEMENTATION = "reference implementation"


def beside(result: ReplayResult, found: Sequence[Pool]) -> Replayed:
    """The pages of a replay in every state that it reached.

    `Seen.agrees` is false for the page at which the divergence lies; all else was compared and found equal.
    """
    divergence = result.divergence
    odd = divergence.path if divergence is not None else ""
    states = tuple(
        tuple(
            _seen(page, text, divergence is None or number != divergence.step, odd)
            for page, text in _texts(texts, found)
        )
        for number, texts in enumerate(result.pages)
    )
    answers = [
        f"{printable(name)}: {view.outcome}" + (f", HTTP {view.status}, {shown(view.text)!s}" if view.status else "")
        for name, view in result.answers.items()
    ]
    return Replayed(
        IMPLEMENTATION,
        result.performed,
        None if divergence is None else divergence.step,
        "" if divergence is None else str(divergence),
        states,
        tuple(answers),
    )


def _texts(texts: PageTexts, found: Sequence[Pool]) -> list[tuple[Page, str]]:
    """Every page with the text in it: prefill's pool is the model's first one, decode's the others, rank by rank."""
    sides = [("prefill", texts.prefill), ("decode", texts.decode)]
    pages = []
    for name, held in sides:
        mine = [pool for pool in found if pool.name.partition("[")[0] == name]
        labels = [Page(pool.name, label) for pool in mine for label in pool.pages]
        pages += list(zip(labels, held, strict=False))
    return pages


def _seen(page: Page, text: str, agreed: bool, odd: str) -> Seen:
    here = odd.partition("_")[0] == page.pool[:1] and odd.endswith(f"[{page.label}]")
    return Seen(page, printable(text), agreed or not here)
