"""Graphs drawn by hand, with what is true of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphs import Drawing

WEAK, STRONG = "weak", "strong"
NEVER: list[set[int]] = [set()]


@dataclass
class Case:
    """A drawing with one claim; `run` is its lasso: names of steps and where it goes on, None if the claim holds."""

    name: str
    drawing: Drawing
    run: tuple[list[str], int] | None
    args: tuple[object, ...] = field(default=())


def _case(
    name: str,
    arcs: dict[str, list[tuple[int, ...]]],
    fair: list[tuple[str, tuple[str, ...], tuple[str, ...]]],
    claim: tuple[str, list[set[int]], list[set[int]]],
    run: tuple[list[str], int] | None,
    *,
    initial: tuple[int, ...] = (0,),
    constraint: set[int] | None = None,
    args: tuple[object, ...] = (),
) -> Case:
    states = 1 + max(max(arc[-2:]) for these in arcs.values() for arc in these)
    states = max(states, 1 + max(initial), 1 + max((s for goal in claim[2] for s in goal), default=0))
    return Case(name, Drawing(states, initial, arcs, fair, [claim], constraint), run, args)


def _eventually(*goal: int) -> tuple[str, list[set[int]], list[set[int]]]:
    return "eventually", NEVER, [set(goal)]


def _fair(kind: str, *actions: str, per: tuple[str, ...] = ()) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return kind, actions, per


ONE_STEP = {"go": [(0, 1)]}
ROUND = {"turn": [(0, 1), (1, 0)]}
TEMPTED = {**ROUND, "leave": [(0, 2)]}
"""The way out is open every other step."""

CASES = [
    _case("without fairness a run may stop at once", ONE_STEP, [], _eventually(1), ([], 0)),
    _case("a weakly fair step happens", ONE_STEP, [_fair(WEAK, "go")], _eventually(1), None),
    _case(
        "a run may stop where only other steps are fair",
        ONE_STEP | {"x": [(1, 0)]},
        [_fair(WEAK, "x")],
        _eventually(1),
        ([], 0),
    ),
    _case("a deadlock is a stop", {"go": [(0, 1)]}, [_fair(WEAK, "go")], _eventually(2), (["go"], 1)),
    _case("initial states are runs too", ONE_STEP, [_fair(WEAK, "go")], _eventually(1), ([], 0), initial=(0, 2)),
    _case("the goal is met at once", ONE_STEP, [], _eventually(0), None),
    _case(
        "weak fairness gives up where a step is disabled now and then",
        TEMPTED,
        [_fair(WEAK, "turn"), _fair(WEAK, "leave")],
        _eventually(2),
        (["turn", "turn"], 0),
    ),
    _case("strong fairness does not", TEMPTED, [_fair(WEAK, "turn"), _fair(STRONG, "leave")], _eventually(2), None),
    _case(
        "a step enabled throughout a cycle, but leading out of it",
        ROUND | {"leave": [(0, 2), (1, 2)]},
        [_fair(WEAK, "turn"), _fair(WEAK, "leave")],
        _eventually(2),
        None,
    ),
    _case(
        "a run keeps out of where a strongly fair step is enabled",
        {"turn": [(0, 1), (1, 0)], "deeper": [(1, 2)], "back": [(2, 1)], "leave": [(2, 3)]},
        [_fair(WEAK, "turn"), _fair(STRONG, "leave")],
        _eventually(3),
        (["turn", "turn"], 0),
    ),
    _case(
        "and again, one level down",
        {
            "turn": [(0, 1), (1, 0)],
            "deeper": [(1, 2), (2, 3)],
            "back": [(2, 1), (3, 2)],
            "leave": [(3, 4)],
            "quit": [(2, 4)],
        },
        [_fair(WEAK, "turn"), _fair(STRONG, "leave"), _fair(STRONG, "quit")],
        _eventually(4),
        (["turn", "turn"], 0),
    ),
    _case(
        "nothing is left when it keeps out",
        {"turn": [(0, 1), (1, 2), (2, 0)], "leave": [(0, 3)], "quit": [(1, 3)]},
        [_fair(WEAK, "turn"), _fair(STRONG, "leave"), _fair(STRONG, "quit")],
        _eventually(3),
        None,
    ),
    _case(
        "a step to the same state is not enabled",
        {"stay": [(0, 0)], "go": [(0, 1)]},
        [_fair(WEAK, "stay")],
        _eventually(1),
        ([], 0),
    ),
    _case(
        "nor does it count as a step of its group",
        {"stay": [(0, 0)], "go": [(0, 1)]},
        [_fair(WEAK, "stay", "go")],
        _eventually(1),
        None,
    ),
    _case(
        "a step of a group that changes nothing is not the step it owes",
        {"turn": [(0, 1), (1, 0)], "stay": [(0, 0), (1, 1)], "leave": [(0, 2), (1, 2)]},
        [_fair(WEAK, "stay", "leave")],
        _eventually(2),
        None,
    ),
    _case(
        "one group of all choices",
        {"turn": [(0, 0, 1), (0, 1, 0), (1, 0, 2), (1, 1, 2)]},
        [_fair(WEAK, "turn")],
        _eventually(2),
        (["turn", "turn"], 0),
    ),
    _case(
        "a group for each choice",
        {"turn": [(0, 0, 1), (0, 1, 0), (1, 0, 2), (1, 1, 2)]},
        [_fair(WEAK, "turn", per=("r",))],
        _eventually(2),
        None,
    ),
    _case(
        "a cycle that takes a step of every group",
        {"a": [(0, 1)], "b": [(1, 2), (4, 2)], "c": [(2, 0)], "d": [(2, 4), (0, 4)], "e": [(4, 0)]},
        [_fair(STRONG, "c"), _fair(STRONG, "a"), _fair(WEAK, "b", "e"), _fair(STRONG, "d")],
        _eventually(5),
        (["a", "b", "c", "d", "e"], 0),
    ),
    _case(
        "a step out of the constraint is enabled",
        ONE_STEP,
        [_fair(WEAK, "go")],
        _eventually(2),
        None,
        constraint={0, 2},
    ),
    _case("and a run does not take it", ONE_STEP, [], _eventually(2), ([], 0), constraint={0, 2}),
    _case("again and again", ROUND, [_fair(WEAK, "turn")], ("always_eventually", NEVER, [{1}]), None),
    _case(
        "not again and again",
        TEMPTED,
        [_fair(WEAK, "turn", "leave")],
        ("always_eventually", NEVER, [{1}]),
        (["leave"], 1),
    ),
    _case("a stop is no again and again", ROUND, [], ("always_eventually", NEVER, [{1}]), ([], 0)),
    _case(
        "not from some state on",
        ROUND,
        [_fair(WEAK, "turn")],
        ("eventually_always", NEVER, [{1}]),
        (["turn", "turn"], 0),
    ),
    _case(
        "from some state on", {"go": [(0, 1), (1, 2)]}, [_fair(WEAK, "go")], ("eventually_always", NEVER, [{2}]), None
    ),
    _case(
        "round and round where it is so",
        {"turn": [(0, 1), (1, 2), (2, 1)]},
        [_fair(WEAK, "turn")],
        ("eventually_always", NEVER, [{1, 2}]),
        None,
    ),
    _case("a stop before that", {"go": [(0, 1), (1, 2)]}, [], ("eventually_always", NEVER, [{1, 2}]), ([], 0)),
    _case(
        "a cycle that comes by the state where it is not so",
        {"turn": [(0, 1), (1, 2), (2, 3), (3, 1)]},
        [_fair(WEAK, "turn")],
        ("eventually_always", NEVER, [{0, 1, 2}]),
        (["turn", "turn", "turn", "turn"], 1),
    ),
    _case("the trigger leads to the goal", ONE_STEP, [_fair(WEAK, "go")], ("leads_to", [{0}], [{1}]), None),
    _case(
        "the trigger comes after the goal",
        {"go": [(0, 1), (1, 2)]},
        [_fair(WEAK, "go")],
        ("leads_to", [{2}], [{1}]),
        (["go", "go"], 2),
    ),
    _case("a state that is both is its own answer", ONE_STEP, [], ("leads_to", [{0}], [{0}]), None),
    _case("no trigger, no duty", ONE_STEP, [], ("leads_to", [set()], [set()]), None),
    _case(
        "the duty remains when the trigger is over",
        {"go": [(0, 1), (1, 2)]},
        [_fair(WEAK, "go")],
        ("leads_to", [{1}], [{0}]),
        (["go", "go"], 2),
    ),
    _case(
        "a run from the trigger must not pass the goal",
        {"go": [(0, 1), (1, 2), (2, 3)]},
        [_fair(WEAK, "go")],
        ("leads_to", [{0}], [{2}]),
        None,
    ),
    _case(
        "the second choice of the parameter is the broken one",
        {"go": [(0, 1)]},
        [_fair(WEAK, "go")],
        ("leads_to", [{0}, {0}], [{1}, {2}]),
        (["go"], 1),
        args=(1,),
    ),
]
