"""A replay beside the model: what every page holds in the implementation, and whether that is what the model says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvproto.explain import Page
from kvproto.replay.result import ClientView, PageTexts, ReplayResult
from kvproto.report.report import Pool, Replayed, Seen
from kvproto.trace.printable import cut, printable

IMPLEMENTATION = "reference implementation"

LONGEST = 80
"""Characters of an answer that are shown."""


def beside(result: ReplayResult, found: Sequence[Pool], places: Mapping[str, Page]) -> Replayed:
    """The pages of a replay in every state that it reached; `places` are the pages that variables belong to.

    `Seen.agrees` is false for the page at which the divergence lies; all else was compared and found equal.
    """
    divergence = result.divergence
    odd = places.get(divergence.path) if divergence is not None else None
    states = []
    for at, texts in enumerate(result.pages):
        parted = divergence is not None and at == divergence.step
        states.append(tuple(Seen(p, printable(text), not (parted and p == odd)) for p, text in _texts(texts, found)))
    return Replayed(
        IMPLEMENTATION,
        result.performed,
        None if divergence is None else divergence.step,
        "" if divergence is None else str(divergence),
        tuple(states),
        tuple(_answer(name, view) for name, view in result.answers.items()),
    )


def _answer(name: str, view: ClientView) -> str:
    """`A: answered, HTTP 200, text`."""
    text = f"{printable(name)}: {view.outcome}"
    return f"{text}, HTTP {view.status}, {cut(printable(view.text), LONGEST)}" if view.status is not None else text


def _texts(texts: PageTexts, found: Sequence[Pool]) -> list[tuple[Page, str]]:
    """Every page with the text in it: prefill's pool is the model's first one, decode's the others, rank by rank."""
    pages: list[tuple[Page, str]] = []
    for side, held in (("prefill", texts.prefill), ("decode", texts.decode)):
        labels = [Page(pool.name, p) for pool in found if pool.name.partition("[")[0] == side for p in pool.pages]
        # Pages beyond the pool that the run was given are in the model's sort and not in the implementation.
        pages += zip(labels, held, strict=False)
    return pages
