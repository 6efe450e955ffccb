"""Walking through a page with the keyboard, against what the trace says of every state.

What is expected comes from `Trace.states()`, not from the report that the page was made of.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvproto.explain import domain_edges
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import State, Trace, Value

if TYPE_CHECKING:
    from browser_chromium import Visit

DIFFERENCES = """async ([place, text, patience]) => {
    const expected = JSON.parse(text), article = document.getElementById(place);
    const look = () => {
        const found = [];
        const cells = [...article.querySelectorAll(".maps .cell[data-page]")].map(
            cell => cell.getAttribute("aria-label"));
        expected.cells.forEach((words, at) => {
            if (cells[at] !== words) found.push(`cell ${at}: "${cells[at]}" and not "${words}"`);
        });
        if (cells.length !== expected.cells.length) found.push(`${cells.length} cells`);
        const shown = new Map([...article.querySelectorAll("dl.state > div[data-path]")].map(
            entry => [entry.getAttribute("data-path"), entry.querySelector("dd").textContent]));
        for (const [path, value] of Object.entries(expected.state))
            if (shown.get(path) !== value) found.push(`${path}: "${shown.get(path)}" and not "${value}"`);
        if (shown.size !== Object.keys(expected.state).length) found.push(`${shown.size} variables`);
        const words = article.querySelector(".cursor-words").textContent;
        if (!words.startsWith(expected.words)) found.push(`"${words}" and not "${expected.words}"`);
        if (!expected.places.includes(location.hash)) found.push(`the place is ${location.hash}`);
        return found;
    };
    let found = look();
    for (let more = patience; more && found.length; more--) {
        await new Promise(requestAnimationFrame);
        found = look();
    }
    return found;
}"""
"""What a page shows otherwise than expected; compared there, since half a surrogate pair does not travel."""

SMALL: Any = {"width": 1000, "height": 400}
"""A window for walks: drawing a larger one takes most of the time."""

PATIENCE = 60
"""For how many frames, about a second, a page may still be drawing before it is wrong."""


class Expected:
    """What a page has to show of a trace in each state, as JSON in ASCII."""

    def __init__(self, trace: Trace, number: int = 1) -> None:
        self.trace = trace
        self.end = len(trace.steps)
        self.place = f"t{number}"
        self.states = list(trace.states())
        self.flights = domain_edges(trace).flights

    def at(self, number: int) -> str:
        """Cells, variables, words of the cursor and places that show state `number`."""
        state = self.states[number]
        places = [f"#{self.place}.s{number}", *([f"#{self.place}"] if number == self.end else [])]
        return json.dumps(
            {
                "cells": self.cells(number),
                "state": {printable(path): shown(value) for path, value in state.items()},
                "words": f"step {number} of {self.end}: " if number else "start",
                "places": places,
            }
        )

    def cells(self, number: int) -> list[str]:
        """Every page in words, pool by pool."""
        pools = self.trace.vocabulary.pools
        return [self._cell(pool.name, page, number) for pool in pools for page in pool.pages]

    def _cell(self, pool: str, page: str, number: int) -> str:
        view = self.trace.vocabulary.pool(pool)
        assert view is not None
        state = self.states[number]
        owner = state.get(view.owned(page))
        who = "free" if owner is None else f"owner {printable(str(owner))}"
        text = f"{printable(pool)} page {printable(page)}: {who}, {_written(state, view.contents(page))}"
        coming = [
            flight.request
            for flight in self.flights
            if flight.target is not None and (flight.target.pool, flight.target.label) == (pool, page)
            if flight.posted <= number and (flight.ended is None or number < flight.ended)
        ]
        writes = [_counted(coming.count(request), request) for request in dict.fromkeys(coming)]
        return f"{text}; {_joined(writes)} under way" if writes else text


def _written(state: State, contents: dict[str, str]) -> str:
    values = {part: state.get(path) for part, path in contents.items()}
    if len({str(value) if value is not None else None for value in values.values()}) == 1:
        return _by(next(iter(values.values())))
    return _joined([f"{printable(part)} {_by(value)}" for part, value in values.items()])


def _by(writer: Value) -> str:
    return "never written" if writer is None else f"last written by {printable(str(writer))}"


def _counted(number: int, request: str) -> str:
    return f"{number} write{'s' if number > 1 else ''} of {printable(request)}"


def _joined(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def differences(visit: Visit, expected: Expected, number: int) -> list[str]:
    """How the page differs from state `number`; it may take a moment until it does not."""
    found: list[str] = visit.ask(DIFFERENCES, [expected.place, expected.at(number), PATIENCE])
    return [f"state {number}: {text}" for text in found]


def show_all(visit: Visit, expected: Expected) -> None:
    """Have all variables shown, if they are not."""
    button = visit.page.locator(f"#{expected.place} button.full-toggle")
    if button.get_attribute("aria-pressed") != "true":
        visit.press("d")


def walk(visit: Visit, expected: Expected) -> list[str]:
    """From the start to the end and back, with arrows and letters in turn; what is wrong in the first wrong state."""
    show_all(visit, expected)
    visit.press("Home")
    wrong = differences(visit, expected, 0)
    for number in range(1, expected.end + 1):
        if wrong:
            return wrong
        visit.press("ArrowDown" if number % 2 else "j")
        wrong = differences(visit, expected, number)
    for number in reversed(range(expected.end)):
        if wrong:
            return wrong
        visit.press("ArrowUp" if number % 2 else "k")
        wrong = differences(visit, expected, number)
    visit.press("End")
    return wrong or differences(visit, expected, expected.end)
