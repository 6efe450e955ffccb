"""Sets, bags and queues of unusual elements, and parameters that are no single values: whole small models."""

from __future__ import annotations

from pathlib import Path

import pytest
import searching
from lang_native import FOOTER, HEADER, agree

WHOLE: dict[str, tuple[str, int]] = {}
"""By feature: a model after the sorts, and how many states it reaches."""

WHOLE["large_set_of_numbers"] = (
    """
class State(Record):
    far: Set(Int(0, 99))
    near: Set(Int(60, 130))
    n: Int(0, 3)
    ok: Bool

@action(m)
def go(s, k: Int(0, 3)):
    require(s.n < 3)
    s.n += 1
    s.far.add(k * 33)
    s.far.discard(99 - s.n)
    s.ok = 99 in s.far or s.n * 50 in s.far or 7 + s.n in s.near
    if s.n == 1:
        s.near |= {x + 60 for x in s.far if x < 50}
    s.near = s.near | {130} if s.ok else s.near - {60, k + 60}
    s.far = {x for x in s.far if x != 66} | {1, 2}

@action(m)
def out(s, k: Int(2, 3)):
    require(s.n == 2)
    s.far.add(s.n * 33 * k)

@invariant("")
def sums(s):
    return sum(x for x in s.far) < 200 and max((x for x in s.far), default=0) < 99 and s.far != {1, 2}
""",
    27,
)
WHOLE["elements_with_sets_and_records_inside"] = (
    """
class Head(Record):
    to: Set(Req)
    again: Bool

class Msg(Record):
    head: Head
    of: Opt(Req)

class State(Record):
    net: Set(Msg)
    bag: Bag(Msg, 1)
    last: Head
    n: Int(0, 2)

@action(m)
def send(s, to: Set(Req), of: Opt(Req)):
    require(s.n < 2 and to)
    s.n += 1
    s.net.add(Msg(head=Head(to=to - {0}, again=s.n == 2), of=of))
    if Msg(head=Head(to=to), of=of) not in s.bag:
        s.bag.add(Msg(head=Head(to=to), of=of))

@action(m)
def take(s, m: Msg):
    require(m in s.net and m.head.to == {1} and s.last != m.head)
    s.last = m.head
    for x in s.net:
        if x.of == m.of and x.head.again:
            s.bag.discard(Msg(head=Head(to=x.head.to), of=m.of))

@invariant("")
def heads(s):
    return all(x.head.to <= {1} for x in s.net) and {Msg(head=s.last, of=0)} <= s.net | {Msg(head=s.last, of=0)}
""",
    208,
)
WHOLE["queues_of_everything"] = (
    """
class State(Record):
    sets: Queue(Set(Req), 2)
    options: Queue(Opt(Req), 2)
    lines: Array(Req, Queue(Bool, 2))
    boxes: Queue(Queue(Req, 1), 2)
    box: Queue(Req, 1)

@action(m)
def fill(s, r: Req, few: Set(Req)):
    require(len(s.sets) < 2 and len(s.lines[r]) < 2 and r in few)
    s.sets.append(few)
    s.options.append(r if len(few) == 1 else None)
    s.lines[r].append(few in s.sets and {r} in s.sets)

@action(m)
def drain(s):
    require(len(s.sets) == 2)
    few = s.sets.pop(0)
    option = s.options.pop(0)
    if option is None:
        s.lines[0].clear()
    if len(s.box) == 0 and few:
        s.box.append(1)
    elif len(s.boxes) < 2:
        s.boxes.append(s.box)
        s.box.pop(0)

@invariant("")
def same(s):
    return None in s.options or all(len(x) == 1 for x in s.sets) and s.box not in s.boxes
""",
    692,
)
WHOLE["parameters_of_all_kinds"] = (
    """
class Pair(Record):
    one: Req
    few: Set(Req)

class State(Record):
    age: Array(Req, Int(0, 2))
    pair: Pair
    pairs: Array(Req, Pair)
    ok: Bool

@init
def any_age(s, age: Array(Req, Int(0, 2)), pair: Pair):
    require(age[0] == 0 and age[1] == 1 and pair == Pair(one=pair.one, few={pair.one}))
    s.age = age
    s.pair = pair

@action(m)
def swap(s, age: Array(Req, Int(0, 1)), x: Opt(Req), both: Pair):
    require(len(both.few) == 1 and (x is None or x in both.few))
    s.ok = s.age == age or s.pair == both
    s.pairs[both.one] = both if x is None else Pair(one=x, few=s.pairs[x].few)

@leads_to("")
def comes(s, both: Pair, r: Req):
    return s.pair == both, s.pairs[r] == both

@eventually("")
def aged(s, age: Array(Req, Int(0, 1))):
    return any(s.age[r] > age[r] for r in Req)
""",
    100,
)


@pytest.mark.parametrize("name", WHOLE)
def test_models_agree(name: str, tmp_path: Path) -> None:
    text, states = WHOLE[name]

    assert agree(tmp_path, text) == states


@pytest.mark.parametrize("name", WHOLE)
def test_engines_agree(name: str, tmp_path: Path) -> None:
    with searching.imported(HEADER + WHOLE[name][0] + FOOTER, tmp_path) as module:
        system = searching.system_of(module)
        found = searching.reference(system)
        for tier in searching.tiers():
            searched = searching.search(system, tier)

            assert searched is not None
            searching.agree(system, found, searched)
