"""Where a reader is in a trace: one cursor and what is shown; no terminal in it, so that it can be tried out alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from kvproto.explain.slice import written
from kvproto.report.report import Report
from kvproto.trace.printable import printable
from kvproto.trace.trace import State
from kvproto.view.choice import Choice, matches, parse, plan
from kvproto.view.pagemap import wrong_pages

PANELS = ("why", "step", "source", "what if")
"""The panels of which one is shown at a time, by key: 1, 2, 3, 4."""


@dataclass
class Session:
    """The cursor stands on `step` (0 is the start).

    `full` shows the whole state and not only what changed; `cone` dims what the verdict does not rest on and marks
    what the step under the cursor went by; `word` is what was searched for last.
    """

    report: Report
    choice: Choice = field(default_factory=Choice)
    step: int = -1
    panel: str = PANELS[0]
    word: str = ""
    full: bool = False
    cone: bool = False

    def __post_init__(self) -> None:
        if self.step < 0:
            self.step = self.end
        self._settle()

    @property
    def end(self) -> int:
        """The number of the last step, at which the claim is violated."""
        return len(self.report.rows)

    @property
    def state(self) -> State:
        """The state after the step under the cursor."""
        return self.report.states[self.step]

    def visible(self) -> list[int]:
        """The steps that the cursor can stand on, the start included."""
        return [0, *(part for part in plan(self.report, self.choice) if isinstance(part, int))]

    def move(self, by: int) -> None:
        """Some steps on or back, as far as there are any."""
        steps = self.visible()
        self.step = steps[min(max(steps.index(self.step) + by, 0), len(steps) - 1)]

    def first(self) -> None:
        """To the start."""
        self.step = 0

    def last(self) -> None:
        """To the last step."""
        self.step = self.visible()[-1]

    def go(self, step: int) -> None:
        """To a step, which is shown again if it was filtered away."""
        self.step = min(max(step, 0), self.end)
        if self.step not in self.visible():
            self.choice = Choice()

    def in_slice(self, by: int) -> bool:
        """To the next (by 1) or previous (by -1) step that the verdict rests on; False if there is none."""
        return self._seek([step for step in self.visible() if step and self.report.row(step).guilty], by, around=False)

    def find(self, word: str, by: int = 1) -> bool:
        """To the next or previous step in which the word occurs, around the end if need be; False if there is none."""
        self.word = word
        return self._seek([step for step in self.visible() if self.hit(step)], by, around=True)

    def hit(self, step: int) -> bool:
        """Whether the step is one that the search finds."""
        return step > 0 and matches(self.report.row(step), self.word)

    def _seek(self, steps: list[int], by: int, *, around: bool) -> bool:
        beyond = [step for step in steps if (step > self.step if by > 0 else step < self.step)]
        found = beyond or (steps if around else [])
        if found:
            self.step = found[0] if by > 0 else found[-1]
        return bool(found)

    def filter(self, text: str) -> bool:
        """Show only what fits the words; False, and no change, if nothing does."""
        choice = replace(parse(text), folded=self.choice.folded)
        if choice.filters and not any(choice.fits(row) for row in self.report.rows):
            return False
        self.choice = choice
        self._settle()
        return True

    def fold(self) -> None:
        """Fold runs of local steps, or unfold them."""
        self.choice = replace(self.choice, folded=not self.choice.folded)
        self._settle()

    def clear(self) -> None:
        """Neither filter nor search nor folds."""
        self.choice, self.word = Choice(), ""

    def _settle(self) -> None:
        """Off a step that is not shown any more, to the next one that is."""
        steps = self.visible()
        if self.step not in steps:
            self.step = next((step for step in steps if step > self.step), steps[-1])

    def sources(self) -> frozenset[int]:
        """The steps that had set what the step under the cursor read."""
        return self._sources[self.step]

    @cached_property
    def wrong(self) -> dict[str, dict[int, set[str]]]:
        """By pool and step, the pages that were read though their content was not the reader's own."""
        return {pool.name: wrong_pages(self.report, pool.name) for pool in self.report.pools}

    @cached_property
    def _sources(self) -> list[frozenset[int]]:
        writer: dict[str, int] = {}
        found: list[frozenset[int]] = [frozenset()]
        for number, step in enumerate(self.report.trace.steps, 1):
            found.append(frozenset(writer[path] for path in step.reads if path in writer))
            writer |= dict.fromkeys(written(step), number)
        return found

    def words(self) -> str:
        """`step 17 of 17: decode attend(r=A)`."""
        if not self.step:
            return f"start, before step 1 of {self.end}" if self.end else "the initial state decides"
        row = self.report.row(self.step)
        return f"step {self.step} of {self.end}: {printable(row.lane)} {printable(row.full)}"
