"""Queues, bags, sets of records and parameters in parts, as a trace from a search shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvproto.trace import codec
from kvproto.trace.filling import fill

if TYPE_CHECKING:
    from cli_runs import Run, Write

    from kvproto.trace.trace import Value

MODEL = """class Kind(Enum):
    META = auto()
    ABORT = auto()


class Msg(Record):
    kind: Kind
    to: Req


class State(Record):
    up: Array(Req, Queue(Msg, 3))
    line: Queue(Kind, 2)
    net: Bag(Msg, 2)
    seen: Set(Msg)
    small: Set(Kind)
    round: Int(0, 4)
    n: Int(0, 9)


@action(m)
def send(s, x: Msg):
    \"\"\"{x} goes to {x.to}.\"\"\"
    require(s.round in (0, 1) and x.to == 1)
    require((x.kind == Kind.META) == (s.round == 0))
    s.up[x.to].append(x)
    s.line.append(x.kind)
    s.seen.add(x)
    s.round += 1


@action(m)
def doubled(s):
    \"\"\"Two copies.\"\"\"
    require(s.round == 2)
    for _ in range(2):
        s.net.add(Msg(kind=Kind.META, to=0))
    s.net.add(Msg(kind=Kind.META, to=1))
    s.round += 1


@action(m)
def take(s, r: Req):
    \"\"\"One for {r}.\"\"\"
    require(s.round == 3 and len(s.up[r]) > 0)
    s.up[r].pop(0)
    s.line.pop(0)
    s.net.discard(Msg(kind=Kind.META, to=0))
    s.seen.discard(Msg(kind=Kind.META, to=1))
    s.small.add(Kind.META)
    s.round += 1


@invariant('it does not come to an end')
def endless(s):
    return s.round < 4
"""

CHANGES = {
    1: ["up[B]: [] -> [(META, B)]", "line: [] -> [META]", "seen: {} -> {(META, B)}", "round: 0 -> 1"],
    2: [
        "up[B]: [(META, B)] -> [(META, B), (ABORT, B)]",
        "line: [META] -> [META, ABORT]",
        "seen: {(META, B)} -> {(META, B), (ABORT, B)}",
        "round: 1 -> 2",
    ],
    3: ["net: {} -> {(META, A) x2, (META, B)}", "round: 2 -> 3"],
    # A pop is a pop, although the messages behind it move.
    4: [
        "up[B]: [(META, B), (ABORT, B)] -> [(ABORT, B)]",
        "line: [META, ABORT] -> [ABORT]",
        "net: {(META, A) x2, (META, B)} -> {(META, A), (META, B)}",
        "seen: {(META, B), (ABORT, B)} -> {(ABORT, B)}",
        "small: {} -> {META}",
        "round: 3 -> 4",
    ],
}


def changes(text: str) -> dict[int, list[str]]:
    """The lines of changes below each step."""
    found: dict[int, list[str]] = {}
    number = 0
    for line in text.partition("\nSteps")[2].splitlines():
        if head := re.match(r"[ *]{1,2}(\d+)  m ", line):
            number = int(head[1])
        elif " -> " in line:
            found.setdefault(number, []).append(line.strip())
    return found


@pytest.fixture
def shown(kv: Run, write: Write) -> str:
    write(MODEL)
    assert kv("check", "model.py").code == 1
    return kv("show", ".kvproto/traces/mine-endless.trace.json", "--width", "120").out


def test_what_changes_is_the_container(shown: str) -> None:
    assert CHANGES == changes(shown)


def test_a_record_is_filled_into_the_text(shown: str) -> None:
    assert "(kind=META, to=B) goes to B." in shown
    assert "(kind=ABORT, to=B) goes to B." in shown


def test_containers_are_named_in_the_file(shown: str) -> None:
    path = Path(".kvproto/traces/mine-endless.trace.json")
    views = json.loads(path.read_text())["vocabulary"]["containers"]
    expected = {"up[A]": "queue", "up[B]": "queue", "line": "queue", "net": "bag", "seen": "set"}

    assert expected == {view["path"]: view["shape"] for view in views}
    assert path.read_text() == codec.dumps(codec.read(path))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"path": "line"', '"path": "lines"', "/vocabulary/containers/2/path: expected the path of a queue of init"),
        ('"path": "seen"', '"path": "see"', "/vocabulary/containers/4/path: expected the path of a set of init"),
        ('"shape": "bag"', '"shape": "heap"', '/vocabulary/containers/3/shape: expected "queue", "bag" or "set"'),
        ('"shape": "bag"}', '"shape": "bag", "x": 1}', "/vocabulary/containers/3/x: expected no such key"),
        ('"containers": [', '"containers": null, "more": [', "/vocabulary/more: expected no such key"),
    ],
)
def test_wrong_containers_are_refused(kv: Run, shown: str, old: str, new: str, words: str) -> None:
    path = Path(".kvproto/traces/mine-endless.trace.json")
    path.write_text(path.read_text().replace(old, new))
    done = kv("show", str(path))

    assert done.code == 2
    assert "KV012" in done.err
    assert words in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("doc", "args", "text"),
    [
        ("{r} and {r}", {"r": "A"}, "A and A"),
        ("{m}", {"m.kind": "ACK", "m.to": None}, "(kind=ACK, to=none)"),
        ("{m.at}", {"m.kind": "ACK", "m.at.x": 1, "m.at.y": 2}, "(x=1, y=2)"),
        ("{a}", {"a[A]": True, "a[B]": False}, "(A=true, B=false)"),
        ("{a[B]}", {"a[A]": True, "a[B]": False}, "false"),
        ("{a}", {"a[A][0]": 3, "a[B].k": []}, "(A[0]=3, B.k={})"),
        ("{m.set}", {"m.set[A]": [0, 1]}, "(A={0, 1})"),
        ("{many} of {m}", {"m": "x", "man": 1, "many": 2}, "2 of x"),
        # Neither a name that is no argument nor a value with braces is filled in.
        ("{s} {} {other}", {"s": "{other}", "others": 1, "otherwise.x": 2}, "{other} {} {other}"),
        ("first\n\n{r}", {"r": 1}, "first"),
        ("  two\n  lines {r}", {"r": 1}, "two lines 1"),
    ],
)
def test_filling(doc: str, args: dict[str, Value], text: str) -> None:
    assert text == fill(doc, args)
