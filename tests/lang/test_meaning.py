"""What the language means: one small model a feature, read by the front end and run as plain Python.

Both readings must agree on every step from every reachable state; see `lang_native.agree`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lang_native import agree

STATE = """
class Phase(Enum):
    NEW = auto()
    DONE = auto()
class Job(Record):
    left: Int(0, 3)
    page: Opt(Page)
    held: Set(Page)
class State(Record):
    n: Int(0, 3)
    k: Opt(Int(0, 3))
    ok: Bool
    first: Page
    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    held: Set(Page)
    job: Array(Req, Job)
"""
HEAD = """
@action(m)
def go(s, r: Req, p: Page):
"""

CASES: dict[str, str] = {}
"""By feature: the body of the one action, after a line of dashes the helpers it calls."""

CASES["branch_locals"] = """
if s.ok:
    x = 1
else:
    x = 2
s.n = x
s.ok = not s.ok
"""
CASES["alias_helper_in_quant"] = """
s.ok = any(rec(s, s.owner[q]).left == 0 for q in Page if s.owner[q] is not None)
s.owner[p] = r
---
def rec(s, r):
    return s.job[r]
"""
CASES["alias_helper_shortcircuit"] = """
s.ok = s.owner[p] is not None and rec(s, s.owner[p]).left == 0
s.owner[p] = r
---
def rec(s, r):
    return s.job[r]
"""
CASES["value_helper_shortcircuit"] = """
s.ok = s.owner[p] is not None and rec(s, s.owner[p])
s.owner[p] = r
---
def rec(s, r):
    return s.job[r].left == 0
"""
CASES["value_helper_ifexp"] = """
s.n = rec(s, s.owner[p]) if s.owner[p] is not None else 2
s.owner[p] = r
---
def rec(s, r):
    return s.job[r].left
"""
CASES["alias_after_loop"] = """
for q in Req:
    j = s.job[q]
j.left = 2
"""
CASES["early_none"] = """
x = find(s)
if x is not None:
    s.first = x
s.ok = not s.ok
---
def find(s):
    if s.ok:
        return None
    return s.first
"""
CASES["early_none_effect"] = """
x = find(s)
if x is not None:
    s.first = x
s.ok = not s.ok
---
def find(s):
    s.n = 1
    if s.ok:
        return None
    return s.first
"""
CASES["arg_widen"] = """
bump(s, 1)
---
def bump(s, n):
    n += 1
    s.n = n
    s.k = n if s.ok else None
    s.ok = True
"""
CASES["declared_widen"] = """
x: Int(0, 1) = 1
x = x + 1
s.k = x if s.ok else None
s.ok = True
"""
CASES["none_arg"] = """
put(s, None)
put(s, p)
---
def put(s, v):
    s.job[0].page = v
"""
CASES["set_alias_live"] = """
h = s.held
s.held.add(p)
s.ok = p in h
"""
CASES["set_local_copy"] = """
h = {q for q in s.held}
s.held.add(p)
s.ok = p in h
"""
CASES["set_chosen_and_copied"] = """
h = set(s.held if s.ok else s.job[0].held)
s.held.add(p)
s.ok = p in h
k = set(s.held)
s.held.clear()
s.first = 1 if 0 in k else 0
"""
CASES["set_aug_local"] = """
h = {q for q in s.held}
h |= {p}
s.ok = p in s.held
s.held = h
"""
CASES["set_alias_aug"] = """
h = s.held
h |= {p}
"""
CASES["set_alias_store_over"] = """
h = s.held
s.held = {p}
s.ok = 0 in h
"""
CASES["set_algebra_with_conditional"] = """
s.held = s.held - {p} if p in s.held else s.held | {p}
"""
CASES["chained_comparison"] = """
s.ok = 0 < s.n <= 2
s.n = (s.n + 1) % 4
"""
CASES["division_of_negatives"] = """
s.n = (s.n - 2) % 3
s.k = -1 // 2 + 1
"""
CASES["copy_array"] = """
s.job[1] = s.job[0]
s.job[0].left = 1
s.job[0].held.add(p)
"""
CASES["copy_self_index"] = """
s.first = p
j = s.job[r]
j.left = min(3, j.left + 1)
s.job[0] = j
"""
CASES["frozen_index"] = """
s.first = 0
x = s.first
j = s.owner
j[x] = r
x = 1
j[x] = r
"""
CASES["match_with_guards"] = """
match s.phase[r]:
    case Phase.NEW if s.ok:
        s.phase[r] = Phase.DONE
    case Phase.NEW:
        s.ok = True
    case _:
        s.ok = False
        s.phase[r] = Phase.NEW
"""
CASES["match_number"] = """
match s.n:
    case 0 | 1:
        s.n += 1
    case 2:
        s.n = 3
    case _:
        s.n = 0
"""
CASES["match_none"] = """
match s.owner[p]:
    case None:
        s.owner[p] = r
    case 0:
        s.owner[p] = None
    case _:
        s.owner[p] = 0
"""
CASES["match_bool"] = """
match s.ok:
    case True:
        s.ok = False
    case False:
        s.ok = True
"""
CASES["for_set"] = """
for q in s.held:
    s.held.discard(q)
s.held.add(p)
"""
CASES["for_set_grow"] = """
for q in s.held:
    s.held.add(2)
    s.n = min(3, s.n + 1)
if not s.held:
    s.held.add(p)
"""
CASES["for_set_shrink"] = """
for q in s.held:
    s.held.discard(2)
    s.n = (s.n + 1) % 4
s.held.add(p)
"""
CASES["int_of_boolean"] = """
s.ok = not s.ok
s.k = int(s.ok)
"""
CASES["optional_number"] = """
s.k = None if s.k == 3 else (0 if s.k is None else s.k + 1)
"""
CASES["optional_number_compared"] = """
s.ok = s.k == 7 or s.k == 1
s.k = 1
"""
CASES["min_with_default"] = """
s.n = min((int(q) for q in s.held), default=3)
s.held.add(p)
"""
CASES["max_of_nothing_is_a_fault"] = """
s.n = max(int(q) for q in s.held)
s.held.add(p)
"""
CASES["next_with_default"] = """
s.first = next((q for q in Page if q not in s.held), 0)
s.held.add(p)
"""
CASES["tuple_membership"] = """
s.ok = s.owner[p] in (None, r)
s.owner[p] = r
"""
CASES["range_loop"] = """
for k in range(3, 0, -1):
    if s.n < k:
        s.n = k
"""
CASES["range_membership"] = """
s.ok = s.n in range(1, 3)
s.n = (s.n + 1) % 4
"""
CASES["range_membership_with_step"] = """
s.ok = s.n in range(1, 4, 2)
s.n = (s.n + 1) % 4
"""
CASES["assert_in_action"] = """
assert s.n < 2, 'small'
s.n += 1
"""
CASES["return_none_action"] = """
if s.ok:
    return
s.ok = True
"""
CASES["bool_eq"] = """
s.ok = s.ok == (s.n == 0)
s.n = (s.n + 1) % 4
"""
CASES["sum_counts_truth_values"] = """
s.n = sum(s.owner[q] is not None for q in Page)
s.owner[p] = r
"""
CASES["len_of_list_comprehension"] = """
s.n = len([q for q in Page if s.owner[q] == r])
s.owner[p] = r
"""
CASES["len_of_what_may_fault"] = """
s.n = len([3 // s.n for q in s.held])
s.held.add(p)
"""
CASES["subset"] = """
s.ok = s.held <= {0, p}
s.held.add(p)
"""
CASES["proper_subsets"] = """
s.ok = s.held < {0, p} or s.held >= {p} and not s.held > {1}
s.held.add(p)
"""
CASES["order_of_a_sort"] = """
s.ok = p < s.first
s.first = p
"""
CASES["nested_comprehension"] = """
s.held = {q for q in Page for t in Req if s.owner[q] == t}
s.owner[p] = r
"""
CASES["union_of_sets"] = """
s.held = {q for t in Req for q in s.job[t].held}
s.job[r].held.add(p)
"""
CASES["all_empty"] = """
s.ok = all(q == p for q in s.held)
s.held.add(p)
"""
CASES["helper_with_early_return"] = """
a(s, p)
s.ok = b(s, p)
---
def b(s, q):
    return q in s.held
def a(s, q):
    if b(s, q):
        s.held.discard(q)
        return
    s.held.add(q)
"""
CASES["constant_index"] = """
s.owner[0] = 1
s.owner[p] = r
"""
CASES["alias_param_index"] = """
j = s.job[s.owner[0]]
j.left = 1
s.owner[0] = r
"""
CASES["not_set"] = """
s.ok = not s.held
s.held.add(p)
"""
CASES["negation"] = """
s.n = -s.n + 3
"""
CASES["swap_by_local"] = """
x = s.owner[0]
s.owner[0] = s.owner[1]
s.owner[1] = x
s.owner[p] = r
"""
CASES["param_reassigned_helper"] = """
f(s, p)
---
def f(s, q):
    q = 0
    s.first = q
"""
CASES["param_reassigned_helper2"] = """
f(s, s.first)
s.first = p
---
def f(s, q):
    q = 1
    s.held.add(q)
"""
CASES["param_reassigned_helper3"] = """
s.ok = f(s, p)
---
def f(s, q):
    q = 1
    return q == s.first
"""
CASES["is_enum"] = """
s.ok = s.phase[r] is Phase.NEW
s.phase[r] = Phase.DONE
"""
CASES["is_enum_left"] = """
s.ok = Phase.NEW is s.phase[r]
s.phase[r] = Phase.DONE
"""
CASES["neq_opt"] = """
s.ok = s.owner[0] != s.owner[1]
s.owner[p] = r
"""
CASES["opt_vs_sort"] = """
s.ok = r != s.owner[p]
s.owner[p] = r
"""
CASES["locals_in_loop"] = """
for q in Page:
    t = s.owner[q]
    if t is None:
        t = r
    s.owner[q] = t
"""
CASES["local_carried"] = """
t = 0
for q in Page:
    if s.owner[q] is None:
        t += 1
s.n = t
s.owner[p] = r
"""
CASES["taken_flag"] = """
done = False
for q in Page:
    if not done and s.owner[q] is None:
        s.owner[q] = r
        done = True
"""
CASES["set_elem_int"] = """
s.held = {p, 0}
"""
CASES["empty_set"] = """
s.held = set()
s.held |= {p}
"""
CASES["frozenset_of_generator"] = """
s.held = frozenset(q for q in Page if q != p)
"""
CASES["inline_twice_rebind"] = """
j = s.job[r]
set_left(j, 2)
j.left -= 1
---
def set_left(j, n):
    j.left = n
"""
CASES["result_in_place"] = """
s.n = count(s)
s.owner[p] = r
---
def count(s):
    t = 0
    for q in Page:
        if s.owner[q] is not None:
            t += 1
    return t
"""
CASES["result_index"] = """
s.owner[pick(s)] = r
---
def pick(s):
    return next((q for q in Page if s.owner[q] is None), 0)
"""
CASES["nested_pure_lets"] = """
s.ok = any(f(s, q) > 1 for q in Page)
s.owner[p] = r
---
def f(s, q):
    x = sum(s.owner[t] == s.owner[q] for t in Page)
    y = x
    return y
"""
CASES["pure_if"] = """
s.n = f(s, p)
s.owner[p] = r
---
def f(s, q):
    x = 0
    if s.owner[q] is None:
        return 3
    elif s.owner[q] == 0:
        x = 1
    else:
        x = 2
    return x
"""
CASES["pure_match"] = """
s.n = 1 + f(s, r)
s.phase[r] = Phase.DONE
---
def f(s, r):
    match s.phase[r]:
        case Phase.NEW:
            return 0
        case _:
            return 1
"""
CASES["division_by_zero_is_a_fault"] = """
s.n = 3 // s.n
"""
CASES["number_as_index"] = """
s.owner[s.n] = r
s.n = (s.n + 1) % 4
"""
CASES["negative_index_is_a_fault"] = """
s.owner[s.n - 1] = r
s.n = (s.n + 1) % 4
"""
CASES["eq_const_sort"] = """
s.ok = p == 1 or 2 == p
"""
CASES["opt_idx"] = """
s.job[s.owner[p]].left = 1
"""
CASES["opt_unwrap_cmp"] = """
require(s.owner[p] is not None)
x = s.owner[p]
s.phase[x] = Phase.DONE
"""


@pytest.mark.parametrize("name", CASES)
def test_both_readings_agree(name: str, tmp_path: Path) -> None:
    body, _, helpers = CASES[name].strip("\n").partition("\n---\n")
    text = STATE + helpers + "\n" + HEAD + "\n".join("    " + line for line in body.splitlines())

    assert agree(tmp_path, text) >= 1
