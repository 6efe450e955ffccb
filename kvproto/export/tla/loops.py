"""Loops: over independent elements they are function constructors, else a function of the number of turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvproto.export.tla.definitions import Definition, definition_lines, mentions
from kvproto.export.tla.state import OLD, Path, Variable
from kvproto.export.tla.text import ATOM, FALSE, TRUE, Text, choose, conj, equal_to, infix
from kvproto.ir.nodes import Assign, Expr, For, If, Local, Place, Read, SetLocal, Stmt
from kvproto.ir.types import ArrayT, Value
from kvproto.ir.walk import expressions, indices, statements, subexpressions

if TYPE_CHECKING:
    from kvproto.export.tla.bodies import Body


# --- independent elements --------------------------------------------------------------------------------


def parallel(body: Body, stmt: For) -> bool:
    """Run a loop whose turns concern one element each; false, and nothing done, if it is none."""
    written = {s.place: None for s in statements((stmt,)) if isinstance(s, Assign)}
    places = [*written, *_read(stmt)]
    if not written or not _simple((stmt,)):
        return False
    fields = {_fields(place) for place in written}
    for place in places:
        if any(_meet(_fields(place), field) for field in fields) and not _at(place, stmt.var):
            return False
    return _run_parallel(body, stmt)


def _simple(block: tuple[Stmt, ...]) -> bool:
    return all(isinstance(s, Assign | If | For) for s in statements(block)) and sum(
        isinstance(s, For) for s in statements(block)
    ) == 1


def _read(stmt: For) -> list[Place]:
    """Places that a turn reads."""
    texts: list[Expr] = [e for s in statements((stmt,)) for e in expressions(s)]
    return [e.place for expr in texts for e in subexpressions(expr) if isinstance(e, Read)]


def _fields(place: Place) -> tuple[str, ...]:
    """A place without its indices."""
    return tuple(step if isinstance(step, str) else "[]" for step in place.steps)


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return all(a == b for a, b in zip(one, other, strict=False))


def _at(place: Place, var: str) -> bool:
    """Whether exactly one index of the place is the loop variable and the others do not depend on it."""
    found = indices(place)
    own = [i for i in found if isinstance(i, Local) and i.name == var]
    others = [i for i in found if i not in own]
    inside = [e for i in others for e in subexpressions(i)]
    return len(own) == 1 and not any(isinstance(e, Read) or (isinstance(e, Local) and e.name == var) for e in inside)


def _run_parallel(body: Body, stmt: For) -> bool:
    """One turn with the loop variable bound; false if it cannot be written that way after all."""
    values = body.values
    name = values.bound(stmt.var, body.env)
    inside = body.branch()
    for variable in _written(body, stmt):
        body.state.whole(variable, body.definitions.define)
        inside.state.variables[variable] = body.state.variables[variable].copy()
    before, made = inside.state.copy(), len(body.definitions.found)
    inside.turn(stmt, Text(name))
    changed = [v for v, after in inside.state.variables.items() if after != before.variables[v]]
    kept_base = all(inside.state.variables[v].base == before.variables[v].base for v in changed)
    # What a turn gives a name to stands before the place where the loop variable is bound.
    if not kept_base or any(mentions(line, name) for d in body.definitions.found[made:] for line in d.lines):
        del body.definitions.found[made:]
        return False
    for variable in changed:
        _collect(body, stmt, name, variable, before.variables[variable], inside.state.variables[variable])
    return True


def _collect(body: Body, stmt: For, name: str, variable: str, before: Variable, after: Variable) -> None:
    """Changes at the loop variable, as one function for each array."""
    arrays: dict[Path, list[tuple[Path, Text]]] = {}
    for path, value in after.changes[len(before.changes) :]:
        at = path.index(f"[{name}]")
        arrays.setdefault(path[:at], []).append((path[at + 1 :], value))
    for prefix, changes in arrays.items():
        old = Text(before.base.at(ATOM) + "".join(prefix) + f"[{name}]")
        if len(changes) == 1 and not changes[0][0]:
            new = Text(changes[0][1].text.replace(OLD, old.text), changes[0][1].level)
        else:
            inside = ", ".join(f"!{''.join(path)} = {equal_to(value)}" for path, value in changes)
            new = Text(f"[{old} EXCEPT {inside}]")
        array = body.type_at(variable, prefix)
        assert isinstance(array, ArrayT)
        domain = body.values.types.domain(stmt.domain.type, stmt.domain.values, stmt.domain.whole)
        every = body.values.types.set_of(array.index)
        if domain != every:
            new = choose(infix("\\in", Text(name), domain), new, old)
        body.state.write(variable, prefix, Text(f"[{name} \\in {every} |-> {new}]"))


# --- turns that depend on each other ---------------------------------------------------------------------


def fold(body: Body, stmt: For) -> None:
    """A recursive function from the number of turns to what has changed by then."""
    scope = body.definitions.scope
    step, so_far, loop = scope.fresh("n"), scope.fresh("so_far"), scope.fresh("loop")
    variables = _written(body, stmt)
    locals_ = _carried(body, stmt)
    keys = {v: v for v in variables} | {name: scope.fresh(name) for name in locals_}
    for variable in body.state.variables:
        body.state.whole(variable, body.definitions.define)
    state = body.state.copy()
    start = {keys[v]: state.variables[v].base for v in variables}
    start |= {keys[n]: body.env.values.get(n, FALSE) for n in locals_}
    for variable in variables:
        state.variables[variable] = Variable(Text(f"{so_far}.{variable}"))
    inner = body.inside(state, {n: Text(f"{so_far}.{keys[n]}") for n in locals_})
    inner.turn(stmt, inner.definitions.define(stmt.var, _nth(body, stmt, step)))
    result = {keys[v]: inner.state.variables[v].text for v in variables}
    result |= {keys[n]: inner.env.values[n] for n in locals_}
    done = f"{loop}[{len(stmt.domain.values)}]"
    if inner.guards:
        ok = scope.fresh("ok")
        start[ok] = TRUE
        result[ok] = conj([Text(f"{so_far}.{ok}"), *(text for _, text in inner.guards)])
    lines = ["", f"IF {step} = 0", f"THEN {_record(start)}"]
    made = definition_lines([Definition(so_far, "", [f"{loop}[{step} - 1]"]), *inner.needed([_record(result)])])
    lines += [f"{'         ' if at else 'ELSE LET '}{line}" for at, line in enumerate(made)]
    lines.append(f"     IN  {_record(result)}")
    body.definitions.found.append(Definition(loop, f"[{step} \\in 0 .. {len(stmt.domain.values)}]", lines))
    for variable in variables:
        body.state.variables[variable] = Variable(Text(f"{done}.{keys[variable]}"))
    for name in locals_:
        body.env = body.env.bind(name, Text(f"{done}.{keys[name]}"))
    if inner.guards:
        body.guard(Text(f"{done}.{ok}"))


def _carried(body: Body, stmt: For) -> list[str]:
    """Locals that a turn leaves to the next one, or the last one to what follows."""
    assigned = list(dict.fromkeys(s.name for s in statements((stmt,)) if isinstance(s, SetLocal)))
    return [name for name in assigned if name in body.env.values or _uses(body.source, name) > _uses((stmt,), name)]


def _uses(block: tuple[Stmt, ...], name: str) -> int:
    texts = [e for s in statements(block) for e in expressions(s)]
    return sum(isinstance(e, Local) and e.name == name for expr in texts for e in subexpressions(expr))


def _written(body: Body, stmt: For) -> list[str]:
    """Variables that the loop changes."""
    return list(dict.fromkeys(body.variable(s.place) for s in statements((stmt,)) if isinstance(s, Assign)))


def _record(parts: dict[str, Text]) -> str:
    return "[" + ", ".join(f"{key} |-> {value}" for key, value in parts.items()) + "]"


def _nth(body: Body, stmt: For, step: str) -> Text:
    """The value of the loop variable in a turn, counted from 1."""
    values: tuple[Value, ...] = stmt.domain.values
    first = values[0]
    if isinstance(first, int) and not isinstance(first, bool) and values == tuple(range(first, first + len(values))):
        shift = first - 1
        return Text(f"{step} {'+' if shift > 0 else '-'} {abs(shift)}" if shift else step, 6)
    inside = ", ".join(body.values.types.value(v, stmt.domain.type).text for v in values)
    return Text(f"<<{inside}>>[{step}]")
