"""Small models around everything that a checker once got wrong, tried from many states."""

from __future__ import annotations

from pathlib import Path

import pytest
from searching import agree, imported, reference, search, system_of, tiers
from single_steps import any_states, same_level, same_outcomes
from stepping import same_steps, sampled

HEAD = """\
from enum import Enum

from kvproto.lang import Array, Bool, Int, Machine, Model, Opt, Params, Record, Set, Sort
from kvproto.lang import action, flag, init, invariant, number, require

A = Sort("A", size=2)
B = Sort("B", size=3)
m = Machine("m", "")


class Config(Params):
    number = number(3, "")


cfg = Config()


class E(Enum):
    P = 0
    Q = 1
    R = 2


class Rec(Record):
    n: Int(0, 3)
    o: Opt(A)
    q: Set(A)


class State(Record):
    b: Bool
    n: Int(-1, 2)
    k: Int(0, 5)
    e: E
    o: Opt(A)
    i: Opt(Int(-1, 1))
    q: Set(A)
    z: Set(Int(-1, 1))
    a: Array(A, Int(0, 1))
    w: Array(B, Opt(B))
    r: Array(A, Rec)


def next_number(s, x):
    y = x + 1
    return 2 * (y - x)


def near(s, x: A):
    q = s.r[x]
    return q.n if q.o is None else s.a[q.o]


"""

TAIL = """

@action(m)
def tick(s, x: A, y: B):
    s.k = (s.k + 1) % 3
    s.w[y] = y
    if s.n < 2:
        s.n += 1


model = Model("small", "", state=State, parts=[__name__], params=Config)
"""

ACTIONS = {
    "a bad place and a value that does not fit: the place comes first": "s.a[s.n] = s.k",
    "a bad place and a bad value: the value comes first": "s.a[s.n] = 1 // s.k",
    "a bad place on both sides": "s.a[s.n] += 1 // s.k",
    "a constant that does not fit an optional number": "s.i = cfg.number + 1",
    "a constant index outside its sort": "require(s.b and s.a[cfg.number + 1] == 0)",
    "a constant index outside its sort behind a condition": "s.b = s.b and s.a[cfg.number + 1] == 0",
    "a constant index outside its sort before a constant": "require(s.a[cfg.number + 1] == 0 and cfg.number == 2)",
    "an idle loop over a set that may be nowhere": ("for x in s.r[s.n].q:\n    pass"),
    "a branch that does nothing after a bad test": ("if s.a[s.n] == 1:\n    pass"),
    "a set literal that does not fit behind a condition": "s.b = s.b and {s.n} == s.z  # Python is laxer",
    "a comprehension that does not fit behind a condition": ("x: Int(-1, 1) = s.k\ns.z = {x for y in A if s.b}"),
    "an optional number that does not fit behind a condition": "s.i = s.n if s.b else None",
    "a helper with a local, called for different elements": (
        "for x in A:\n    require(s.r[x].n != next_number(s, int(x)))"
    ),
    "a guard about a helper": "require(all(s.k == next_number(s, int(x)) for x in A))",
    "a helper with an alias": "s.k = sum(near(s, x) for x in A)",
    "locals that change places": (
        "x = s.n\n"
        "y = s.k\n"
        "if s.b:\n"
        "    z = x\n"
        "    x = y\n"
        "    y = z\n"
        "if s.e == E.P:\n"
        "    x = y\n"
        "    y = x + 1\n"
        "s.n = x\n"
        "s.k = y"
    ),
    "a local stored and changed in a branch": (
        "x = s.n\nif s.b:\n    s.n = x\n    x = s.k\n    s.k = x\ns.k = s.n + x"
    ),
    "a counter in nested branches": (
        "c = 0\n"
        "for x in A:\n"
        "    if s.a[x] == 0:\n"
        "        c += 1\n"
        "        if s.b:\n"
        "            c += 1\n"
        "    elif s.o == x:\n"
        "        c = -c\n"
        "s.n = c"
    ),
    "a store at a place known only when it runs": (
        "s.a[0] = 1\nif s.o is not None:\n    s.a[s.o] = 0\ns.k = s.a[0] + s.a[1]"
    ),
    "a store in one branch only": ("s.k = s.a[0]\nif s.b:\n    s.a[0] = 1 - s.a[0]\ns.k = s.k + s.a[0]"),
    "a record copied over another": ("s.r[0] = s.r[s.n]\ns.r[1].q = s.r[0].q"),
    "next of what may fault": "s.o = next((x for x in A if s.a[s.n] == int(x)), None)",
    "next that stops before what would fault": "s.o = next((x for x in A if x == 0 or 1 // s.n == 0), None)",
    "any that stops before what would fault": "require(any(s.a[x] == 1 or 1 // s.k == 1 for x in A))",
    "all that stops before what would fault": "require(all(s.a[x] == 1 and 1 // s.k == 1 for x in A))",
    "extremes with defaults": (
        "s.n = min((s.n for x in A if s.a[x] == 1), default=2) - max((-1 for x in s.q), default=0)"
    ),
    "an extreme of nothing": "s.n = max(s.a[x] for x in s.q)",
    "an extreme whose bodies fault": "s.n = max(1 // s.a[x] for x in A if x in s.q)",
    "an optional number compared with one that it cannot be": "require(s.i != s.k and s.i not in (None, 1))",
    "an optional number compared with what may fault": "require(s.i == 1 // s.n)",
    "one of several numbers, each of which is computed": "require(s.i not in (None, s.i + 0, 1 // s.n))",
    "no element is in no set": "require(s.o in s.q)",
    "no element is in no set, which may be nowhere": "require(s.o not in s.r[s.n].q)",
    "a number outside the elements is in no set": "require(s.k in s.z or s.n + 1 in s.z)",
    "an element taken out of a set that cannot hold it": "s.z.discard(s.k)",
    "a loop over a set that changes": ("for x in s.z:\n    s.z.discard(x + 1 if x < 1 else -1)\n    s.z.add(0)"),
    "a condition about everything but the variable": (
        "require(all(s.a[x] == 0 for x in A for y in B if s.b and s.w[y] is None))"
    ),
    "a bad condition about everything but the variable": "s.k = sum(1 for x in A if 1 // s.n == 1 and s.a[x] == 0)",
    "an extreme behind a condition": "s.n = min((s.a[x] for x in A if s.b), default=2)",
    "a declared number used as an index": ("x: Int(-1, 1) = s.k\ns.z = {x}"),
    "a match on an optional": (
        "match s.i:\n"
        "    case None:\n"
        "        s.n = 2\n"
        "    case -1 | 1 if s.b:\n"
        "        s.n = -1\n"
        "    case _:\n"
        "        s.k = 5"
    ),
    "an assertion after a store": ("s.k = 1 + s.a[0]\nassert s.k == 1 or s.b\ns.a[s.n] = 0"),
    "not one of several members": ("require(s.e not in (E.P, E.R))\ns.e = E.P"),
    "an empty set": ("require(not s.q and len(s.z) != 0)\ns.q = {x for x in A if len(s.r[x].q) == 0}"),
}


@pytest.mark.parametrize("body", ACTIONS.values(), ids=ACTIONS)
def test_action(tmp_path: Path, body: str) -> None:
    """One action with this body; everything that runs models agrees on it."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    with imported(f"{HEAD}@action(m)\ndef act(s):\n{lines}\n{TAIL}", tmp_path) as module:
        system = system_of(module)
        found = reference(system)
        for tier in tiers():
            searched = search(system, tier)
            assert searched is not None
            agree(system, found, searched)
            states = any_states(system, 120, 1)
            same_outcomes(system, searched.lowered, states)
            same_level(searched.lowered, states)
        if "laxer" not in body:
            same_steps(module, system, [*sampled(found.order), *states])


CLAIMS = {
    "a claim that faults": "return all(1 // s.n >= -1 for x in s.q)",
    "claims of several branches": "x = s.n\n    if s.b:\n        return s.a[x] == 0\n    return 1 // x == s.k",
    "nested quantifiers": (
        "return all(any(s.a[x] == s.a[y] for y in A if y != x) or s.r[x].n < 3 for x in A if s.b or s.n > 0)"
    ),
}


@pytest.mark.parametrize("body", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("kind", ["invariant", "terminal"])
def test_condition(tmp_path: Path, body: str, kind: str) -> None:
    """An invariant, and a terminal predicate, with this body."""
    mark = '@invariant("")\n' if kind == "invariant" else ""
    tail = TAIL if kind == "invariant" else TAIL.replace("params=", "terminal=good, params=")
    action = "\n\n@action(m)\ndef act(s, x: A):\n    require(s.k < 2)\n    s.a[x] = 1 - s.a[x]\n    s.b = not s.b\n"
    with imported(f"{HEAD}{mark}def good(s):\n    {body}\n{action}{tail}", tmp_path) as module:
        system = system_of(module)
        found = reference(system)
        for tier in tiers():
            searched = search(system, tier)
            assert searched is not None
            agree(system, found, searched)
            states = any_states(system, 120, 2)
            same_outcomes(system, searched.lowered, states)
            same_level(searched.lowered, states)


def test_terminal_fault_is_placed(tmp_path: Path) -> None:
    """An error in the terminal predicate belongs to the state that it is asked of, not to the last one found."""
    text = HEAD + (
        "@action(m)\ndef act(s, x: A):\n    require(s.k == 0)\n    s.a[x] = 1\n    s.k = 1\n\n\n"
        "def good(s):\n    return 1 // s.a[0] == 1\n\n\n"
        'model = Model("small", "", state=State, parts=[__name__], terminal=good, params=Config)\n'
    )
    with imported(text, tmp_path) as module:
        found = reference(system_of(module))
    assert found.error is not None
    state, step, _, _, code = found.error
    assert (found.order.index(state), step, code) == (2, None, "KV204")
