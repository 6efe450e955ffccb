"""Random traces: any names and values, and consistent (deltas fit, paths exist)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from kvproto.trace.trace import ContainerView, FlightView, Ground, PoolView, SliceView, Step, Trace, Vocabulary

NASTY = [
    "\x1b[31m",
    "\u202e",
    "\n",
    "\t",
    "\ud800",
    "\u5bbd",
    "e\u0301",
    "`",
    '"',
    "[",
    "{r}",
    "\u2028",
    "|",
    "\\",
]
words = st.text(max_size=6) | st.lists(st.sampled_from([*NASTY, "a", "req", " "]), max_size=5).map("".join)
names = st.text("abcdefghij_", min_size=1, max_size=24) | words
scalars = st.booleans() | st.integers(-(10**25), 10**25) | words
SHAPES = st.sampled_from([[""], [".kind"], [".kind", ".to", ".of[A]"]])
values = st.none() | scalars | st.lists(scalars, max_size=3)

GROUNDS = ["a not in s.b", "Kind.ACK not in x", "a == b", "((", "not", "\0"]
"""Parts of claims, some of which are no Python."""


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any trace, without a vocabulary."""
    init = draw(st.dictionaries(words, values, min_size=1, max_size=6))
    paths = st.lists(st.sampled_from(sorted(init)), max_size=5).map(tuple)
    state = dict(init)
    steps = []
    for _ in range(draw(st.integers(0, 5))):
        news = draw(st.dictionaries(st.sampled_from(sorted(init)), values, max_size=3))
        delta = {path: (state[path], new) for path, new in news.items()}
        state |= news
        args = draw(st.dictionaries(words, values, max_size=2))
        steps.append(
            Step(draw(names), args, draw(words), draw(words), draw(words), draw(paths), draw(paths), delta)
        )
    return Trace(
        *(draw(words) for _ in range(3)),
        draw(st.dictionaries(words, scalars, max_size=4)),
        *(draw(words) for _ in range(4)),
        init,
        tuple(steps),
        blame=draw(paths),
        loop=draw(st.none() | st.integers(0, len(steps))),
        why=tuple(draw(st.lists(words, max_size=2))),
        grounds=tuple(draw(st.lists(st.builds(Ground, words | st.sampled_from(GROUNDS), paths), max_size=3))),
        replay=draw(
            st.none() | st.dictionaries(words, values | st.floats(allow_nan=False, allow_infinity=False))
        ),
    )


@st.composite
def transfers(draw: st.DrawFn, hostile: bool = True) -> Trace:
    """A trace with pools and flights in which anything happens to pages and writes."""
    label = names if hostile else st.sampled_from("ABCDEFG")
    requests = draw(st.lists(label, min_size=1, max_size=4, unique=True))
    page = st.integers(0, 40).map(str) | (names if hostile else st.integers(0, 9).map(str))
    pages = draw(st.lists(page, min_size=1, max_size=12, unique=True))
    pools = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    sliced, several = draw(st.booleans()), draw(st.booleans())
    domain: dict[str, st.SearchStrategy[Any]] = {}
    request = st.none() | st.sampled_from(requests)
    for pool in pools:
        for p in pages:
            domain[f"{pool}.owner[{p}]"] = domain[f"{pool}.content[{p}]"] = domain[f"{pool}[{p}].other"] = request
    for r in requests:
        domain[f"flag[{r}]"] = st.booleans()
        for field in ("fly", "late"):
            domain[f"{field}[{r}]"] = st.lists(st.sampled_from(pages), max_size=6, unique=True)
        for p in pages:
            domain[f"target[{r}][{p}]"] = domain[f"source[{r}][{p}]"] = st.none() | st.sampled_from(pages)
    init = {path: draw(kind) if draw(st.booleans()) else None for path, kind in domain.items()}
    fields = [f"{field}[{r}]" for r in requests for field in ("fly", "late")]
    init |= {path: [] for path in fields if init[path] is None}
    lanes = draw(st.lists(names, min_size=1, max_size=9, unique=True))
    steps = draw_steps(draw, domain, dict(init), lanes, requests)
    templates = draw(
        st.sampled_from([("", ""), ("target[{r}][{k}]", ""), ("target[{r}][{k}]", "source[{r}][{k}]")])
    )
    also = ("late[{r}]",) if several else ()
    ways = draw(st.sampled_from([("", "", ""), (pools[0], "", ""), (pools[0], "q" if sliced else "", pools[-1])]))
    return Trace(
        *(draw(names) for _ in range(3)),
        {"Req": len(requests), "switch": True, "other": False},
        *(draw(names) for _ in range(4)),
        init,
        tuple(steps),
        blame=draw(st.lists(st.sampled_from(sorted(domain)), max_size=5).map(tuple)),
        vocabulary=Vocabulary(
            tuple(lanes),
            tuple(pool_view(pool, tuple(pages), sliced) for pool in pools),
            (FlightView(tuple(requests), "fly[{r}]", *templates, also, *ways),),
        ),
    )


def pool_view(pool: str, pages: tuple[str, ...], sliced: bool) -> PoolView:
    """A pool with one slice, or with a second one whose path has the page inside."""
    slices = (SliceView("p", f"{pool}.content"), SliceView("q", f"{pool}[{{w}}].other")) if sliced else ()
    return PoolView(pool, pages, f"{pool}.owner", f"{pool}.content", slices)


def draw_steps(
    draw: st.DrawFn,
    domain: dict[str, st.SearchStrategy[Any]],
    state: dict[str, Any],
    lanes: list[str],
    requests: list[str],
) -> list[Step]:
    """Steps that change a few variables each."""
    steps = []
    some = st.lists(st.sampled_from(sorted(domain)), max_size=6, unique=True)
    for _ in range(draw(st.integers(0, 8))):
        delta = {}
        for path in draw(some):
            new = draw(domain[path])
            delta[path] = (state[path], new)
            state[path] = new
        args: dict[str, Any] = {"r": draw(st.sampled_from(requests)), "k": draw(st.integers(0, 99) | names)}
        reads = tuple(draw(some))
        steps.append(
            Step(
                draw(names),
                args,
                draw(st.sampled_from(lanes)),
                "m.py:1",
                draw(words),
                reads,
                tuple(delta),
                delta,
            )
        )
    return steps


@st.composite
def containing(draw: st.DrawFn) -> Trace:
    """A trace with a queue, a bag and a set whose variables take any value."""
    base = draw(transfers())
    name = draw(names)
    slots = [f"q{name}[{at}]{field}" for at in range(draw(st.integers(0, 3))) for field in draw(SHAPES)]
    elements = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    cells = [f"{kind}{name}[{e}]" for kind in "bs" for e in elements]
    domain: dict[str, st.SearchStrategy[Any]] = dict.fromkeys([f"q{name}.length", *slots, *cells], values)
    init = {path: draw(kind) for path, kind in domain.items()}
    steps = draw_steps(draw, domain, dict(init), ["m"], ["A"])
    shapes = {"q": "queue", "b": "bag", "s": "set"}
    views = tuple(ContainerView(f"{kind}{name}", shape) for kind, shape in shapes.items())
    return replace(base, init=init, steps=tuple(steps), blame=(), vocabulary=Vocabulary(("m",), (), (), views))
