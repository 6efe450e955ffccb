"""What makes a sort asymmetric, line by line, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from kvproto.shipped.models import kv_transfer, outline
from reduced import start_symmetrically
from searching import imported, system_of

from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.passes import run
from kvproto.passes.symmetry import Asymmetry, strict, symmetries

HEAD = """\
from enum import Enum

from kvproto.lang import Array, Bool, Int, Machine, Model, Opt, Params, Record, Set, Sort
from kvproto.lang import action, eventually, init, invariant, number, require, sometimes

A = Sort("A", size=3, labels="XYZ")
B = Sort("B", size=2)


class Config(Params):
    chosen: int = number(1, "an element", least=0)


cfg = Config()


class State(Record):
    n: Array(A, Int(0, 2))
    up: Array(A, Bool)
    at: Array(B, Opt(A))
    held: Set(A)
    sets: Array(A, Set(A))
    linked: Array(A, Array(A, Bool))
    total: Int(0, 5)
    flag: Bool
    leader: Opt(A)
    pair: Array(A, Opt(A))


m = Machine("m", "")
"""

TAIL = """

model = Model("small", "", state=State, parts=[__name__], params=Config)
"""


def read(text: str, folder: Path) -> System:
    """The folded system of a model text."""
    with imported(text, folder) as module:
        return run(system_of(module))


def acting(body: str) -> str:
    """A model with one action of this body."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"{HEAD}\n\n@action(m)\ndef act(s, a: A):\n{lines}\n{TAIL}"


def claiming(condition: str) -> str:
    """A model with one invariant."""
    return (
        f'{HEAD}\n\n@action(m)\ndef act(s, a: A):\n    s.held.add(a)\n\n\n@invariant("it")\ndef good(s):\n'
        f"    return {condition}\n{TAIL}"
    )


def reasons(system: System, sort: str = "A") -> list[str]:
    """Why the sort is not symmetric."""
    return [problem.reason for problem in symmetries(system, system.claims)[1] if problem.sort == sort]


BROKEN = {
    "a literal": ("s.up[1] = True", ["an element of A is named: Y"]),
    "a literal compared": ("require(a == 0)\ns.flag = True", ["an element of A is named: X"]),
    "a literal stored": ("s.leader = 2", ["an element of A is named: Z"]),
    "a literal in a set": ("s.held = {a, 1}", ["an element of A is named: Y"]),
    "an array as a whole": (
        "s.linked[a] = s.up\ns.up[1] = True",
        ["a value with a part for each element of A is used as a whole, part by part", "an element of A is named: Y"],
    ),
    "a parameter of the model": ("s.up[cfg.chosen] = True", ["the parameter chosen names an element of A"]),
    "order": ("require(any(x < a for x in s.held))\ns.flag = True", ["elements of A are compared by their order"]),
    "a number of an element": ("s.n[a] = int(a)", ["an element of A is used as a number"]),
    "an element of a number": ("s.up[s.n[a]] = True", ["a number is used as an element of A"]),
    "the first one": (
        "s.leader = next((x for x in A if s.up[x]), None)",
        ["the first element of A that qualifies is chosen"],
    ),
    "the least one": (
        "s.n[a] = min((int(x) for x in A if s.up[x]), default=0)",
        ["an element of A is used as a number"],
    ),
    "some elements": ("require(any(s.up[x] for x in (0, 2)))\ns.flag = True", ["a number is used as an element of A"]),
    "a loop that counts up to a limit": (
        "taken = 0\nfor x in A:\n    if taken < 2 and not s.up[x]:\n        s.up[x] = True\n        taken += 1",
        ["'taken' makes the order matter in which the elements of A come"],
    ),
    "a loop that keeps the last": (
        "last: Opt(A) = None\nfor x in A:\n    if s.up[x]:\n        last = x\ns.leader = last",
        ["'last' makes the order matter in which the elements of A come"],
    ),
    "a loop that stores the last": (
        "for x in A:\n    if s.up[x]:\n        s.leader = x",
        ["several turns of the loop over A write leader, and the last one wins"],
    ),
    "a loop that reads its neighbours": (
        "for x in A:\n    s.up[x] = not any(s.up[y] for y in A if y != x)",
        ["a turn of the loop over A reads up[*], which other turns write"],
    ),
    "a loop that reads what it sums": (
        "for x in A:\n    if s.total < 3:\n        s.total += 1",
        ["a turn of the loop over A reads total, which other turns write"],
    ),
    "a loop that adds and takes away": (
        "for x in A:\n    if s.up[x]:\n        s.total += 1\n    else:\n        s.total -= 1",
        ["several turns of the loop over A write total, and the last one wins"],
    ),
    "a loop that writes transposed places": (
        "for x in A:\n    for y in A:\n        s.linked[x][y] = s.linked[y][x]",
        ["a turn of the loop over A reads linked[*][*], which other turns write"],
    ),
    "a loop that writes both ways": (
        "for x in A:\n    s.linked[x][a] = True\n    s.linked[a][x] = False",
        ["several turns of the loop over A write linked[*][*], and the last one wins"],
    ),
    "a loop that writes where others point": (
        "for x in A:\n    if s.pair[x] is not None:\n        s.n[s.pair[x]] = 0 if s.up[x] else 1",
        ["several turns of the loop over A write n[*], and the last one wins"],
    ),
    "a guard and an error": (
        "for x in A:\n    require(s.up[x])\n    s.n[x] = s.n[x] + 1",
        ["which element of A comes first decides between a guard and an error of the model"],
    ),
    "a guard and an assertion": (
        'for x in A:\n    require(s.up[x])\n    assert s.n[x] == 0, "zero"\ns.flag = True',
        ["which element of A comes first decides between a guard and a failed assertion (act.assert1)"],
    ),
    "two assertions": (
        'for x in A:\n    assert s.up[x], "up"\n    assert s.n[x] == 0, "zero"\ns.flag = True',
        [
            "which element of A comes first decides between a failed assertion (act.assert1) "
            "and a failed assertion (act.assert2)"
        ],
    ),
    "a fault inside of two quantifiers": (
        "require(any(any(2 // s.n[y] == 1 for y in A) for x in A))\ns.flag = True",
        ["which elements of A are looked at first decides whether this fails"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), BROKEN.values(), ids=BROKEN)
def test_forbidden(tmp_path: Path, body: str, expected: list[str]) -> None:
    """One use that tells elements apart, and what is said about it."""
    system = read(acting(body), tmp_path)
    found = reasons(system)

    assert expected == list(dict.fromkeys(found))


FINE = {
    "names compared": "require(s.leader != a and a not in s.held and s.pair[a] == a)\ns.leader = a",
    "indices": "s.linked[a][a] = s.up[a]\ns.n[a] = 2",
    "quantifiers": (
        "require(any(s.up[x] for x in A) and all(s.n[x] < 2 for x in A if x != a))\n"
        "s.total = min(sum(s.up[x] for x in A) + max(s.n[x] for x in A), 5)\ns.held = {x for x in A if s.up[x]}"
    ),
    "cardinalities": "require(len(s.held) > 1 and s.held <= {x for x in A if s.up[x]})\ns.total = len(A)",
    "whole and empty sets": "s.held = {x for x in A}\ns.sets[a] = set()",
    "errors in a quantifier": "require(any(2 // s.n[x] == 1 for x in A))\ns.flag = True",
    "a loop over its own places": "for x in A:\n    if s.up[x] and x != a:\n        s.n[x] = 0\n        s.pair[x] = a",
    "a loop with a sum": "for x in A:\n    if s.up[x]:\n        s.total += 1\n        s.flag = True",
    "a loop with a counter": "k = 0\nfor x in A:\n    if s.up[x]:\n        k += 1 + s.n[x]\ns.total = min(k, 5)",
    "a loop with a flag": "seen = False\nfor x in A:\n    seen = seen or s.up[x]\ns.flag = seen",
    "a loop over a set that it empties": "for x in s.held:\n    s.up[x] = True\n    s.held.discard(x)",
    "a loop that adds to a set": "for x in A:\n    if s.pair[x] is not None:\n        s.held.add(s.pair[x])",
    "a loop of guards": "for x in A:\n    require(s.n[x] < 2)\ns.flag = True",
    "a loop of assertions": 'for x in A:\n    assert s.n[x] < 2, "small"\ns.flag = True',
    "a loop of errors": "for x in A:\n    s.n[x] += 1",
    "a loop with locals of its own": "for x in A:\n    k = s.n[x]\n    if k > 1:\n        s.n[x] = 0",
    "nested loops": "for x in A:\n    for y in A:\n        s.linked[x][y] = s.up[x] and x != y",
    "the first of another sort": "s.at[next((b for b in B if s.at[b] is None), 0)] = a",
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_allowed(tmp_path: Path, body: str) -> None:
    """Uses that treat all elements alike."""
    assert reasons(read(acting(body), tmp_path)) == []


CLAIMS = {
    "s.up[0]": ["an element of A is named: X"],
    "all(s.up[x] for x in A)": [],
    "all(x <= y for x in A for y in A if s.up[x] and s.up[y])": ["elements of A are compared by their order"],
    "all(2 // s.n[x] > 0 for x in A)": [],
}


@pytest.mark.parametrize(("condition", "expected"), CLAIMS.items(), ids=CLAIMS)
def test_claims(tmp_path: Path, condition: str, expected: list[str]) -> None:
    """Claims are asked in the same way; claims that are not selected do not matter."""
    system = read(claiming(condition), tmp_path)

    assert expected == reasons(system)
    assert "A" in [sort.name for sort in symmetries(system, ())[0]]


def test_line_is_named(tmp_path: Path) -> None:
    """An asymmetry names its line."""
    problem = symmetries(read(acting("s.flag = True\ns.up[1] = True"), tmp_path), ())[1][0]
    line = acting("").split("\n").index("def act(s, a: A):") + 3

    assert (problem.sort, problem.loc is not None and problem.loc.line) == ("A", line)
    assert str(problem).endswith(f":{line}: an element of A is named: Y")


def test_runs(tmp_path: Path) -> None:
    """Claims about whole runs switch the reduction off."""
    text = acting("s.held.add(a)").replace(
        "\nmodel =", '\n@eventually("all are held")\ndef served(s):\n    return len(s.held) == 3\n\n\nmodel ='
    )

    expected = "the claim served is about whole runs, which symmetry would not keep apart"
    assert reasons(read(text, tmp_path)) == [expected]


def test_sometimes_that_can_fail(tmp_path: Path) -> None:
    """A witness is asked for once only, so an element that fails may never be looked at."""
    text = acting("s.held.add(a)").replace(
        "\nmodel =",
        '\n@sometimes("two")\ndef two(s):\n    return any(2 // s.n[x] == 2 for x in A)\n\n\nmodel =',
    )

    assert reasons(read(text, tmp_path)) == ["which elements of A are looked at first decides whether this fails"]


# --- initial states ------------------------------------------------------------------------------------------


def starting(lines: str, field: str = "leader: Opt(A)") -> str:
    """A model whose initial states these lines make."""
    text = acting("s.held.add(a)").replace("leader: Opt(A)", field)
    return text.replace("\nmodel =", f"\n{lines}\n\n\nmodel =")


STARTS = {
    "any leader": ("@init\ndef start(s, a: A):\n    s.leader = a", "A", None, 0),
    "every start": ("@init\ndef start(s, a: A):\n    s.up[a] = True\n    s.n[a] = 1", "Opt(A)", None, 0),
    "element 0": (
        "",
        "A",
        "leader starts as the element X: declare it Opt(A), or choose it by a parameter of an init function",
        None,
    ),
    "a literal": (
        "@init\ndef start(s):\n    s.flag = True\n    s.up[0] = True",
        "Opt(A)",
        "up[X] starts as True, and in no initial state are X and Y exchanged",
        2,
    ),
    "a choice that is not free": (
        "@init\ndef start(s, a: A):\n    require(a != 2)\n    s.leader = a",
        "A",
        "leader starts as Y, and in no initial state are Y and Z exchanged",
        1,
    ),
    "left out": (
        "@init\ndef start(s, a: A):\n    s.up[a] = True",
        "A",
        "leader starts as the element X: declare it Opt(A), or choose it by a parameter of an init function",
        0,
    ),
}


@pytest.mark.parametrize(("lines", "kind", "expected", "line"), STARTS.values(), ids=STARTS)
def test_starts(tmp_path: Path, lines: str, kind: str, expected: str | None, line: int | None) -> None:
    """Initial states are permuted and looked up; `line` counts from that of the init function."""
    system = read(starting(lines, f"leader: {kind}"), tmp_path)
    sorts, _ = symmetries(system, system.claims)
    kept, problems = start_symmetrically(system, sorts)
    found = {p.sort: p for p in problems}.get("A")

    assert (found is None) == ("A" in [sort.name for sort in kept])
    assert (found.reason if found else None) == expected
    if found is not None:
        assert (found.loc.line - system.inits[0].loc.line if found.loc else None) == line


# --- shipped models ------------------------------------------------------------------------------------------


def shipped(model: object, **chosen: str) -> System:
    """A shipped model, folded."""
    return run(build(model, choose(model, **chosen)))  # type: ignore[arg-type]


def test_benchmark() -> None:
    """Requests are symmetric, pages are given out by number."""
    system = shipped(kv_transfer.model, scope="XL")
    sorts, problems = symmetries(system, system.claims)

    assert [sort.name for sort in sorts] == ["Req"]
    assert [(p.sort, p.reason) for p in problems] == [
        ("Page", "'taken' makes the order matter in which the elements of Page come")
    ]
    assert start_symmetrically(system, sorts) == (sorts, ())


@pytest.mark.parametrize("preset", [preset.name for preset in outline.model.presets])
def test_outline(preset: str) -> None:
    """Requests are symmetric whatever the release."""
    system = shipped(outline.model, preset=preset)
    sorts, problems = symmetries(system, system.claims)

    assert [sort.name for sort in sorts] == ["Req"]
    assert {p.sort for p in problems} == {"Slot", "PPage", "DPage"}


def test_the_other_of_two(tmp_path: Path) -> None:
    """Of two elements `next` has no choice, of three it has."""
    text = acting("s.leader = next((x for x in A if x != a), None)")

    assert reasons(read(text.replace("size=3", "size=2"), tmp_path)) == []
    assert reasons(read(text, tmp_path)) == ["the first element of A that qualifies is chosen"]


def test_strict_changes_only_what_can_fail(tmp_path: Path) -> None:
    """Quantifiers that cannot fail stay as they are, and so does everything without symmetric sorts."""
    safe = read(claiming("all(s.up[x] for x in A)"), tmp_path)
    failing = read(claiming("all(2 // s.n[x] > 0 for x in A)"), tmp_path)
    sorts = symmetries(failing, failing.claims)[0]

    assert strict(safe, sorts) == safe
    assert strict(failing, ()) == failing
    assert strict(failing, sorts) != failing
    assert str(Asymmetry("A", None, "why")) == "A is not symmetric: why"
