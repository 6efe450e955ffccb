"""The shapes of facts, on small sources: what they are true of, and what is said where they are not."""

from __future__ import annotations

import ast

import pytest
from cites_names import names
from cites_patterns import matches, pattern
from cites_shapes import difference, wrong
from kvproto.shipped.models.sglang.facts.shapes import (
    Absent,
    Before,
    Contains,
    Default,
    Fact,
    Guards,
    Lacks,
    Returns,
    Shape,
    Unguarded,
    Value,
)

SOURCE = """
LIMIT = EnvInt(300)


class Envs:
    DEFERRED: bool = EnvBool(True)


def finished(self):
    return self.reason is not None


def release(req, tree, is_insert=True, *, checkpoint=False):
    if is_insert:
        tree.insert(req, up_to=3)
        return
    tree.free(req)


def worker(self, chunk):
    self.outstanding[chunk.room] += 1
    if chunk.room not in self.status or self.check(chunk.room) == KVPoll.Failed:
        self.outstanding.pop(chunk.room, None)
        self.ack(chunk.room)
        return None
    if self.enabled:
        self.send(chunk, timeout=30, retries=2)
    elif chunk.last:
        self.finish(chunk)
    else:
        self.wait()
    self.outstanding[chunk.room] -= 1
    return chunk
"""

TRUE = [
    ("LIMIT", Value("EnvInt(300)")),
    ("Envs.DEFERRED", Value("EnvBool(True)")),
    ("Envs.DEFERRED", Value("EnvBool(_)")),
    ("finished", Returns("self.reason is not None")),
    ("release", Default("is_insert", "True")),
    ("release", Default("checkpoint", "False")),
    ("release", Contains("tree.insert(req, ...)")),
    ("worker", Contains("self.outstanding[_] += 1")),
    ("worker", Contains("self.send(..., retries=2)")),
    ("worker", Contains("self.send(chunk, retries=2, timeout=30)")),
    ("worker", Contains("return None")),
    ("worker", Contains("_.room")),
    ("worker", Lacks(("self.poison(...)", "self.outstanding[_] = _", "send(...)"))),
    ("worker", Before("self.outstanding[_] += 1", "self.check(_) == KVPoll.Failed")),
    ("worker", Guards("self.check(_) == KVPoll.Failed", "self.ack(chunk.room)")),
    ("worker", Guards("chunk.room not in self.status", "return None")),
    ("worker", Guards("chunk.last", "self.finish(chunk)")),
    ("worker", Unguarded("self.enabled", "self.wait()")),
    ("worker", Unguarded("self.enabled", "self.ack(...)")),
]

UNTRUE = [
    ("LIMIT", Value("EnvInt(600)"), "the value is EnvInt(300), not EnvInt(600)"),
    ("finished", Value("1"), "it has no value"),
    ("finished", Returns("self.to_finish"), "line 10 returns  self.reason is not None,  not  self.to_finish"),
    ("release", Returns("None"), "line 16 returns  nothing,  not  None"),
    ("LIMIT", Returns("None"), "nothing is returned"),
    ("release", Default("is_insert", "False"), "the default of is_insert is True, not False"),
    ("release", Default("tree", "None"), "there is no parameter tree with a default"),
    ("LIMIT", Default("tree", "None"), "it is no function"),
    ("worker", Contains("self.outstanding[_] += 2"), "nearest: line 21: self.outstanding[chunk.room] += 1"),
    ("worker", Contains("self.send(chunk)"), "nearest: line"),
    ("worker", Contains("self.send(chunk, retries=2)"), "there is no"),
    ("worker", Contains("self.send(..., retries=3)"), "there is no"),
    ("worker", Contains("self.send(..., other=3)"), "there is no"),
    ("worker", Contains("self.send(_, _, ...)"), "there is no"),
    ("worker", Contains("something.entirely.different()"), "nothing like it"),
    ("worker", Lacks(("self.poison(...)", "self.ack(...)")), "line 24 has  self.ack(...)"),
    ("worker", Before("self.check(...)", "self.outstanding[_] += 1"), "(line 22) comes after"),
    ("worker", Before("self.poison()", "self.check(...)"), "there is no  self.poison()"),
    ("worker", Before("self.check(...)", "self.poison()"), "there is no  self.poison()"),
    ("worker", Guards("self.check(_) != KVPoll.Failed", "return None"), "no `if` asks"),
    ("worker", Guards("self.check(_) == KVPoll.Failed", "self.wait()"), "(line 22) does not lead to  self.wait()"),
    ("worker", Guards("self.enabled", "self.finish(chunk)"), "(line 26) does not lead to"),
    ("worker", Guards("self.enabled", "self.wait()"), "(line 26) does not lead to"),
    ("worker", Unguarded("self.enabled", "self.send(...)"), "(line 26) leads to  self.send(...)"),
    ("worker", Unguarded("self.enabled", "self.poison()"), "there is no  self.poison()"),
]


@pytest.mark.parametrize(("name", "shape"), TRUE, ids=str)
def test_true(name: str, shape: Shape) -> None:
    assert "" == wrong(shape, names(ast.parse(SOURCE))[name])


@pytest.mark.parametrize(("name", "shape", "said"), UNTRUE, ids=str)
def test_untrue(name: str, shape: Shape, said: str) -> None:
    assert said in wrong(shape, names(ast.parse(SOURCE))[name])


@pytest.mark.parametrize("shape", {type(shape): shape for _, shape in TRUE})
def test_every_shape_is_tried_both_ways(shape: type) -> None:
    assert any(isinstance(untrue, shape) for _, untrue, _ in UNTRUE)


@pytest.mark.parametrize(
    ("wanted", "text", "expected"),
    [
        ("f(_)", "f(1)", True),
        ("f(_)", "f(1, 2)", False),
        ("f(_)", "f()", False),
        ("f()", "f()", True),
        ("f(...)", "f()", True),
        ("f(1, ...)", "f(1, 2, a=3)", True),
        ("f(1, ...)", "f(2, 1)", False),
        ("f(a=1)", "f(a=1)", True),
        ("f(a=1)", "f(b=1)", False),
        ("f(a=1)", "f(a=1, b=2)", False),
        ("f(..., a=1)", "f(b=2, a=1)", True),
        ("f(a=1)", "f(**a)", False),
        ("_.f()", "x.y.f()", True),
        ("_.f()", "f()", False),
        ("x.f()", "y.f()", False),
        ("x == 1", "x == 1", True),
        ("x == 1", "x != 1", False),
        ("x == 1", "x == True", False),
        ("x < 1", "x <= 1", False),
        ("x = 1", "x = 1", True),
        ("x = 1", "x += 1", False),
        ("x += 1", "x -= 1", False),
        ("'a'", "'b'", False),
        ("[1, _]", "[1, 2]", True),
        ("[1, _]", "[1]", False),
        ("return", "return None", False),
        ("not x", "x", False),
        ("a[:b]", "a[:b]", True),
        ("a[:b]", "a[b:]", False),
    ],
)
def test_patterns(wanted: str, text: str, expected: bool) -> None:
    statement = ast.parse(f"def g():\n  {text}").body[0].body[0]  # type: ignore[attr-defined]
    node = statement.value if isinstance(statement, ast.Expr) else statement

    assert expected == matches(pattern(wanted), node)


class Release:
    """A wheel of two small files."""

    release = "0.5.20"
    files = frozenset({"srt/a.py", "srt/b.py"})

    def text(self, path: str) -> str:
        return SOURCE if path == "srt/a.py" else "class A:\n    def run(self): ...\nclass B:\n    def run(self): ...\n"

    def tree(self, path: str) -> ast.Module:
        return ast.parse(self.text(path))


@pytest.mark.parametrize(
    ("where", "shape", "said"),
    [
        ("srt/a.py:finished", Returns("self.reason is not None"), ""),
        ("srt/a.py:finished", Returns("1"), "0.5.20 srt/a.py:finished: line 10 returns"),
        ("srt/a.py:DEFERRED", Value("EnvBool(True)"), ""),
        ("srt/a.py:finish", Returns("1"), "there is no finish in srt/a.py; alike: finished"),
        ("srt/c.py:finished", Returns("1"), "there is no file srt/c.py"),
        ("srt/a.py:finish", Absent(), ""),
        ("srt/c.py:finished", Absent(), ""),
        ("srt/a.py:finished", Absent(), "it is there, as finished"),
        ("srt/b.py:run", Contains("1"), "it may be A.run or B.run"),
        ("srt/b.py:A.run", Lacks(("1",)), ""),
        ("srt/a.py:--limit", Value("1"), "there is no option --limit"),
        ("srt/a.py:--deferred", Absent(), ""),
        ("0.5.21+ srt/a.py:finished", Returns("1"), "1 shapes and 0 places are recorded"),
    ],
)
def test_a_fact_of_a_release(where: str, shape: Shape, said: str) -> None:
    found = difference(Fact("x", "says", (where,), (("", shape),)), Release())  # type: ignore[arg-type]

    assert said in found if said else found == ""
