"""Where the actions of a trace are written, if the model is at hand: lines of its text, and what it cites.

The model at hand may be another than the trace was made with.  An excerpt is taken only if the action still begins at
the very line that the trace gives.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.lang.cites import VERSION, Cite, parse, version
from kvproto.lang.load import every_model, find
from kvproto.lang.model import ActionMark, Model
from kvproto.report.report import Excerpt, Link
from kvproto.trace.trace import Trace

AROUND = 3
"""Lines before and after an action's own."""

LONGEST = 24
"""Lines of an excerpt at most."""

_FILES = "https://github.com/sgl-project/sglang/blob/v{release}/python/sglang/{path}"
_PULLS = "https://github.com/sgl-project/sglang/pull/{number}"


def model_of(trace: Trace) -> Model | None:
    """The shipped model that a trace is of; None for everybody else's, which are not imported unasked."""
    if trace.model not in every_model():
        return None
    try:
        return find(trace.model).model
    except KvError:
        return None


def excerpts(trace: Trace, model: Model) -> dict[str, Excerpt]:
    """The text of every action that occurs, as far as it is where the trace says."""
    locs = {step.action: step.loc for step in trace.steps}
    found = {}
    for fn, _ in model.marked(ActionMark):
        if fn.__name__ in locs:
            excerpt = _excerpt(fn, locs[fn.__name__])
            if excerpt is not None:
                found[fn.__name__] = excerpt
    return found


def _excerpt(fn: Callable[..., Any], loc: str) -> Excerpt | None:
    file, _, number = loc.rpartition(":")
    source = inspect.getsourcefile(fn)
    if source is None or not number.isdecimal() or not number.isascii() or len(number) > 9:
        return None
    text = Path(source).read_text(encoding="utf-8")
    lines, at = text.splitlines(), int(number)
    node = next((n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.lineno == at), None)
    if node is None or node.name != fn.__name__ or Path(source).name != Path(file).name:
        return None
    first = max((node.decorator_list[0].lineno if node.decorator_list else at), at - AROUND)
    last = min(node.end_lineno or at, first + LONGEST - 1)
    guards = tuple(line for line in _guards(node) if line <= last)
    return Excerpt(file, first, at, tuple(lines[first - 1 : last]), guards)


def _guards(node: ast.FunctionDef) -> Iterator[int]:
    """Lines of `require(...)`."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "require":
            yield from range(part.lineno, (part.end_lineno or part.lineno) + 1)


def cites(trace: Trace, model: Model) -> dict[str, tuple[Link, ...]]:
    """What every action that occurs cites; of a release only what is said of that release."""
    release = version(trace.preset) if VERSION.fullmatch(trace.preset) else None
    occur = {step.action for step in trace.steps}
    found = {}
    for fn, mark in model.marked(ActionMark):
        parsed = [parse(text) for text in mark.cites] if fn.__name__ in occur else []
        links = tuple(_link(cite, trace.preset) for cite in parsed if release is None or cite.releases.cover(release))
        if links:
            found[fn.__name__] = links
    return found


def _link(cite: Cite, preset: str) -> Link:
    url = ""
    if cite.kind == "pull":
        url = _PULLS.format(number=cite.name)
    elif cite.kind in ("code", "option") and cite.path:
        releases = cite.releases
        named = ".".join(map(str, releases.first or releases.last or ()))
        release = preset if VERSION.fullmatch(preset) else named
        # Without a release nobody knows which text is meant.
        url = _FILES.format(release=release, path=cite.path) if release else ""
    return Link(cite.text, url)
