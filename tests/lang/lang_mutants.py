"""Random damage to models: statements lost, doubled, replaced; expressions exchanged."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

from kvproto import shipped

ENDING = """
model = Model("outline", "all in one file", state=State, parts=[__name__], params=Config,
              scopes=[Scope("tiny", "for tests", Req=2, Slot=1, PPage=1, DPage=1)])
"""

MESSAGES = """
from __future__ import annotations
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", size=2)
m = Machine("m")

class Kind(Enum):
    ASK = auto()
    SAY = auto()

class Msg(Record):
    kind: Kind
    to: Req
    n: Opt(Int(0, 1))

class Pair(Record):
    one: Msg
    other: Msg

class State(Record):
    n: Int(0, 3)
    last: Pair
    line: Queue(Msg, 2)
    back: Array(Req, Queue(Req, 2))
    net: Set(Msg)
    lost: Bag(Msg, 2)
    held: Set(Req)

def answer(s, x):
    return Msg(kind=Kind.SAY, to=x.to, n=x.n)

def put(s, x):
    if len(s.line) < 2:
        s.line.append(x)
        return
    s.net |= {x, answer(s, x)}

@init
def start(s, x: Msg, held: Set(Req)):
    s.held = held
    s.last = Pair(one=x, other=answer(s, x))

@action(m, fair="weak")
def send(s, r: Req):
    require(r in s.held or len(s.back[r]) > 0)
    x = Msg(kind=Kind.ASK, to=r)
    put(s, x)
    s.net |= {Msg(kind=Kind.SAY, to=q) for q in Req if q != r}
    s.last.other = x if s.n == 0 else s.last.one

@action(m)
def take(s, x: Msg):
    require(x in s.line)
    y = s.line.pop(0)
    if y == x and s.lost.count(y) < 2:
        s.lost.add(y)
    if len(s.back[y.to]) < 2:
        s.back[y.to].append(x.to)
    s.n = min(3, len(s.line) + len([q for q in subsets(Req) if q <= s.held]))

@action(m)
def clean(s, few: Set(Req)):
    require(few <= s.held)
    for y in s.net:
        if y.to in few:
            s.net.discard(y)
            s.last = Pair(one=s.last.other, other=y)
    for y in s.lost:
        s.lost.discard(y)
    for r in s.back[0]:
        s.held.add(r)
    s.back[1].clear()
    s.net = {y for y in s.net if y.kind == Kind.ASK} | s.net

@invariant("x")
def known(s):
    first = s.line[0] if len(s.line) > 0 else s.last.one
    return all(any(y == z for z in s.net) or y in s.line for y in s.lost) or first.kind == Kind.ASK

@sometimes("x")
def some(s):
    return s.last.one != s.last.other and next((y for y in s.net if y.to == 1), s.last.one).n is None

@leads_to("x")
def goes(s, x: Msg):
    return x in s.line, x in s.net

@eventually("x")
def held(s, few: Set(Req)):
    return any(q == few for q in subsets(s.held))

def within(s):
    return len(s.lost) < 4

model = Model("messages", "", state=State, parts=[__name__], constraint=within, fairness=[strong(take, per="x")])
"""
"""A model with everything that holds messages."""

STATEMENTS = r"""
while s.nothing: pass
break
continue
return
return None
return s
return 1
del s
global q
import os
raise ValueError
assert s
assert False, "no"
yield 1
x = y = 1
x, y = 1, 2
x: Bool = True
x: Opt(Req) = None
x = None
x = set()
x = s
x += 1
s.x = 1
s |= {1}
s
r
pass
...
"text"
require
require()
require(r)
require(not s)
lambda: 0
try: pass\nfinally: pass
with s: pass
def f(): return 1
class C: pass
for r in r: pass
for r in s: pass
for r, p in Req: pass
for k in range(3): x = k
for k in range(r): pass
for k in (1, 2): require(k)
for k in (): pass
for k in (s, None): pass
for k in {1, 2}: s = k
for k in Bool: pass
for s in Req: pass
match r:\n case 0: pass\n case _: pass
match s:\n case {}: pass
match r:\n case k: pass
match r:\n case 0 | None if s: pass
match r:\n case (1, 2): pass
match None:\n case None: return
if s: return
if r == 0: q = s\nelse: q = r
async def g(): pass
s.line.append(x)
s.line.append(Msg(to=r))
s.line.pop()
s.line.pop(1)
x = s.line.pop(0)
x = s.line[0]
x = s.last
x = s.last if s.n == 0 else Msg()
x.kind = Kind.SAY
s.line[0].kind = Kind.SAY
s.line[0] = s.line[0]
s.line = s.back[0]
s.last = Msg()
s.last = Pair(one=s.last.other, other=s.last.one)
s.last.one = s.line[s.n]
s.net |= {y for y in s.net}
s.net |= {Msg(n=k) for k in range(3)}
s.net &= {x}
s.net = set()
s.net = s.lost
s.lost.add(Msg(n=s.n))
s.lost.clear()
for y in s.line: s.line.append(y)
for y in s.line: x = y
for y in s.lost: put(s, y)
for y in subsets(Req): s.held = y
for y in subsets(s.held): s.held = y
for y in Msg: pass
s.held = subsets(Req)
x: Msg = None
x: Set(Msg) = set()
x: Queue(Req, 2) = s.back[0]
""".strip().splitlines()

EXPRESSIONS = """
None
True
0
-1
7
1.5
10 ** 30
"text"
b"x"
f"{r}"
()
(1, 2)
(None, r)
[]
[1]
{}
{1: 2}
set()
{r}
{r, None}
{1, True}
s
r
q
p
k
undefined
...
lambda x: x
(x for x in Req)
[x for x in Req]
{x for x in Req}
{x + 1 for x in range(3)}
{x: 1 for x in Req}
any(x for x in Req)
any(True for x in Req)
all(s)
sum(1 for x in Req)
sum(Req)
min(1, 2)
min(x for x in range(3))
min((x for x in range(3) if r == 0), default=None)
max()
next((x for x in Req), None)
next(x for x in Req)
next((x for x in Req if x != r), r)
next((s for x in Req), None)
len(Req)
len(s)
len([x for x in Req])
len({1, 2})
len({r + 1})
int(r)
int(None)
int(True)
int(s)
range(3)
range(0)
set(range(3))
frozenset(x for x in Req)
print(s)
require(True)
type(s)
s.nothing
r.real
Req.size
Req
Bool
Enum
Enum.name
cfg
cfg.nothing
s[0]
s[r]
r[0]
s()
r()
1 if s else 2
None if r == 0 else 1
r if r == 0 else None
not r
not s
-r
+1
~1
1 < 2 < 3
r < r
r is r
None is None
None == None
s == s
r in Req
r in (0, 1)
r in ()
1 in range(2)
r in {0, 1}
None in {0}
r in s
1 // 0
r % 2
1 and 2
(x := 1)
await s
(*r,)
__name__
print
sum
True + 1
{1} | {2}
{1} - {r}
{r} <= {r}
set() | set()
Msg()
Msg(kind=Kind.SAY)
Msg(to=r, n=s.n)
Msg(r)
Msg(q=1)
Msg(**s)
Msg().kind
Msg
Kind
s.line
s.line[0]
s.line[0].to
s.line[-1]
s.line[r]
s.line[s.n]
s.back
s.back[0]
s.last
s.last.one
s.net
s.lost
s.lost.count(s.last.one)
s.lost.count(r)
s.line.pop(0)
len(s.net)
len(s.line) - 1
s.net | {Msg()}
{Msg(), s.last.one}
{y for y in s.net}
{y.to for y in s.net}
{Msg(to=y) for y in Req}
next((y for y in s.line), Msg())
next((y for y in s.net), None)
s.last.one if r == 0 else Msg()
s.last == s.last
s.net <= s.net
s.back[0] == s.back[1]
s.last.one in s.line
r in s.back[0]
r in s.net
subsets(Req)
subsets(s.held)
subsets(s.net)
any(q for q in subsets(Req))
""".strip().splitlines()


def messages() -> str:
    """The model of messages as it is."""
    return MESSAGES


def kv_transfer() -> str:
    """The benchmark model as it is."""
    return (shipped.ROOT / "models" / "kv_transfer.py").read_text(encoding="utf-8")


def outline() -> str:
    """The modules of the outline as one file."""
    folder = shipped.ROOT / "models" / "outline"
    names = ("state", "router", "prefill", "network", "decode")
    trees = [ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")) for name in names]
    body = [ast.parse("from __future__ import annotations\nfrom kvproto.lang import *").body]
    for tree in trees:
        relative = [x for x in tree.body if isinstance(x, ast.ImportFrom) and (x.level or x.module == "__future__")]
        body.append([x for x in tree.body if x not in relative])
    return "\n".join(ast.unparse(x) for part in body for x in part) + ENDING


def mutant(text: str, seed: int) -> str:
    """The text with one to three random changes inside of its functions and classes."""
    rng = random.Random(seed)
    tree = ast.parse(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(CHANGES)(tree, rng)
    return ast.unparse(ast.fix_missing_locations(tree))


def _inside(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes of functions and classes."""
    for part in tree.body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield from ast.walk(part)


def _blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    fields = ((node, name) for node in _inside(tree) for name in ("body", "orelse"))
    return [block for node, name in fields if isinstance(block := getattr(node, name, None), list) and block]


def _slots(tree: ast.Module) -> list[tuple[ast.AST, str, int | None, ast.expr]]:
    """Places where an expression stands."""
    found: list[tuple[ast.AST, str, int | None, ast.expr]] = []
    for node in _inside(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                found.append((node, name, None, value))
            elif isinstance(value, list):
                found += [(node, name, at, item) for at, item in enumerate(value) if isinstance(item, ast.expr)]
    return found


def _put(slot: tuple[ast.AST, str, int | None, ast.expr], new: ast.expr) -> None:
    node, name, at, old = slot
    if hasattr(old, "ctx") and hasattr(new, "ctx"):
        new.ctx = old.ctx
    if at is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[at] = new


def _drop(tree: ast.Module, rng: random.Random) -> None:
    block = rng.choice(_blocks(tree))
    block[rng.randrange(len(block))] = ast.Pass()


def _double(tree: ast.Module, rng: random.Random) -> None:
    block = rng.choice(_blocks(tree))
    block.insert(rng.randrange(len(block) + 1), copy.deepcopy(rng.choice(rng.choice(_blocks(tree)))))


def _shuffle(tree: ast.Module, rng: random.Random) -> None:
    rng.shuffle(rng.choice(_blocks(tree)))


def _strange_statement(tree: ast.Module, rng: random.Random) -> None:
    block = rng.choice(_blocks(tree))
    new = _parsed(rng.choice(STATEMENTS).replace("\\n", "\n"))
    at = rng.randrange(len(block) + 1)
    block[at : at + rng.choice((0, 1))] = new


def _parsed(text: str) -> list[ast.stmt]:
    """Statements that are legal inside of a function only."""
    function = ast.parse("def f():\n for _ in ():\n" + "\n".join("  " + row for row in text.splitlines())).body[0]
    assert isinstance(function, ast.FunctionDef) and isinstance(function.body[0], ast.For)
    return function.body[0].body


def _strange_expression(tree: ast.Module, rng: random.Random) -> None:
    text = rng.choice(EXPRESSIONS)
    holder = _parsed(f"_ = ({text})")[0]
    assert isinstance(holder, ast.Assign)
    _put(rng.choice(_slots(tree)), holder.value)


def _exchange(tree: ast.Module, rng: random.Random) -> None:
    slots = _slots(tree)
    _put(rng.choice(slots), copy.deepcopy(rng.choice(slots)[3]))


def _rename(tree: ast.Module, rng: random.Random) -> None:
    names = [n for n in _inside(tree) if isinstance(n, ast.Name | ast.Attribute | ast.arg)]
    one, other = rng.choice(names), rng.choice(names)
    words = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg"}
    setattr(one, words[type(one)], getattr(other, words[type(other)]))


def _operator(tree: ast.Module, rng: random.Random) -> None:
    compare = [n for n in _inside(tree) if isinstance(n, ast.Compare)]
    ops = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    rng.choice(compare).ops[0] = rng.choice(ops)()


def _arguments(tree: ast.Module, rng: random.Random) -> None:
    call = rng.choice([n for n in _inside(tree) if isinstance(n, ast.Call)])
    new = copy.deepcopy(rng.choice(_slots(tree))[3])
    change = rng.randrange(4)
    if change == 0 and call.args:
        call.args.pop(rng.randrange(len(call.args)))
    elif change == 1:
        call.args.append(new)
    elif change == 2:
        call.keywords.append(ast.keyword(rng.choice(("default", "key", "r", "s", None)), new))
    elif call.args:
        call.args[0] = ast.Starred(call.args[0], ast.Load())


DECORATORS = ("action", "invariant", "init", "action(None)", "invariant('x')", "init()", "staticmethod")


def _decorator(tree: ast.Module, rng: random.Random) -> None:
    function = rng.choice([n for n in tree.body if isinstance(n, ast.FunctionDef)])
    if rng.random() < 0.5:
        function.decorator_list.clear()
    else:
        function.decorator_list = [ast.parse(rng.choice(DECORATORS), mode="eval").body]


CHANGES: list[Callable[[ast.Module, random.Random], None]] = [
    _drop,
    _double,
    _shuffle,
    _strange_statement,
    _strange_statement,
    _strange_statement,
    _strange_expression,
    _strange_expression,
    _strange_expression,
    _exchange,
    _exchange,
    _rename,
    _operator,
    _arguments,
    _decorator,
]
