"""A trace with its slice, its domain edges and its states: what the stories are told from."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kvproto.explain.edges import domain_edges
from kvproto.explain.events import Domain, Flight, Kind, Page, PageRead, name_of
from kvproto.explain.slice import START, Edge, Slice, backward_slice
from kvproto.explain.words import call, joined, ranges
from kvproto.trace.trace import State, Step, Trace


@dataclass(frozen=True)
class Facts:
    """Everything derived from one trace, derived once.

    `conditions` says for steps that decided the verdict what had been looked at before they did what it rests on;
    nobody knows from the trace alone.
    """

    trace: Trace
    conditions: Mapping[int, Collection[str]] = field(default_factory=dict)

    @cached_property
    def slice(self) -> Slice:
        """The backward slice of the verdict."""
        return backward_slice(self.trace)

    @cached_property
    def domain(self) -> Domain:
        """Page events, flights, page reads."""
        return domain_edges(self.trace)

    @cached_property
    def states(self) -> list[State]:
        """State 0 is the initial one, state n the one after step n."""
        return list(self.trace.states())

    @property
    def end(self) -> int:
        """Number of the last step."""
        return len(self.trace.steps)

    def step(self, number: int) -> Step:
        """The step with that number, from 1."""
        return self.trace.steps[number - 1]

    def at(self, number: int) -> str:
        """`step 7, abort_on_decode(r=A),`: to stand inside a sentence."""
        return f"step {number}, {call(self.step(number))},"

    def pages(self, pages: Iterable[Page], *, pool: bool = False) -> str:
        """`page 3`, `pages 0, 2-3`, the pool's name before it if asked for and if there are several pools."""
        wanted = list(dict.fromkeys(pages))
        views = self.trace.vocabulary.pools
        order = [label for view in views if view.name == wanted[0].pool for label in view.pages]
        word = "page" if len(wanted) == 1 else "pages"
        prefix = f"{wanted[0].pool} " if pool and len(views) > 1 else ""
        return f"{prefix}{word} {ranges((page.label for page in wanted), order)}"

    def parts(self, reads: Iterable[PageRead]) -> str:
        """The pages of some reads, with their slices in brackets where pages have several."""
        slices: dict[str, list[Page]] = {}
        for read in reads:
            slices.setdefault(read.slice, []).append(read.page)
        named = [self.pages(pages) + (f" ({part})" if part else "") for part, pages in slices.items()]
        return joined(named)

    def owner(self, page: Page, state: int) -> str | None:
        """Who owns the page in that state."""
        view = self.trace.vocabulary.pool(page.pool)
        return None if view is None else name_of(self.states[state].get(view.owned(page.label)))

    def content(self, page: Page, state: int, part: str = "") -> str | None:
        """Whose content the page (that slice of it) holds in that state."""
        view = self.trace.vocabulary.pool(page.pool)
        return None if view is None else name_of(self.states[state].get(view.contents(page.label).get(part, "")))

    def sought(self, path: str) -> list[str]:
        """What the claim looks for in a set, in the model's words, and does not find there."""
        grounds = [ground.text for ground in self.trace.grounds if path in ground.reads]
        return [words for text in grounds if (words := _absent(text))]

    @cached_property
    def pool_paths(self) -> frozenset[str]:
        """Owner and content variables of all pages."""
        views = self.trace.vocabulary.pools
        return frozenset(path for v in views for p in v.pages for path in (v.owned(p), *v.contents(p).values()))

    def given(self, page: Page, request: str, before: int) -> int | None:
        """The step that gave the page to the request, the last one before a step."""
        event = self.domain.last(Kind.GIVEN, page, before, request)
        return event.step if event else None

    def freed(self, page: Page, request: str, after: int, before: int) -> int | None:
        """The first step in between (both excluded) at which the request gave the page back."""
        for event in self.domain.events:
            here = event.kind is Kind.FREED and event.page == page and after < event.step < before
            if here and event.request == request:
                return event.step
        return None

    def lost(self, page: Page, request: str, before: int) -> int | None:
        """The last step before a step at which the request gave the page back, if it has not got it again since."""
        event = self.domain.last(Kind.FREED, page, before, request)
        given = self.given(page, request, before)
        return None if event is None or (given is not None and given > event.step) else event.step

    def posted_for(self, request: str, after: int, before: int) -> list[Flight]:
        """Writes that the request posted in between (both excluded)."""
        return [f for f in self.domain.flights if f.request == request and after < f.posted < before]

    def cause(self, number: int, avoid: Sequence[int] = ()) -> Edge | None:
        """Of what a step read apart from pages, the message that it took, else the value that was set last.

        Not by a step in `avoid`; and a set that was empty when the step put something into it is no cause of it.
        """
        delta = self.step(number).delta
        edges = [
            edge
            for edge in self.slice.reads_of(number)
            if edge.path not in self.pool_paths and edge.source != START and edge.source not in avoid
            if delta.get(edge.path, (None, None))[0] != []
        ]
        messages = [edge for edge in edges if self._took(edge)]
        return max(messages or edges, key=lambda edge: edge.source, default=None)

    def condition(self, usual: Edge) -> Edge:
        """What a step looked at before it did what the verdict rests on, if what is behind its usual cause set that."""
        looked = self.conditions.get(usual.step, ())
        edges = [e for e in self.slice.reads_of(usual.step) if e.path in looked and e.source == usual.source]
        return edges[0] if edges and usual.path not in looked else usual

    def _took(self, edge: Edge) -> bool:
        """The step lowered a flag, or took a name out of a set, which another machine had raised or put there."""
        old, new = self.step(edge.step).delta.get(edge.path, (None, None))
        if self.step(edge.source).lane == self.step(edge.step).lane:
            return False
        if isinstance(old, list) and isinstance(new, list):
            return len(new) < len(old) and all(isinstance(item, str) for item in old)
        return old is True and new is False

    def cause_elsewhere(self, number: int, avoid: Sequence[int] = ()) -> int | None:
        """The step of another machine that a step goes back to: cause of cause, past those of its own machine."""
        lane, current = self.step(number).lane, number
        while (edge := self.cause(current, [*avoid, current])) is not None:
            current = edge.source
            if self.step(current).lane != lane:
                return current
        return None


def _absent(text: str) -> str:
    """`Down.ACK` of `Down.ACK not in s.down[r]`; "" for anything else."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a file may say anything
        return ""
    outside = isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.NotIn)
    return ast.unparse(tree.left) if isinstance(tree, ast.Compare) and outside else ""
