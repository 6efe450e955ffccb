"""Sentences with the steps that they name, so that a viewer can link them."""

from __future__ import annotations

import re

from kvproto.report.report import Sentence, Span

_STEPS = re.compile(r"\bsteps? \d+(?:-\d+)?(?:, \d+(?:-\d+)?)*", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


def sentence(text: str, steps: int) -> Sentence:
    """The sentence in spans; `step 7` names step 7, in `steps 7-9, 12` every number names its own.

    >>> [span.step for span in sentence("At step 7 it was; see steps 2, 3.", 9)]
    [None, 7, None, 2, None, 3, None]
    """
    spans: list[Span] = []
    end = 0
    for match in _STEPS.finditer(text):
        numbers = list(_NUMBER.finditer(match[0]))
        # The word belongs to its number where there is one only.
        starts = [0] if len(numbers) == 1 else [number.start() for number in numbers]
        for start, number in zip(starts, numbers, strict=True):
            if len(number[0]) > 9 or not 1 <= int(number[0]) <= steps:
                continue
            at, stop = match.start() + start, match.start() + number.end()
            spans += [Span(text[end:at]), Span(text[at:stop], int(number[0]))]
            end = stop
    return tuple(span for span in [*spans, Span(text[end:])] if span.text)
