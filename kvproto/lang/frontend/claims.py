"""Properties, fairness and the state constraint."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from kvproto.diagnostics import KvError, Loc, did_you_mean
from kvproto.ir.nodes import LIVENESS, Action, Claim, Expr, Fairness
from kvproto.lang.frontend.opening import Functions
from kvproto.lang.model import ActionMark, Model
from kvproto.lang.properties import ClaimMark, FairnessMark
from kvproto.lang.source import SourceFile, load


class Claims(Functions):
    """Translates functions that say something of states and runs."""

    def claim(self, fn: Callable[..., Any], mark: ClaimMark) -> Claim:
        """A decorated property."""
        doc = inspect.getdoc(fn) or ""
        if mark.kind not in LIVENESS:
            cond, loc = self.condition(fn)
            return Claim(fn.__name__, mark.kind, mark.claim, doc, cond, loc)
        tr, definition, source = self.open(fn, pure=True)
        params = self.params(tr, fn, definition)
        if mark.kind != "leads_to":
            return Claim(
                fn.__name__, mark.kind, mark.claim, doc, tr.predicate(definition), source.loc(definition), None, params
            )
        _two_conditions(definition, source)
        trigger = tr.predicate(_side(definition, 0))
        tr, definition, source = self.open(fn, pure=True)
        self.params(tr, fn, definition)
        goal = tr.predicate(_side(definition, 1))
        return Claim(fn.__name__, mark.kind, mark.claim, doc, goal, source.loc(definition), trigger, params)

    def condition(self, fn: Callable[..., Any]) -> tuple[Expr, Loc]:
        """A predicate of states: its body in expression position."""
        tr, definition, source = self.open(fn, pure=True)
        if len(definition.args.args) != 1:
            source.fail(
                "KV119",
                definition,
                f"{fn.__name__} takes more than the state",
                "a property is about a state",
                "quantify inside: all(... for r in Req)",
            )
        return tr.predicate(definition), source.loc(definition)


def _two_conditions(definition: ast.FunctionDef, source: SourceFile) -> None:
    for node in ast.walk(definition):
        if isinstance(node, ast.Return) and not (isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2):
            source.fail(
                "KV152",
                node,
                f"{definition.name} does not return two conditions here",
                "leads_to says: after the first comes the second",
                "write `return waiting, served`",
            )


def _side(definition: ast.FunctionDef, side: int) -> ast.FunctionDef:
    """The function with one of the two conditions as its value."""
    found = copy.deepcopy(definition)
    for node in ast.walk(found):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            node.value = node.value.elts[side]
    return found


# --- fairness --------------------------------------------------------------------------------------------


def fairness(model: Model, actions: Sequence[Action]) -> tuple[Fairness, ...]:
    """What actions and `Model(fairness=...)` say, in that order."""
    by_name = {action.name: action for action in actions}
    marked = model.marked(ActionMark)
    known = {fn: by_name[fn.__name__] for fn, _ in marked}
    alone = [
        Fairness(mark.fair, (a.name,), tuple(p.name for p in a.params), a.loc)
        for mark, a in ((mark, known[fn]) for fn, mark in marked)
        if mark.fair
    ]
    return (*alone, *(_group(mark, known) for mark in model.fairness))


def _group(mark: FairnessMark, known: dict[Callable[..., Any], Action]) -> Fairness:
    loc, line = _place(mark)
    for fn in mark.actions:
        if fn not in known:
            name = getattr(fn, "__name__", repr(fn))
            words = [a.name for a in known.values()]
            _refuse(
                "KV153",
                f"{name} is no action of the model{did_you_mean(name, words)}",
                "fairness is about the actions in the model's parts",
                f"name one of: {', '.join(words)}",
                (loc, line),
            )
    members = [known[fn] for fn in mark.actions]
    per: list[str] = []
    for name in mark.per:
        for action in members:
            words = [p.name for p in action.params]
            parts = [word for word in words if word == name or word.startswith((f"{name}.", f"{name}["))]
            per += [part for part in parts if part not in per]
            if not parts:
                _refuse(
                    "KV154",
                    f"{action.name} has no parameter {name!r}{did_you_mean(name, words)}",
                    "`per` names parameters that all actions of the group have: one group for each choice of them",
                    f"its parameters are: {', '.join(words)}" if words else "it has none: leave `per` out",
                    (loc, line),
                )
    return Fairness(mark.kind, tuple(a.name for a in members), tuple(per), loc)


def _refuse(code: str, message: str, reason: str, cure: str, place: tuple[Loc, str]) -> NoReturn:
    raise KvError(code, message, reason=reason, cure=cure, loc=place[0], line=place[1])


def _place(mark: FairnessMark) -> tuple[Loc, str]:
    source = load(Path(mark.file))
    line = source.lines[mark.line - 1] if mark.line <= len(source.lines) else ""
    start, end = (len(line.encode()[:at].decode(errors="ignore")) for at in (mark.start, mark.end))
    return Loc(source.shown, mark.line, start, end if end > start else len(line.rstrip())), line
