"""A model and a binding become a system."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from kvproto.diagnostics import KvError, Loc
from kvproto.ir.nodes import Action, Claim, Fairness, Init, MachineInfo, Param, Stmt, System
from kvproto.lang.bind import Chosen
from kvproto.lang.binding import use
from kvproto.lang.frontend.claims import Claims, fairness
from kvproto.lang.frontend.typing import MAX_INDEX, MAX_STARTS, record_type
from kvproto.lang.frontend.views import views
from kvproto.lang.model import ActionMark, InitMark, Model
from kvproto.lang.properties import ClaimMark
from kvproto.lang.source import load


def build(model: Model, chosen: Chosen) -> System:
    """Translate a model under a binding.

    Raises KvError (KV1nn) at the first place that is outside the language.
    """
    with use(chosen.binding):
        return Builder(model, chosen).system()


class Builder(Claims):
    """Translates the functions of a model one by one, under the binding in force."""

    def __init__(self, model: Model, chosen: Chosen) -> None:
        super().__init__(record_type(model.state))
        self.model = model
        self.chosen = chosen
        self.asserts: dict[str, Claim] = {}
        self._owner = ""

    def system(self) -> System:
        """The whole model."""
        actions = tuple(self.action(fn, mark) for fn, mark in self.wanted())
        if not actions:
            raise KvError(
                "KV149",
                f"model {self.model.name} has no actions",
                reason="nothing would ever happen, and every claim would hold of the initial state alone",
                cure="decorate functions with @action(machine) and list their modules in Model(parts=[...])",
            )
        inits = tuple(self.init(fn) for fn, _ in self.model.marked(InitMark))
        claims = [self.claim(fn, mark) for fn, mark in self.model.marked(ClaimMark)]
        claims += list(self.asserts.values())
        if self.model.terminal is not None or self.model.deadlock:
            claims.append(self._deadlock())
        self._distinct(actions, "action")
        self._distinct(claims, "property")
        pools, flights = views(self.model, self.state)
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
            pools=pools,
            flights=flights,
            fairness=self.fairness(actions),
            constraint=None if self.model.constraint is None else self.condition(self.model.constraint)[0],
            sources=self.sources,
        )

    def wanted(self) -> list[tuple[Callable[..., Any], ActionMark]]:
        """The actions to translate: all of them."""
        return self.model.marked(ActionMark)

    def fairness(self, actions: Sequence[Action]) -> tuple[Fairness, ...]:
        """Which steps are not put off forever."""
        return fairness(self.model, actions)

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

    def _stateful(self, fn: Callable[..., Any], most: int) -> tuple[tuple[Param, ...], tuple[Stmt, ...], str, Loc]:
        tr, definition, source = self.open(fn, pure=False)
        params = self.params(tr, fn, definition, most)
        self._owner = fn.__name__
        body = tuple(tr.body(definition.body))
        return params, body, inspect.getdoc(fn) or "", source.loc(definition)

    def action(self, fn: Callable[..., Any], mark: ActionMark) -> Action:
        """A decorated action."""
        params, body, doc, loc = self._stateful(fn, MAX_INDEX)
        return Action(fn.__name__, mark.machine.name, params, body, doc, mark.cites, loc)

    def init(self, fn: Callable[..., Any]) -> Init:
        """A decorated init function."""
        params, body, _, loc = self._stateful(fn, MAX_STARTS)
        return Init(fn.__name__, params, body, loc)

    def _deadlock(self) -> Claim:
        text = "some action can happen, unless everything is done"
        if self.model.terminal is None:
            source = load_model_source(self.model)
            return Claim("no_deadlock", "deadlock", text, "", None, Loc(source, 1))
        cond, loc = self.condition(self.model.terminal)
        return Claim("no_deadlock", "deadlock", text, inspect.getdoc(self.model.terminal) or "", cond, loc)

    def on_assert(self, stmt: ast.Assert, message: str) -> str:
        """Register an assertion of the action being translated; gives its claim's name."""
        count = sum(c.name.startswith(f"{self._owner}.assert") for c in self.asserts.values()) + 1
        name = f"{self._owner}.assert{count}"
        self.asserts[name] = Claim(name, "assert", message, "", None, Loc("", stmt.lineno))
        return name


def load_model_source(model: Model) -> str:
    """Shown name of the file in which the model is declared."""
    return load(Path(model.source)).shown
