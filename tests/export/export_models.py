"""Small models, each around something that another tool might take differently."""

from __future__ import annotations

HEAD = """\
from enum import Enum, auto

from kvproto.lang import (
    Array, Bag, Bool, Int, Machine, Model, Opt, Params, Queue, Record, Set, Sort,
    action, flag, init, invariant, number, require, sometimes, subsets,
)

A = Sort("A", size=3)
B = Sort("B", size=2)
m = Machine("m", "the only machine")


class Color(Enum):
    RED = auto()
    GREEN = auto()
    BLUE = auto()


class Msg(Record):
    kind: Color
    to: B


class Cell(Record):
    owner: Opt(A)
    held: Set(B)
    flag: Bool
    rows: Array(B, Int(-1, 1))


"""

MODELS = {
    "a guard after an effect": """
class State(Record):
    n: Int(0, 3)
    who: Array(A, Opt(B))

@action(m)
def take(s, a: A, b: B):
    s.who[a] = b
    require(all(s.who[x] != b for x in A if x != a))
    s.n = 3 - s.n

@action(m)
def give(s, a: A):
    require(s.who[a] is not None)
    for x in A:
        if x == a:
            s.who[x] = None
        require(s.n != 1 or s.who[x] is None)
    s.n = 1
""",
    "a guard inside a loop and a branch": """
class State(Record):
    n: Int(0, 4)
    who: Array(A, Opt(B))

@action(m)
def take(s, a: A, b: B):
    least = s.n
    for x in A:
        if s.who[x] == b:
            require(x != a)
            least = 0
        elif x == a:
            require(s.n < 4)
    require(least < 3)
    s.who[a] = b
    s.n = least + 1

@action(m)
def give(s, a: A):
    require(s.who[a] is not None)
    s.who[a] = None
    if s.n > 2:
        s.n = 0
""",
    "tables and elements of numbers": """
COST = (2, 0)
STEPS = ((1, 2), (2, 0), (3, 1), (0, 0))

class State(Record):
    n: Int(0, 2 * B - 1)
    who: B
    seen: Set(B)

@action(m)
def step(s, b: B):
    require(COST[b] <= s.n or s.who == b)
    s.n = STEPS[s.n][int(b)]
    s.who = B(s.n % 2)

@action(m)
def see(s):
    s.seen.add(B(1 - COST[s.who] // 2))
    s.n = COST[s.n // 2]
""",
    "assertions that fail are no steps": """
class State(Record):
    n: Int(0, 5)
    seen: Set(A)

@action(m)
def up(s, a: A):
    require(s.n < 5)
    assert a not in s.seen or s.n < 3, "nothing is seen late"
    s.seen.add(a)
    s.n += 1
    assert len(s.seen) < 3, "not all are seen"

@action(m)
def down(s):
    require(s.n > 0)
    s.n -= 1
""",
    "numbers below zero": """
class State(Record):
    x: Int(-3, 4)
    y: Opt(Int(-2, 1))
    z: Set(Int(-1, 2))
    w: Array(Int(-1, 1), Int(-2, 2))

@action(m)
def step(s, d: Int(-2, 2)):
    require(-3 <= s.x + d <= 4)
    s.x = s.x + d
    s.y = s.x // 2 if -4 <= s.x < 4 and s.x // 2 >= -2 else None
    if s.y is not None and s.y % -2 == -1:
        s.z |= {-s.x % 3 - 1}
    elif -1 <= s.x <= 2:
        s.z.discard(s.x)

@action(m)
def move(s, k: Int(-1, 1)):
    require(s.y is not None and k != 0 and s.w[k] < 2)
    s.w[k] = max(s.w[k] + 1, min(s.y, 1))
""",
    "an array indexed with itself": """
class State(Record):
    next: Array(A, A)
    row: Array(B, Array(A, Opt(A)))
    at: A

@action(m)
def point(s, a: A, b: A):
    s.next[a] = b

@action(m)
def follow(s):
    s.at = s.next[s.next[s.at]]
    s.next[s.next[s.at]] = s.at

@action(m)
def note(s, b: B):
    require(s.row[b][s.next[s.at]] is None)
    s.row[b][s.next[s.at]] = s.next[0]
    if s.row[0][0] is not None:
        s.row[0][s.row[0][0]] = s.at
""",
    "records, rows and copies": """
class State(Record):
    cell: Array(A, Cell)
    spare: Cell

@action(m)
def own(s, a: A):
    require(s.cell[a].owner is None)
    s.cell[a].owner = a
    s.cell[a].held = {b for b in B if not s.spare.flag}

@action(m)
def keep(s, a: A):
    require(s.cell[a].owner == a)
    s.spare = s.cell[a]
    s.spare.flag = len(s.spare.held) == 1
    s.cell[a].owner = None

@action(m)
def turn(s, b: B):
    require(s.spare.rows[b] < 1 and s.spare.owner is not None)
    s.spare.rows[b] += 1
    s.cell[s.spare.owner].held.discard(b)
""",
    "message sets, bags and queues": """
class State(Record):
    sent: Set(Msg)
    copies: Bag(Msg, 2)
    line: Queue(Msg, 2)
    last: Opt(B)

@action(m)
def send(s, x: Msg):
    require(x not in s.sent and len(s.line) < 2 and x.kind != Color.BLUE)
    s.sent.add(x)
    s.line.append(x)

@action(m)
def copy(s):
    require(len(s.line) > 0)
    x = s.line.pop(0)
    require(s.copies.count(x) < 2)
    s.copies.add(x)
    s.last = x.to

@action(m)
def reply(s):
    require(len(s.copies) == 2 and any(x.kind == Color.GREEN for x in s.copies))
    s.copies.discard(Msg(kind=Color.GREEN, to=0))
    s.sent = {x for x in s.sent if x.to != s.last}
""",
    "a set of more than one word": """
class State(Record):
    seen: Set(Int(0, 39))
    n: Int(0, 39)

@action(m)
def step(s, d: Int(1, 2)):
    require(s.n + 13 * d < 40 and len(s.seen) < 7)
    s.n += 13 * d
    s.seen.add(s.n)
    s.seen |= {x for x in range(40) if x % 5 == 0 and x not in s.seen and x + 33 == s.n}

@action(m)
def back(s, k: Int(29, 34)):
    require(s.n >= k and s.n - k not in s.seen)
    s.n = s.n - k
    s.seen = s.seen - {30, 31, 32} if s.n in s.seen else {k, s.n}
""",
    "parameters that are sets and optionals": """
class State(Record):
    held: Array(B, Set(A))
    last: Opt(B)

@action(m)
def take(s, b: B, some: Set(A), why: Opt(B)):
    require(some and not any(some & s.held[x] for x in B) and why != s.last)
    s.held[b] |= some
    s.last = why

@action(m)
def drop(s, b: B):
    require(any(w <= s.held[b] and len(w) == 2 for w in subsets(A)))
    s.held[b].clear()
""",
    "initial states with guards": """
class State(Record):
    x: Int(0, 4)
    y: Array(B, Color)

@init
def anywhere(s, x: Int(0, 4), c: Color):
    require(x != 1)
    s.x = x
    s.y[0] = c
    require(x > 2 or c != Color.RED)

@init
def twin(s, b: B):
    s.y[b] = Color.BLUE

@action(m)
def step(s, b: B):
    require(s.x < 4)
    s.x += 1
    s.y[b] = Color.GREEN if s.y[b] == Color.RED else Color.RED
""",
    "many initial states": """
class State(Record):
    on: Set(Int(0, 8))
    n: Int(0, 2)

@init
def anywhere(s, on: Set(Int(0, 8)), n: Int(0, 1)):
    require(len(on) < 6)
    s.on = on
    s.n = n

@action(m)
def step(s):
    require(s.n < 2)
    s.on = {k for k in range(9) if (k in s.on) != (k - 1 in s.on)}
    s.n += 1
""",
    "a constraint": """
class State(Record):
    x: Int(0, 9)
    y: Int(0, 9)

def within(s):
    return s.x + s.y <= 4

@init
def anywhere(s, x: Int(0, 9)):
    s.x = x

@action(m)
def right(s):
    require(s.x < 9)
    s.x += 1

@action(m)
def swap(s):
    s.y += 1
    require(s.y < 9)
    k = s.x
    s.x = s.y
    s.y = k
""",
    "words that mean something elsewhere": """
class State(Record):
    index: Int(0, 2)
    vars: Array(A, Bool)
    chan: Opt(A)
    UNION: Bool

@action(m)
def release(s, do: A, IN: Bool):
    '''Nothing (* special *) about {do} /* and {IN} */.'''
    printf = 0
    for len_ in A:
        if s.vars[len_]:
            printf += 1
    require(printf < 3)
    s.vars[do] = IN
    s.index = printf

@action(m)
def select(s, never: A):
    require(not s.vars[never])
    s.chan = never
    s.UNION = not s.UNION

@action(m)
def Next(s):
    require(s.chan is not None)
    s.vars[s.chan] = s.UNION
    s.chan = None
""",
    "values found by search": """
class State(Record):
    who: Array(A, Opt(B))
    c: Color
    n: Int(0, 6)

@action(m)
def take(s, b: B):
    free = next((a for a in A if s.who[a] is None), None)
    require(free is not None)
    s.who[free] = b
    s.n = sum(int(a) + 1 for a in A if s.who[a] == b)

@action(m)
def paint(s):
    s.c = next((c for c in Color if c != s.c and (s.n > 2 or c != Color.BLUE)), Color.RED)

@action(m)
def drop(s):
    worst = max((int(a) for a in A if s.who[a] is not None), default=-1)
    require(worst > min(s.n, 1) - 1)
    for a in A:
        if int(a) == worst:
            s.who[a] = None
    s.n = min(worst + s.n, 6)
""",
}
"""Title -> state and actions."""

ENDS = {"a constraint": ", constraint=within"}


def text_of(title: str, claims: str = "", more: str = "") -> str:
    """The whole text of a model."""
    end = f'model = Model("small", "", state=State, parts=[__name__]{ENDS.get(title, "")}{more})'
    return f"{HEAD}{MODELS[title].strip()}\n\n{claims}\n\n{end}\n"

STUCK = '''
from kvproto.lang import *

m = Machine("m", "")

class State(Record):
    n: Int(0, 3)
    low: Bool

@action(m)
def up(s):
    require(s.n < 3)
    s.n += 1
    require(s.n != 2 or not s.low)

@action(m)
def mark(s):
    require(s.n == 0 and not s.low)
    s.low = True

@action(m)
def check(s):
    require(s.n == 1)
    assert not s.low, "it is not low"
    s.n = 0

def over(s):
    return s.n == 3
'''
"""In the state n = 1, low only `check` could happen, and fails."""

FAILING = '''
from kvproto.lang import *

A = Sort("A", labels="XY", size=2)
m = Machine("m", "")

class State(Record):
    n: Int(0, 5)
    up: Array(A, Int(0, 2))

@action(m)
def go(s):
    require(s.n == 0)
    s.n = 1

@action(m)
def raise_(s, a: A):
    require(s.n == 1 and s.up[a] < 2)
    s.up[a] += 1

@action(m)
def judge(s, a: A):
    require(s.n == 1)
    {body}
'''
"""Once both numbers are 2 only `judge` is left, and what it does there is the question."""

JUDGEMENTS = {
    "fails": 'assert s.up[a] < 2, "low"\n    require(False)',
    "is not enabled": 'require(False)\n    assert s.up[a] < 2, "low"',
    "fails behind an effect": 's.up[a] = 0\n    assert s.up[a] > 0, "low"\n    require(False)',
    "is not enabled behind an assertion": 'assert s.up[a] < 3, "low"\n    require(s.up[a] < 2)',
    "fails in a branch": 'if a == 0:\n        assert s.up[a] < 2, "low"\n    require(False)',
    "fails in a loop": 'for x in A:\n        assert x == a or s.up[x] < 2, "low"\n    require(False)',
    "is not enabled in a loop": 'for x in A:\n        require(x != x)\n        assert s.up[x] < 2, "low"',
    "is not enabled in the first turn": 'for x in A:\n        require(x != 0)\n        assert s.up[a] < 2, "low"',
    "fails in the last turn": (
        'k = 0\n    for x in A:\n        assert k < 1, "low"\n        k += s.up[x]\n    require(False)'
    ),
    "fails behind a branch": (
        "k = 0\n    if a == 0:\n        assert k == 0, 'no'\n        k = s.up[a]\n    "
        "assert k < 2, 'low'\n    require(False)"
    ),
    "fails in the second assertion": 'assert s.up[a] < 3, "high"\n    assert s.up[a] < 2, "low"\n    require(False)',
    "goes on": 'assert s.up[a] < 3, "low"\n    s.up[a] = 0',
    "changes nothing": 'assert s.up[a] < 3, "low"',
}
"""Bodies of `judge`."""
