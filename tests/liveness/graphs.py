"""Small systems from explicit graphs, and random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Action,
    Assign,
    Binary,
    Claim,
    Cond,
    Const,
    Expr,
    Fairness,
    Init,
    Local,
    Logic,
    Param,
    Place,
    Read,
    Require,
    Stmt,
    System,
)
from kvproto.ir.types import BoolT, IntT, RecordT, SortT

HERE = Loc("graph.py", 1)
WHO = SortT("Who", 2, ("A", "B"))
KINDS = ("eventually", "leads_to", "always_eventually", "eventually_always")


@dataclass
class Drawing:
    """A graph: `arcs[action]` has (from, to) for a plain action, (who, from, to) for one with a parameter.

    An action leads at most one way from a state (for each `who`).  `claims` are (kind, trigger, goal), a set of states
    or two of them, one for each `who`; `fairness` are (kind, actions, per).
    """

    states: int
    initial: Sequence[int]
    arcs: Mapping[str, Sequence[tuple[int, ...]]]
    fairness: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]] = ()
    claims: Sequence[tuple[str, Sequence[set[int]], Sequence[set[int]]]] = ()
    constraint: set[int] | None = None


def system_of(drawing: Drawing) -> System:
    """The drawing as a system with one variable."""
    kind = IntT(0, drawing.states - 1)
    place = Place(kind, ("x",), HERE)
    at = Read(kind, place, HERE)
    choice = Local(kind, "k", HERE)
    starts = _any([_same(choice, state) for state in drawing.initial])
    init = Init("start", (Param("k", kind),), (Require(starts, HERE), Assign(place, choice, HERE)), HERE)
    actions = tuple(_action(name, arcs, at, place) for name, arcs in drawing.arcs.items())
    return System(
        model="graph",
        preset="",
        scope="",
        parameters={},
        state=RecordT("State", (("x", kind),)),
        machines=(),
        inits=(init,),
        actions=actions,
        claims=tuple(_claim(number, *claim, at) for number, claim in enumerate(drawing.claims)),
        fairness=tuple(Fairness(kind, names, per, HERE) for kind, names, per in drawing.fairness),  # type: ignore[arg-type]
        constraint=None if drawing.constraint is None else _where(at, drawing.constraint),
    )


def _claim(number: int, kind: str, trigger: Sequence[set[int]], goal: Sequence[set[int]], at: Expr) -> Claim:
    params = (Param("r", WHO),) if len(goal) > 1 else ()
    return Claim(
        f"claim{number}",
        kind,  # type: ignore[arg-type]
        "",
        "",
        _each(at, goal),
        HERE,
        _each(at, trigger) if kind == "leads_to" else None,
        params,
    )


def _each(at: Expr, sets: Sequence[set[int]]) -> Expr:
    """The set, or the one of them that belongs to `r`."""
    if len(sets) == 1:
        return _where(at, sets[0])
    who = Local(WHO, "r", HERE)
    return _any([_all([_same(who, number), _where(at, states)]) for number, states in enumerate(sets)])


def _action(name: str, arcs: Sequence[tuple[int, ...]], at: Expr, place: Place) -> Action:
    plain = all(len(arc) == 2 for arc in arcs)
    who = Local(WHO, "r", HERE)
    tests = [_same(at, arc[-2]) if plain else _all([_same(who, arc[0]), _same(at, arc[-2])]) for arc in arcs]
    goal: Expr = Const(IntT(0, 0), 0, HERE)
    for test, arc in zip(tests, arcs, strict=True):
        to = Const(IntT(arc[-1], arc[-1]), arc[-1], HERE)
        goal = _cond(test, to, goal)
    body: tuple[Stmt, ...] = (Require(_any(tests), HERE), Assign(place, goal, HERE))
    return Action(name, "m", () if plain else (Param("r", WHO),), body, "", (), HERE)


def _cond(test: Expr, then: Expr, orelse: Expr) -> Expr:
    return Cond(IntT(0, 63), test, then, orelse, HERE)


def _same(left: Expr, value: int) -> Expr:
    kind = left.type if isinstance(left.type, SortT) else IntT(value, value)
    return Binary(BoolT(), "==", left, Const(kind, value, HERE), HERE)


def _where(at: Expr, states: set[int]) -> Expr:
    return _any([_same(at, state) for state in sorted(states)])


def _any(parts: list[Expr]) -> Expr:
    return Logic(BoolT(), "or", tuple(parts), HERE) if parts else Const(BoolT(), False, HERE)


def _all(parts: list[Expr]) -> Expr:
    return Logic(BoolT(), "and", tuple(parts), HERE)


@st.composite
def drawings(draw: st.DrawFn, most: int = 7) -> Drawing:
    """Random graphs with self-loops, parallel arcs, fairness of all sorts, constraints, and claims of every kind."""
    count = draw(st.integers(1, most))
    states = st.integers(0, count - 1)
    some = st.sets(states, max_size=count)
    arcs: dict[str, list[tuple[int, ...]]] = {}
    for number in range(draw(st.integers(1, 4))):
        plain = draw(st.booleans())
        keys = draw(
            st.lists(states if plain else st.tuples(st.integers(0, 1), states), unique=True, max_size=2 * count)
        )
        arcs[f"a{number}"] = [((key,) if plain else key) + (draw(states),) for key in keys]  # type: ignore[operator]
    arcs = {name: arc for name, arc in arcs.items() if arc} or {"a0": [(0, 0)]}
    return Drawing(
        states=count,
        initial=sorted(draw(st.sets(states, min_size=1, max_size=2))),
        arcs=arcs,
        fairness=draw(st.lists(_fairness(arcs), max_size=3)),
        claims=draw(st.lists(_claims(some), min_size=1, max_size=4)),
        constraint=draw(st.none() | st.none() | st.sets(states, min_size=(count + 1) // 2)),
    )


def _fairness(
    arcs: Mapping[str, Sequence[tuple[int, ...]]],
) -> st.SearchStrategy[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    kinds = st.sampled_from(["weak", "strong"])
    with_parameter = [name for name, arc in arcs.items() if len(arc[0]) == 3]
    together = st.tuples(kinds, _some(list(arcs)), st.just(()))
    if not with_parameter:
        return together
    return together | st.tuples(kinds, _some(with_parameter), st.just(("r",)))


def _some(names: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(names), unique=True, min_size=1).map(tuple)


def _claims(some: st.SearchStrategy[set[int]]) -> st.SearchStrategy[tuple[str, list[set[int]], list[set[int]]]]:
    return st.integers(1, 2).flatmap(
        lambda size: st.tuples(
            st.sampled_from(KINDS),
            st.lists(some, min_size=size, max_size=size),
            st.lists(some, min_size=size, max_size=size),
        )
    )
