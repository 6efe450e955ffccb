"""Telling why a run without end never gets to its goal: which steps would bring it nearer, and what refuses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvproto.explain.facts import Facts
from kvproto.explain.slice import START
from kvproto.explain.words import joined
from kvproto.ir.nodes import System
from kvproto.ir.types import Path, label, show_path
from kvproto.trace.blocked import Blocked, Hurdle
from kvproto.trace.printable import cut, printable, shown

VALUES = 3
"""Variables of one refusal that are named."""


def waiting(facts: Facts, system: System, found: Blocked, room: int) -> list[str]:
    """At most `room` sentences, from the goal back; without room for each step some are told by their names only."""
    teller, hurdles = _Teller(facts, system), list(found.hurdles)
    if not hurdles or room <= 0:
        return []
    told = [teller.hurdles(group, first=group[0] is hurdles[0]) for group in _groups(hurdles, room)]
    if found.circle is not None:
        told[-1] += f" So it waits for {teller.call(found.circle)}, which waits for it."
    if found.final:
        told[-1] += f" Nothing changes {teller.names(found.final)} any more."
    return told


def _groups(hurdles: Sequence[Hurdle], room: int) -> Iterator[Sequence[Hurdle]]:
    """At most `room` groups of neighbours, the larger ones first."""
    left = list(hurdles)
    for groups in range(min(room, len(left)), 0, -1):
        size = -(-len(left) // groups)
        yield left[:size]
        left = left[size:]


class _Teller:
    """Words of one run."""

    def __init__(self, facts: Facts, system: System) -> None:
        self.facts = facts
        self.system = system

    def hurdles(self, group: Sequence[Hurdle], *, first: bool) -> str:
        """What a step would change, and what it needs that is not so; or what the last of several needs."""
        call, changed, last = self.call(group[0]), self.names(group[0].paths), group[-1]
        if len(group) == 1 and first:
            return f"{call} would change {changed}, but {self._refused(last)}."
        if len(group) == 1:
            return f"To change {changed}, {call} would have to come first, but {self._refused(last)}."
        between = joined([self.call(hurdle) for hurdle in group[1:]])
        way = "would change" if first else "would have to change"
        return f"{call} {way} {changed}; before it {between} would have to come, but {self._refused(last)}."

    def _refused(self, hurdle: Hurdle) -> str:
        """`is refused for ever: it needs ..., and owner[0] = B (step 3, bootstrapped(r=B))`."""
        if hurdle.unmet is None:
            return "no fairness asks for it"
        needs = printable(hurdle.unmet.text(self.system))
        if not hurdle.unmet.reads:
            return f"is switched off: it needs {needs}"
        if hurdle.tried.end == "fails":
            return f"fails its assertion, {needs}: {self._values(hurdle)}"
        how = "for ever" if hurdle.always else f"again and again, as after step {hurdle.state}"
        return f"is refused {how}: it needs {needs}, and {self._values(hurdle)}"

    def names(self, paths: Iterable[Path]) -> str:
        """`owner[0]`, `x, y and 3 more`."""
        texts = [self._text(path) for path in paths]
        more = [f"{len(texts) - VALUES} more"] if len(texts) > VALUES else []
        return joined([*texts[:VALUES], *more])

    def _text(self, path: Path) -> str:
        return show_path(path, self.system.state)

    def call(self, hurdle: Hurdle) -> str:
        """`write(r=A)`."""
        params = hurdle.tried.action.params
        shown_ = [f"{p.name}={shown(label(a, p.type))}" for p, a in zip(params, hurdle.tried.args, strict=True)]
        return f"{hurdle.tried.action.name}({', '.join(shown_)})"

    def _values(self, hurdle: Hurdle) -> str:
        """`owner[0] = B (step 3, bootstrapped(r=B))`: what refuses the step, and who set it."""
        assert hurdle.unmet is not None
        state, by = self.facts.states[hurdle.state], dict[int, list[str]]()
        for path in map(self._text, hurdle.unmet.reads):
            if path in state:
                by.setdefault(self._setter(path, hurdle.state), []).append(f"{path} = {cut(shown(state[path]), 40)}")
        parts, left = list[str](), VALUES
        for number in sorted(by, reverse=True):
            if left > 0:
                origin = self.facts.at(number)[:-1] if number != START else "as at the start"
                parts.append(f"{joined(by[number][:left])} ({origin})")
                left -= len(by[number])
        return joined(parts)

    def _setter(self, path: str, state: int) -> int:
        """The last step up to a state that changed the variable."""
        for number in range(state, 0, -1):
            if path in self.facts.step(number).delta:
                return number
        return START
