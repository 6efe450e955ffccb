"""Results as CI systems are told of them, from real searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvproto.cli.outputs import Told, again
from kvproto.cli.traces import TraceFolder, variant
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.formats.judged import Judged
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.view.verdicts import Row, exit_code

HOSTILE = "a]]>&<b>\"'`|$x$\n# one%0A::error::\x1b[2J\u202e\ud800\ufffe, c:d"
"""What no format may take for its own syntax."""

MODEL = '''
from kvproto.lang import *

Req = Sort("Req", labels="AB", size=2, doc="requests")
m = Machine("prefill", "one side")
w = Machine("decode", "the other side")


class State(Record):
    n: Int(0, 9)
    taken: Array(Req, Bool)


@init
def start(s):
    s.n = 0


@action(m)
def give(s, r: Req):
    """Request {r} is given."""
    require(s.n < LIMIT)
    require(not s.taken[r])
    s.taken[r] = True
    s.n += 1


@action(w)
def take(s, r: Req):
    """Request {r} is taken."""
    require(s.taken[r])
    s.taken[r] = False
    s.n += 1


@invariant(CLAIM)
def few(s):
    """Few are enough.

    More would be too many.
    """
    return s.n < 3


model = Model("mine", "a small model", state=State, parts=[__name__])
'''


def judged(target: str, folder: Path, scope: str | None = None, **options: Any) -> Judged:
    """The result for a target, with traces in a folder."""
    found = find(target)
    chosen = choose(found.model, preset=found.preset, scope=scope, sets={})
    system = build(found.model, chosen)
    result = search(system, Options(**options))
    traces = TraceFolder(folder, system, variant(found, chosen))
    traces.keep(result)
    row = Row(target, result, traces.written)
    return Told([row], exit_code(result), [(target, again(target, {}, scope))]).judged()[0]


def model_file(folder: Path, claim: str = "few things happen", limit: int = 4) -> Path:
    """A model that violates its only property, unless the limit is below three."""
    path = folder / "model.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MODEL.replace("CLAIM", ascii(claim)).replace("LIMIT", str(limit)), encoding="utf-8")
    return path
