"""What models mean as a whole: initial states, properties, parameters of a model; both readings agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from lang_native import agree

WHOLE: dict[str, tuple[str, int]] = {}
"""By feature: a model after the sorts, and how many states it reaches."""

WHOLE["several_inits_with_parameters"] = (
    """
class State(Record):
    n: Int(0, 3)
    first: Page

@init
def low(s, p: Page):
    s.first = p

@init
def high(s, n: Int(2, 3), p: Page):
    require(int(p) < n - 1)
    s.n = n
    s.first = p

@action(m)
def up(s):
    require(s.n < 3)
    s.n += 1
""",
    12,
)
WHOLE["init_that_depends_on_nothing"] = (
    """
class State(Record):
    held: Set(Page)

@init
def full(s):
    s.held = {p for p in Page}

@action(m)
def lose(s, p: Page):
    require(p in s.held)
    s.held.discard(p)
""",
    8,
)
WHOLE["zero_state_without_init"] = (
    """
class Phase(Enum):
    IDLE = auto()
    BUSY = auto()

class State(Record):
    phase: Phase
    n: Int(2, 4)
    owner: Opt(Req)
    held: Set(Req)
    ok: Bool

@action(m)
def go(s, r: Req):
    require(s.phase == Phase.IDLE and s.n == 2 and s.owner is None and not s.held and not s.ok)
    s.owner = r
""",
    3,
)
WHOLE["array_over_enumeration_and_numbers"] = (
    """
class Phase(Enum):
    IDLE = auto()
    BUSY = auto()

class State(Record):
    count: Array(Phase, Int(0, 1))
    at: Array(Int(1, 2), Bool)
    seen: Set(Phase)
    gone: Set(Int(-1, 1))

@action(m)
def go(s, phase: Phase, k: Int(1, 2), up: Bool):
    s.count[phase] = 1 if up else 0
    s.at[k] = not up
    s.at[k - 0] = up
    s.seen.add(phase)
    s.gone.add(k - 2)
    s.gone = {x for x in s.gone if x < 1 or phase in s.seen}
""",
    47,
)
WHOLE["records_in_records"] = (
    """
class Page2(Record):
    owner: Opt(Req)

class Pool(Record):
    pages: Array(Page, Page2)
    spare: Page2

class State(Record):
    left: Pool
    right: Pool

@action(m)
def take(s, r: Req, p: Page):
    require(s.left.pages[p].owner is None)
    s.left.pages[p].owner = r

@action(m)
def copy(s, p: Page):
    s.right.spare = s.left.pages[p]
    s.left.pages[0] = s.right.spare

@action(m)
def move(s):
    s.right.pages = s.left.pages
    s.left = s.right
""",
    581,
)
WHOLE["properties"] = (
    """
class State(Record):
    owner: Array(Page, Opt(Req))
    held: Set(Page)

def owned(s, r):
    pages = {p for p in Page if s.owner[p] == r}
    if not pages:
        return 0
    return len(pages)

@action(m)
def take(s, r: Req, p: Page):
    s.owner[p] = r
    s.held.add(p)

@invariant("some claim")
def some(s):
    most = max(owned(s, r) for r in Req)
    if most == 0:
        return not s.held
    return any(s.owner[p] is not None and owned(s, s.owner[p]) == most for p in s.held)

@invariant("fails in some states")
def at_most_one(s):
    return all(owned(s, r) <= 1 for r in Req) and 0 not in s.held

@invariant("goes wrong in some states")
def faulty(s):
    return min(int(p) for p in s.held) < 2
""",
    27,
)
WHOLE["parameters"] = (
    """
class Kind(Enum):
    SLOW = auto()
    FAST = auto()

class Config(Params):
    deferred: bool = flag(True, "a switch")
    limit: int = number(2, "a number", least=1, most=3)
    kind: Kind = choice(Kind.FAST, "a member")

cfg = Config()

class State(Record):
    n: Int(0, Config.limit)
    ok: Bool

@action(m)
def go(s):
    require(cfg.deferred and s.n < cfg.limit)
    s.n += 1
    for k in range(cfg.limit):
        if k == s.n and cfg.kind == Kind.FAST:
            s.ok = not s.ok
""",
    3,
)


@pytest.mark.parametrize("name", WHOLE)
def test_models_agree(name: str, tmp_path: Path) -> None:
    text, states = WHOLE[name]

    found = agree(tmp_path, text)

    assert found == states
