"""Clauses that somebody writes on the command line, in the words of the model: `r, p: s.owner[p] == r or ...`.

The text becomes the body of an invariant of the model, so it is read by the same front end and lowered like a claim.
"""

from __future__ import annotations

import ast
import copy
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from kvproto.diagnostics import KvError
from kvproto.lang.bind import Chosen, sorts_of
from kvproto.lang.model import ActionMark, Model
from kvproto.lang.properties import invariant
from kvproto.lang.sorts import Sort
from kvproto.prove.logic.theory import Clause
from kvproto.prove.lowering.system import lower

_MODULE = "kvproto_user_clauses"

_TYPED = re.compile(r"\s*((?:\w+\s*:\s*\w+\s*,\s*)*\w+\s*:\s*\w+)\s*:(?!=)(.*)", re.DOTALL)
_UNTYPED = re.compile(r"\s*((?:\w+\s*,\s*)*\w+)\s*:(?!=)(.*)", re.DOTALL)


def user_clauses(model: Model, chosen: Chosen, fixed: frozenset[str], texts: Sequence[str]) -> tuple[Clause, ...]:
    """The clauses as formulas, named as they are written.  Raises KvError KV167, or what the front end says."""
    if not texts:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        module = _module(model, texts, Path(folder) / "clause.py")
        extended = copy.copy(model)
        extended.properties = [*model.properties, module]
        names = [f"clause_{number}" for number in range(1, len(texts) + 1)]
        found = {clause.name: clause for clause in lower(extended, chosen, fixed=fixed, properties=names).theory.claims}
    return tuple(
        Clause(f"clause {number}", found[name].formula, text)
        for number, (name, text) in enumerate(zip(names, texts, strict=True), 1)
    )


def _module(model: Model, texts: Sequence[str], path: Path) -> ModuleType:
    """A module with one invariant for each text, which sees what the model's own module sees."""
    sorts = sorts_of(model)
    path.write_text("\n\n".join(_function(n, text, sorts) for n, text in enumerate(texts, 1)), encoding="utf-8")
    module = ModuleType(_MODULE)
    names = _names(model) | sorts
    vars(module).update({**names, "__name__": _MODULE, "__file__": str(path)})
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))  # read by the front end only
    for number, text in enumerate(texts, 1):
        invariant(text)(vars(module)[f"clause_{number}"])
    return module


def _names(model: Model) -> dict[str, object]:
    """Globals of the modules in which the actions stand, without what is marked there."""
    found: dict[str, object] = {}
    for fn, _ in model.marked(ActionMark):
        found.update(fn.__globals__)
    return {name: value for name, value in found.items() if not name.startswith("__")}


def _function(number: int, text: str, sorts: Mapping[str, Sort]) -> str:
    names, condition = _split(text)
    loops = "".join(f" for {name} in {sort}" for name, sort in (_typed(name, text, sorts) for name in names))
    try:
        body = ast.unparse(ast.parse(condition.strip(), mode="eval").body)
    except SyntaxError as problem:
        _refuse(text, f"it does not parse: {problem.msg}")
    value = f"all(({body}){loops})" if loops else f"({body})"
    return f"def clause_{number}(s):\n    return {value}\n"


def _split(text: str) -> tuple[list[str], str]:
    """Names of elements, and what is said of them; `r: Req` names the sort too."""
    for head in (_TYPED, _UNTYPED):
        found = head.fullmatch(text)
        if found:
            return [part.strip() for part in found[1].split(",")], found[2]
    return [], text


def _typed(part: str, text: str, sorts: Mapping[str, Sort]) -> tuple[str, str]:
    """The name of an element and its sort, by its first letter where that is not given."""
    name, _, given = (piece.strip() for piece in part.partition(":"))
    fits = [given] if given else [sort for sort in sorts if sort[:1].lower() == name[:1].lower()]
    if len(fits) != 1 or fits[0] not in sorts:
        which = " or ".join(fits) or "no sort"
        _refuse(text, f"{name!r} is an element of {which}; the sorts are {', '.join(sorts)}")
    return name, fits[0]


def _refuse(text: str, reason: str) -> NoReturn:
    raise KvError(
        "KV167",
        f"the clause {text!r} is not understood",
        reason=reason,
        cure='write --clause "r, p: s.owner[p] == r or p not in s.flying[r]", with r: Req, p: Page if need be',
    )
