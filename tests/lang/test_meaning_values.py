"""What records, queues, bags, large sets and subsets mean: both readings of one small model a feature agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import searching
from lang_native import FOOTER, HEADER, agree

STATE = """
class Kind(Enum):
    ASK = auto()
    SAY = auto()
class Msg(Record):
    kind: Kind
    to: Req
    n: Opt(Int(0, 1))
class Pair(Record):
    left: Msg
    right: Msg
class State(Record):
    n: Int(0, 3)
    ok: Bool
    last: Msg
    pair: Pair
    line: Queue(Msg, 2)
    ints: Queue(Int(0, 2), 3)
    net: Set(Msg)
    lost: Bag(Msg, 2)
    bag: Bag(Req, 2)
    held: Set(Page)
    best: Array(Req, Int(0, 1))
    good: Array(Req, Int(0, 1))
"""
PARAMETERS = {"r": "Req", "o": "Req", "p": "Page", "k": "Int(0, 2)"}
"""Of these, the action has those that its body mentions; `o` is another than `r`."""

CASES: dict[str, str] = {}
"""By feature: the body of the one action, after a line of dashes the helpers it calls."""

# --- records ---------------------------------------------------------------------------------------------

CASES["construct"] = """
s.last = Msg(kind=Kind.SAY, to=r, n=int(p) if p != 2 else None)
"""
CASES["construct_with_zeroes"] = """
s.last = Msg(to=r)
"""
CASES["construct_that_does_not_fit"] = """
s.last = Msg(n=s.n)
s.n = (s.n + 1) % 4
"""
CASES["construct_without_use_faults_too"] = """
s.ok = Msg(n=s.n).kind == Kind.ASK
s.n = (s.n + 1) % 4
"""
CASES["compare_with_constructed"] = """
s.ok = s.last == Msg(kind=Kind.SAY, to=r)
s.last = Msg(kind=Kind.SAY, to=0)
"""
CASES["compare_parts"] = """
s.ok = s.pair.left != s.pair.right and s.last == s.pair.left
s.pair.right = Msg(to=r)
s.last = s.pair.left
"""
CASES["compare_faults_before_it_decides"] = """
s.ok = Msg(kind=Kind.SAY, n=1 // s.n) == s.last
s.n = (s.n + 1) % 3
"""
CASES["swap_parts"] = """
s.pair = Pair(left=s.pair.right, right=Msg(to=s.pair.left.to, kind=s.pair.right.kind))
s.pair.left = Msg(kind=Kind.SAY, to=r)
"""
CASES["swap_by_construction"] = """
s.pair = Pair(left=s.pair.right, right=s.pair.left)
s.pair.left.to = r
"""
CASES["local_record"] = """
m = Msg(kind=Kind.SAY, to=r)
s.ok = m.to == 0
s.last = m
"""
CASES["local_record_is_a_copy"] = """
m = Msg(to=s.last.to)
s.last = Msg(to=r)
s.ok = m == s.last
"""
CASES["local_record_reassigned_from_itself"] = """
m = Pair(left=s.last, right=Msg(to=r))
m = Pair(left=m.right, right=m.left)
s.pair = m
s.last = s.pair.right
"""
CASES["record_in_branches"] = """
if s.ok:
    m = Msg(kind=Kind.SAY, to=r)
else:
    m = Msg(to=r)
s.last = m
s.ok = not s.ok
"""
CASES["conditional_record"] = """
m = Msg(kind=Kind.SAY, to=r) if s.ok else Msg(to=r, n=1)
s.last = m
s.ok = not s.ok
"""
CASES["conditional_record_stored"] = """
s.last = s.pair.left if s.ok else Msg(to=r, n=1)
s.ok = not s.ok
s.pair.left.kind = Kind.SAY
"""
CASES["record_argument"] = """
put(s, Msg(kind=Kind.SAY, to=r))
s.ok = mine(s, s.last, r)
---
def put(s, m):
    s.last = m
    s.pair.left = m
def mine(s, m, r):
    return m.to == r and m.kind == Kind.SAY
"""
CASES["record_argument_is_a_copy"] = """
put(s, Msg(to=s.last.to))
---
def put(s, m):
    s.last.to = 1
    s.ok = m == s.last
"""
CASES["record_returned"] = """
s.last = answer(s, s.last)
s.pair.left = reply(s, r)
---
def answer(s, m):
    if m.kind == Kind.ASK:
        return Msg(kind=Kind.SAY, to=m.to)
    return m
def reply(s, r):
    s.ok = not s.ok
    if s.ok:
        return Msg(to=r)
    return Msg(kind=Kind.SAY, to=r)
"""
CASES["field_of_returned_record"] = """
s.ok = answer(s, r).to == 1
---
def answer(s, r):
    m = Msg(kind=Kind.SAY, to=r)
    return m
"""
CASES["record_among"] = """
s.ok = s.last in (Msg(), Msg(kind=Kind.SAY, to=r)) and s.last not in {Msg(to=1), s.pair.left}
s.last = Msg(kind=Kind.SAY, to=r)
"""
CASES["next_record"] = """
s.last = next((Msg(kind=Kind.SAY, to=q) for q in Req if q != r), s.pair.left)
"""
CASES["arrays_compared"] = """
s.ok = s.best == s.good
s.best[r] = 1 if s.ok else 0
s.good[0] = 1
"""
CASES["array_stored_whole"] = """
s.good = s.best
s.best[r] = 1
s.ok = s.good != s.best
"""

# --- queues ----------------------------------------------------------------------------------------------

CASES["append_and_pop"] = """
if len(s.line) == 2:
    s.line.pop(0)
s.line.append(Msg(kind=Kind.SAY, to=r))
"""
CASES["append_to_a_full_queue_is_a_fault"] = """
s.line.append(Msg(to=r))
"""
CASES["pop_of_nothing_is_a_fault"] = """
if s.ok:
    s.last = s.line.pop(0)
s.ok = not s.ok
"""
CASES["pop_gives_the_first"] = """
if len(s.line) > 0:
    m = s.line.pop(0)
    s.last = m
    s.ok = m.to == r
s.line.append(Msg(kind=Kind.SAY, to=r, n=s.last.n))
"""
CASES["pop_from_the_middle"] = """
require(len(s.ints) <= 3)
if len(s.ints) == 3:
    x = s.ints.pop(k)
    s.n = x
else:
    s.ints.append(k)
"""
CASES["pop_beyond_the_end_is_a_fault"] = """
if len(s.ints) == 2:
    s.ints.pop(k)
else:
    s.ints.append(1)
"""
CASES["pop_last"] = """
if len(s.ints) == 3:
    s.n = s.ints.pop()
else:
    s.ints.append(k)
"""
CASES["pop_into_a_place_of_its_own_index"] = """
s.ints.append(int(r))
s.best[s.ints[0]] = s.ints.pop(0)
s.good[r] = s.best[r]
"""
CASES["append_what_is_first"] = """
if len(s.line) == 0:
    s.line.append(Msg(kind=Kind.SAY, to=r))
else:
    s.line.append(s.line[0])
    s.line.pop(0)
"""
CASES["first_element"] = """
s.ok = len(s.line) > 0 and s.line[0].kind == Kind.SAY and s.line[len(s.line) - 1].to == r
if len(s.line) < 2:
    s.line.append(Msg(kind=Kind.SAY, to=r))
"""
CASES["first_element_of_nothing_is_a_fault"] = """
s.ok = s.line[0].to == r
"""
CASES["element_out_of_line_is_a_fault"] = """
s.n = s.ints[s.n]
s.ints.append(1)
"""
CASES["element_by_number"] = """
if len(s.ints) == 3:
    s.n = s.ints[k]
    s.ints.clear()
else:
    s.ints.append(2 - k)
"""
CASES["element_is_a_copy"] = """
if len(s.line) == 1:
    m = s.line[0]
    s.line.pop(0)
    s.last = m
else:
    s.line.append(Msg(kind=Kind.SAY, to=r))
"""
CASES["element_stored"] = """
if len(s.line) == 1:
    s.line[0] = Msg(kind=Kind.SAY, to=r)
    s.line[0] = s.line[0]
else:
    s.line.append(Msg())
"""
CASES["element_compared_whole"] = """
s.ok = len(s.line) > 0 and s.line[0] == Msg(to=r)
if len(s.line) < 2:
    s.line.append(Msg(to=r))
"""
CASES["in_a_queue"] = """
s.ok = Msg(to=1) in s.line or 2 in s.ints and s.n + 2 not in s.ints
if len(s.line) < 2:
    s.line.append(Msg(to=r))
    s.ints.append(k)
"""
CASES["loop_over_a_queue"] = """
for x in s.ints:
    s.n = x
    s.ints.pop(0)
if len(s.ints) < 3:
    s.ints.append(k)
"""
CASES["loop_over_a_queue_of_records"] = """
for m in s.line:
    if m.to == r:
        s.line.clear()
        s.last = m
if len(s.line) < 2:
    s.line.append(Msg(to=r, kind=Kind.SAY))
"""
CASES["loop_over_a_queue_that_grows"] = """
for x in s.ints:
    if len(s.ints) < 3:
        s.ints.append(x)
    s.n = (s.n + x) % 4
if len(s.ints) == 0:
    s.ints.append(k)
elif len(s.ints) == 3:
    s.ints.clear()
"""
CASES["quantifiers_over_a_queue"] = """
s.ok = any(m.to == r for m in s.line) and all(x < 2 for x in s.ints if x != 1)
s.n = min(3, sum(x for x in s.ints))
if len(s.line) < 2:
    s.line.append(Msg(to=r))
    s.ints.append(k)
"""
CASES["next_of_a_queue"] = """
s.n = next((x for x in s.ints if x > 0), 3)
s.last = next((m for m in s.line if m.to == 1), s.last)
if len(s.line) < 2:
    s.line.append(Msg(to=r, kind=Kind.SAY))
    s.ints.append(k)
"""
CASES["set_from_a_queue"] = """
s.held = {q for q in Page if int(q) in s.ints}
if len(s.ints) < 3:
    s.ints.append(k)
"""
CASES["queues_compared"] = """
q = s.ints
q.append(k)
s.ints.pop(0)
s.ok = s.ints == q and len(q) == 0
"""
CASES["queue_clear"] = """
if len(s.line) == 2:
    s.line.clear()
else:
    s.line.append(Msg(to=r))
"""

# --- large sets ------------------------------------------------------------------------------------------

CASES["set_of_records"] = """
s.net.add(Msg(kind=Kind.SAY, to=r))
s.net.discard(Msg(kind=Kind.SAY, to=o))
s.ok = Msg(kind=Kind.SAY, to=1) in s.net
"""
CASES["set_of_records_as_condition"] = """
if not s.net or (s.net and len(s.net) == 2):
    s.ok = not s.ok
if s.n < 3:
    s.net.add(Msg(kind=Kind.SAY, to=r, n=k if k < 2 else None))
    s.n += 1
"""
CASES["set_of_records_literal"] = """
s.net |= {Msg(to=r), Msg(kind=Kind.SAY, to=r)}
s.net -= {Msg(to=o)}
s.ok = s.net == {Msg(kind=Kind.SAY, to=0), Msg(kind=Kind.SAY, to=1)} or s.net == {s.last}
"""
CASES["set_of_records_assigned"] = """
s.net = {Msg(to=r), s.last} if s.ok else set()
s.ok = not s.ok
s.last = Msg(n=1)
"""
CASES["set_of_records_filtered"] = """
s.net = {m for m in s.net if m.to != r}
s.net.add(Msg(kind=Kind.SAY, to=o))
s.ok = s.net == {m for m in s.net if m.kind == Kind.SAY}
"""
CASES["set_of_records_built"] = """
s.net |= {Msg(kind=Kind.SAY, to=q) for q in Req if q != r}
s.net = {Msg(kind=Kind.ASK, to=m.to) for m in s.net} | s.net
"""
CASES["set_of_records_built_from_itself"] = """
s.net |= {Msg(kind=Kind.ASK, to=1 if m.to == 0 else 0) for m in s.net}
s.net.add(Msg(kind=Kind.SAY, to=r))
"""
CASES["set_algebra_of_records"] = """
s.net = (s.net | {Msg(to=r)}) - {Msg(to=o, kind=Kind.SAY)} & s.net | {Msg(kind=Kind.SAY, to=r)}
s.ok = s.net <= {Msg(to=r), Msg(kind=Kind.SAY, to=r)} and s.net > {Msg(to=0)}
"""
CASES["quantifiers_over_records"] = """
s.ok = any(m.to == r and m.n is not None for m in s.net) and all(m.kind == Kind.SAY for m in s.net)
s.n = len([m for m in s.net if m.to == r]) % 4
s.net.add(Msg(kind=Kind.SAY if p == 0 else Kind.ASK, to=r))
"""
CASES["next_of_records"] = """
s.last = next((m for m in s.net if m.to == r), Msg())
s.n = next((int(m.to) + 1 for m in s.net if m.kind == Kind.SAY), 0)
s.net.add(Msg(kind=Kind.SAY if p == 0 else Kind.ASK, to=r))
"""
CASES["extremes_of_records"] = """
s.n = max((int(m.to) + 1 for m in s.net if m.kind == Kind.SAY), default=0)
s.ok = s.n == 0 or min(int(m.to) for m in s.net) == 0
s.net.add(Msg(kind=Kind.SAY if p == 0 else Kind.ASK, to=r))
"""
CASES["minimum_of_no_record_is_a_fault"] = """
s.n = min(int(m.to) for m in s.net if m.kind == Kind.SAY)
"""
CASES["loop_over_records"] = """
for m in s.net:
    s.net.discard(m)
    s.net.discard(Msg(kind=m.kind, to=1 if m.to == 0 else 0))
    s.last = m
s.net.add(Msg(kind=Kind.SAY, to=r))
s.net.add(Msg(kind=Kind.ASK, to=o))
"""
CASES["loop_variable_of_records_as_argument"] = """
for m in s.net:
    take(s, m)
s.net.add(Msg(kind=Kind.SAY, to=r))
---
def take(s, m):
    if m.to == 0:
        s.last = m
"""
CASES["subset_of_records"] = """
s.ok = {Msg(to=r)} <= s.net
s.net.add(Msg(to=r))
"""
CASES["clear_records"] = """
if len(s.net) == 2:
    s.net.clear()
else:
    s.net.add(Msg(to=r))
"""
CASES["set_alias"] = """
q = s.net
q |= {Msg(to=r)}
s.ok = q == s.net and Msg(to=0) in q
"""
CASES["set_of_records_local"] = """
chosen: Set(Msg) = set()
for m in s.net:
    if m.to == r:
        chosen |= {m}
s.ok = len(chosen) > 1
s.net = chosen | {Msg(kind=Kind.SAY, to=o)}
"""

# --- bags ------------------------------------------------------------------------------------------------

CASES["bag"] = """
if s.bag.count(r) == 2:
    s.bag.discard(r)
    s.bag.discard(o)
else:
    s.bag.add(r)
s.ok = r in s.bag
"""
CASES["too_many_copies_are_a_fault"] = """
s.bag.add(r)
"""
CASES["bag_asked"] = """
s.ok = len(s.bag) > 2 and any(q == r for q in s.bag)
s.n = sum(int(q) + 1 for q in s.bag)
if s.bag.count(r) < 2:
    s.bag.add(r)
if not s.bag or s.bag.count(o) == 2:
    s.bag.clear()
"""
CASES["loop_over_a_bag"] = """
for q in s.bag:
    s.bag.discard(0)
    s.n = s.bag.count(q)
if s.bag.count(r) < 2:
    s.bag.add(r)
"""
CASES["bag_of_records"] = """
m = Msg(kind=Kind.SAY, to=r)
if s.lost.count(m) < 2:
    s.lost.add(m)
else:
    s.lost.discard(m)
s.ok = m in s.lost and all(x.kind == Kind.SAY for x in s.lost)
"""
CASES["bag_stored"] = """
q = s.bag
if q.count(r) < 2:
    s.bag.add(r)
s.ok = q == s.bag and q.count(0) == q.count(1)
"""

# --- subsets ---------------------------------------------------------------------------------------------

CASES["subsets_of_a_sort"] = """
s.ok = all(len(q) < 3 or s.held <= q for q in subsets(Page))
s.n = sum(p in q for q in subsets(Page) if len(q) == 2)
s.held.add(p)
"""
CASES["subsets_of_a_set"] = """
s.n = min(3, sum(1 for q in subsets(s.held)))
s.ok = any(q == {p} for q in subsets(s.held)) and not any(q & {p} == q for q in subsets(Page) if q)
s.held.add(p)
"""
CASES["loop_over_subsets"] = """
for q in subsets(Page):
    if len(q) == 2 and p in q:
        s.held = s.held ^ q if False else q - s.held
s.n = next((len(q) for q in subsets(Page) if s.held < q), 0)
"""
CASES["loop_over_subsets"] = """
for q in subsets(s.held):
    if len(q) == 1:
        s.held = s.held - q
s.held.add(p)
s.n = next((len(q) for q in subsets(Page) if s.held < q), 0)
"""
CASES["next_subset"] = """
s.held = next((q for q in subsets(Page) if p in q and s.held < q), {p})
"""
CASES["subset_literal"] = """
s.ok = any({0, p} == q for q in subsets(Page) if len(q) == 1)
s.n = len([q for q in subsets(Page) if q <= {0, p}]) % 4
"""

# --- constant tables, elements from numbers --------------------------------------------------------------

CASES["table_by_number"] = """
s.n = COST[k]
s.ok = COST[s.best[r]] == 2 and COST[2] == 1 and (1, 2, 3)[k] == k + 1
---
COST = (2, 0, 1)
"""
CASES["table_by_element"] = """
s.n = COST[p] + COST[r]
s.ok = not s.ok
---
COST = (2, 0, 1)
"""
CASES["table_by_too_large_a_number"] = """
s.n = COST[s.n] + 1
---
COST = (2, 0, 1)
"""
CASES["table_by_an_optional"] = """
s.n = COST[s.last.n]
s.last = Msg(n=k if k < 2 else None)
---
COST = (2, 0, 1)
"""
CASES["table_of_members"] = """
s.last = Msg(kind=KINDS[r], n=NUMBERS[k], to=Req(ORDER[s.last.to]))
---
KINDS = (Kind.SAY, Kind.ASK)
NUMBERS = (0, None, 1)
ORDER = (1, 0)
"""
CASES["table_of_tables"] = """
s.n = STEPS[s.n][int(r)]
s.ok = STEPS[k][1] == 0 or LEVELS[1][k] == 3
---
STEPS = ((1, 2), (2, 0), (3, 0), (0, 0))
LEVELS = ((1, 2), (3, 3, 1))
"""
CASES["table_in_a_quantifier"] = """
s.n = max(COST[q] for q in Page if q != p)
s.ok = any(COST[i] == s.n for i in range(2))
---
COST = (2, 0, 1)
"""
CASES["element_of_a_number"] = """
s.held.add(Page((s.n + k) % 3))
s.last = Msg(to=Req(s.n % 2))
s.ok = Page(2) in s.held and Page(p) == p
s.n = (s.n + 1) % 4
"""
CASES["element_of_no_number"] = """
s.held = {Page(s.n)}
s.n = (s.n + 1) % 4
"""


def text_of(name: str) -> str:
    """The model of a case, without header and footer."""
    body, _, helpers = CASES[name].strip("\n").partition("\n---\n")
    used = [n for n in PARAMETERS if re.search(rf"\b{n}\b", body)]
    lines = [*(["require(o != r)"] if "o" in used else []), *body.splitlines()]
    head = f"@action(m)\ndef go(s, {', '.join(f'{n}: {PARAMETERS[n]}' for n in used)}):\n"
    return STATE + helpers + "\n" + head + "\n".join("    " + line for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_both_readings_agree(name: str, tmp_path: Path) -> None:
    assert agree(tmp_path, text_of(name)) >= 1


@pytest.mark.parametrize("name", CASES)
def test_engines_agree(name: str, tmp_path: Path) -> None:
    with searching.imported(HEADER + text_of(name) + FOOTER, tmp_path) as module:
        system = searching.system_of(module)
        found = searching.reference(system)
        for tier in searching.tiers():
            searched = searching.search(system, tier)

            assert searched is not None
            searching.agree(system, found, searched)
