"""Random damage to the shipped models: statements lost, doubled, replaced; expressions exchanged."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

from kvproto import shipped

ENDING = """
model = Model("sglang", "all in one file", state=State, parts=[__name__], params=Config,
              scopes=[Scope("tiny", "for tests", Req=2, Slot=1, PPage=1, DPage=1)])
"""

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
""".strip().splitlines()


def kv_transfer() -> str:
    """The benchmark model as it is."""
    return (shipped.ROOT / "models" / "kv_transfer.py").read_text(encoding="utf-8")


def sglang() -> str:
    """The modules of the SGLang model as one file."""
    folder = shipped.ROOT / "models" / "sglang"
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
