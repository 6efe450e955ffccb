"""A model and a binding become a system."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from kvproto.diagnostics import KvError, Loc
from kvproto.ir.nodes import (
    Action,
    Claim,
    Expr,
    FlightInfo,
    Init,
    MachineInfo,
    Param,
    Place,
    PoolInfo,
    Stmt,
    System,
)
from kvproto.ir.types import RecordT
from kvproto.lang.bind import Chosen
from kvproto.lang.binding import use
from kvproto.lang.frontend.statements import Statements
from kvproto.lang.frontend.typing import parameter_type, record_type, sort_type
from kvproto.lang.frontend.values import Alias, Frame, Variable
from kvproto.lang.model import ActionMark, InitMark, InvariantMark, Model
from kvproto.lang.source import SourceFile, function_source, load


def build(model: Model, chosen: Chosen) -> System:
    """Translate a model under a binding.

    Raises KvError (KV1nn) at the first place that is outside the language.
    """
    with use(chosen.binding):
        return _Builder(model, chosen).system()


class _Builder:
    def __init__(self, model: Model, chosen: Chosen) -> None:
        self.model = model
        self.chosen = chosen
        self.state: RecordT = record_type(model.state)
        self.asserts: dict[str, Claim] = {}
        self.sources: dict[str, str] = {}
        self._owner = ""

    def system(self) -> System:
        actions = tuple(self._action(fn, mark) for fn, mark in self.model.marked(ActionMark))
        if not actions:
            raise KvError(
                "KV149",
                f"model {self.model.name} has no actions",
                reason="nothing would ever happen, and every claim would hold of the initial state alone",
                cure="decorate functions with @action(machine) and list their modules in Model(parts=[...])",
            )
        inits = tuple(self._init(fn) for fn, _ in self.model.marked(InitMark))
        claims = [self._invariant(fn, mark) for fn, mark in self.model.marked(InvariantMark)]
        claims += list(self.asserts.values())
        if self.model.terminal is not None or self.model.deadlock:
            claims.append(self._deadlock())
        self._distinct(actions, "action")
        self._distinct(claims, "property")
        machines = {mark.machine.name: mark.machine for _, mark in self.model.marked(ActionMark)}
        return System(
            model=self.model.name,
            preset=self.chosen.preset,
            scope=self.chosen.scope,
            parameters=self._parameters(),
            state=self.state,
            machines=tuple(MachineInfo(m.name, m.doc) for m in machines.values()),
            inits=inits,
            actions=actions,
            claims=tuple(claims),
            pools=tuple(PoolInfo(p.name, sort_type(p.page), p.owner, p.content) for p in self.model.pools),
            flights=tuple(FlightInfo(f.field, f.target, f.source) for f in self.model.flights),
            sources=self.sources,
        )

    def _parameters(self) -> dict[str, bool | int | str]:
        binding = self.chosen.binding
        values = {k: v.name if isinstance(v, Enum) else v for k, v in binding.values.items()}
        return {**binding.sizes, **values}

    def _distinct(self, items: Sequence[Action | Claim], what: str) -> None:
        seen: set[str] = set()
        for item in items:
            if item.name in seen:
                item = next(i for i in items if i.name == item.name and getattr(i, "kind", "") != "deadlock")
                rows = self.sources.get(item.loc.file, "").splitlines()
                raise KvError(
                    "KV129",
                    f"two definitions of {what} {item.name!r} in model {self.model.name}",
                    reason="traces and options name them, so names must be unique",
                    cure="rename one of them",
                    loc=item.loc if item.loc.file else None,
                    line=rows[item.loc.line - 1] if 0 < item.loc.line <= len(rows) else "",
                )
            seen.add(item.name)

    # --- functions ------------------------------------------------------------------------------------

    def _open(self, fn: Callable[..., Any], *, pure: bool) -> tuple[Statements, ast.FunctionDef, SourceFile]:
        source, definition = function_source(fn)
        self.sources[source.shown] = source.text
        tr = Statements(self.state, self._on_assert)
        tr.frame = Frame(fn, source, fn.__globals__, {}, None, pure)
        spec = definition.args
        if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs or spec.defaults or not spec.args:
            source.fail(
                "KV119",
                definition,
                f"{fn.__name__} must take the state and then plain parameters",
                "every parameter ranges over a finite type, so defaults and stars have no meaning",
                f"write def {fn.__name__}(s, r: Req):",
            )
        tr.frame.names[spec.args[0].arg] = Alias(Place(self.state, (), source.loc(spec.args[0])))
        return tr, definition, source

    def _params(self, tr: Statements, fn: Callable[..., Any], definition: ast.FunctionDef) -> tuple[Param, ...]:
        try:
            annotations = inspect.get_annotations(fn, eval_str=True)
        except KvError:
            raise
        except Exception as problem:
            written = [a.annotation for a in definition.args.args if a.annotation is not None]
            bad = next((a for a in written if not _evaluates(a, fn)), None)
            tr.fail(
                "KV117",
                bad or definition,
                f"an annotation of {fn.__name__} cannot be evaluated: {problem}",
                "annotations are ordinary Python, evaluated when the model is read",
                "check the names",
            )
        params = []
        for arg in definition.args.args[1:]:
            if arg.arg not in annotations:
                tr.fail(
                    "KV118",
                    arg,
                    f"parameter {arg.arg!r} of {fn.__name__} has no type",
                    "an action happens for every choice of its parameters, so their types must be finite and known",
                    f"write {arg.arg}: Req",
                )

            def fail(message: str, reason: str, cure: str, arg: ast.arg = arg) -> KvError:
                loc = tr.loc(arg.annotation or arg)
                line = tr.frame.source.lines[loc.line - 1]
                return KvError("KV117", message, reason=reason, cure=cure, loc=loc, line=line)

            kind = parameter_type(annotations[arg.arg], fail)
            tr.fixed.add(arg.arg)
            tr.frame.names[arg.arg] = Variable(arg.arg, kind, fixed=True)
            params.append(Param(arg.arg, kind))
        return tuple(params)

    def _stateful(self, fn: Callable[..., Any]) -> tuple[tuple[Param, ...], tuple[Stmt, ...], str, Loc]:
        tr, definition, source = self._open(fn, pure=False)
        params = self._params(tr, fn, definition)
        self._owner = fn.__name__
        body = tuple(tr.body(definition.body))
        return params, body, inspect.getdoc(fn) or "", source.loc(definition)

    def _action(self, fn: Callable[..., Any], mark: ActionMark) -> Action:
        params, body, doc, loc = self._stateful(fn)
        return Action(fn.__name__, mark.machine.name, params, body, doc, mark.cites, loc)

    def _init(self, fn: Callable[..., Any]) -> Init:
        params, body, _, loc = self._stateful(fn)
        return Init(fn.__name__, params, body, loc)

    def _condition(self, fn: Callable[..., Any]) -> tuple[Expr, Loc]:
        """A predicate of states: its body in expression position."""
        tr, definition, source = self._open(fn, pure=True)
        if len(definition.args.args) != 1:
            source.fail(
                "KV119",
                definition,
                f"{fn.__name__} takes more than the state",
                "a property is about a state",
                "quantify inside: all(... for r in Req)",
            )
        return tr.predicate(definition), source.loc(definition)

    def _invariant(self, fn: Callable[..., Any], mark: InvariantMark) -> Claim:
        cond, loc = self._condition(fn)
        return Claim(fn.__name__, "invariant", mark.claim, inspect.getdoc(fn) or "", cond, loc)

    def _deadlock(self) -> Claim:
        text = "some action can happen, unless everything is done"
        if self.model.terminal is None:
            source = load_model_source(self.model)
            return Claim("no_deadlock", "deadlock", text, "", None, Loc(source, 1))
        cond, loc = self._condition(self.model.terminal)
        return Claim("no_deadlock", "deadlock", text, inspect.getdoc(self.model.terminal) or "", cond, loc)

    def _on_assert(self, stmt: ast.Assert, message: str) -> str:
        """Register an assertion of the action being translated; gives its claim's name."""
        count = sum(c.name.startswith(f"{self._owner}.assert") for c in self.asserts.values()) + 1
        name = f"{self._owner}.assert{count}"
        self.asserts[name] = Claim(name, "assert", message, "", None, Loc("", stmt.lineno))
        return name


def _evaluates(annotation: ast.expr, fn: Callable[..., Any]) -> bool:
    try:
        eval(ast.unparse(annotation), dict(fn.__globals__))
    except Exception:
        return False
    return True


def load_model_source(model: Model) -> str:
    """Shown name of the file in which the model is declared."""
    return load(Path(model.source)).shown
