"""A model as a theory: the IR of a model under its switches becomes formulas, for any sizes of its sorts.

The lowering may allow more than the model does (the choice of a first element becomes the choice of any that fits, a
bound that is a symbolic number is no bound), never less: what is proved of the theory holds of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from kvproto.diagnostics import Diagnostic
from kvproto.ir.digest import digest
from kvproto.ir.nodes import Action, Claim, Init, Param, System
from kvproto.ir.types import BoolT, EnumT, IntT, OptT, SetT, SortT, values_of
from kvproto.lang.bind import Chosen
from kvproto.lang.model import Model
from kvproto.prove.logic.formula import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Apply,
    Atom,
    Choose,
    Compare,
    Exists,
    ForAll,
    Formula,
    Num,
    Plus,
    Same,
    Symbol,
    Term,
    Times,
    Var,
    conj,
    disj,
    exists,
    forall,
    free_variables,
    implies,
    neg,
    walk,
)
from kvproto.prove.logic.theory import Clause, Obligation, Theory, Transition, Update
from kvproto.prove.lowering.fail import SIZES_ONLY, NotGeneral, placed, refuse
from kvproto.prove.lowering.fragment import General, at_its_field, general, param_key
from kvproto.prove.lowering.reading import Duty, World
from kvproto.prove.lowering.simplify import simple_term, simplified, tidied, tidied_term
from kvproto.prove.lowering.state import MOST_KEYS, Bounds, Layout, Leaf, layout_of, typing_of
from kvproto.prove.lowering.steps import Steps
from kvproto.prove.lowering.values import Elements, Meaning, Members, Number, iff, literal, nothing, variable


@dataclass(frozen=True, slots=True)
class Lowered:
    """A theory, and how it came to be: what translates states and sizes into its words."""

    theory: Theory
    layout: Layout
    source: General


def lower(
    model: Model, chosen: Chosen, *, fixed: frozenset[str] = frozenset(), properties: Sequence[str] = ()
) -> Lowered:
    """The theory of a model under the switches of `chosen`, whose sizes do not matter.

    Numbers in `fixed` keep their values, all others are symbols.  `properties` are the claims to be proved: by
    default all invariants; assertions in actions are obligations.  Raises NotGeneral (KV160 to KV168).
    """
    return _Lowering(general(model, chosen, fixed), chosen).lowered(properties)


class _Lowering:
    """Lowers the functions of one model one by one, and collects what is outside of the language."""

    def __init__(self, source: General, chosen: Chosen) -> None:
        self.source, self.chosen = source, chosen
        self.system: System = source.system
        self.problems: list[Diagnostic] = []
        self.assumptions = list(source.assumptions)
        try:
            layout = layout_of(self.system.state, self._state_bounds())
        except NotGeneral as problem:
            raise at_its_field(problem, source.model) from None
        self.world = World(self.system.state, layout, source.numbers)

    def _state_bounds(self) -> Bounds:
        """Bounds of the state; one that is a symbol is a horizon, and none at all."""
        found = {}
        for key, (low, high) in self.source.bounds.items():
            if not isinstance(high, Num) and key[0] != "":
                high = None
                self.assumptions.append(f"{'.'.join(str(part) for part in key if part != '*')} has no upper bound")
            found[key] = low, high
        return found

    def lowered(self, properties: Sequence[str]) -> Lowered:
        """Everything."""
        transitions = [t for action in self.system.actions if not action.switched_off for t in self._action(action)]
        claims = [clause for claim in self._wanted(properties) for clause in self._claim(claim)]
        starts = self._starts()
        axioms = self._axioms()
        self._distinct(transitions)
        if self.problems:
            raise NotGeneral(placed(self.problems, self.system.sources))
        shared, init = _assumed(starts, {symbol.name for symbol in self.world.layout.symbols()})
        system = self.system
        theory = Theory(
            model=system.model,
            preset=system.preset,
            switches=self._switches(),
            sorts=self._sorts(transitions, claims),
            state=tuple(self.world.layout.symbols()),
            rigid=(*self.source.numbers.values(), *self.world.orders.values()),
            axioms=(*axioms, *shared),
            typing=tuple(_tidy(clause) for clause in typing_of(self.world.layout)),
            init=tidied(init),
            transitions=tuple(transitions),
            claims=tuple(claims),
            digest=digest(self.source.plain),
            assumptions=tuple(dict.fromkeys([*self.assumptions, *self.world.assumptions])),
        )
        return Lowered(theory, self.world.layout, self.source)

    def _distinct(self, transitions: Sequence[Transition]) -> None:
        """Symbols are told apart by their names: those of the state, of steps, of numbers and of orders."""
        chosen = {symbol.name for step in transitions for symbol in step.chosen}
        rigid = [*self.source.numbers.values(), *self.world.orders.values()]
        names = [symbol.name for symbol in (*self.world.layout.symbols(), *rigid)]
        for name in sorted({name for name in names if names.count(name) > 1} | chosen & set(names)):
            text = "fields of the state, parameters of actions and numbers are named by their paths"
            cure = "rename one of them"
            self.problems.append(Diagnostic("KV162", f"two relations would be called {name}", text, cure))

    def _switches(self) -> dict[str, bool | int | str]:
        """Parameters that are no symbols, and no sizes."""
        names = self.chosen.binding.values
        symbolic = {symbol.spelled for symbol in self.source.numbers.values()}
        return {k: v for k, v in self.system.parameters.items() if k in names and k not in symbolic}

    def _sorts(self, transitions: Sequence[Transition], claims: Sequence[Clause]) -> tuple[str, ...]:
        """Sorts that anything is said of, in order of their first mention."""
        found = [sort for symbol in self.world.layout.symbols() for sort in symbol.args]
        found += [sort for symbol in self.world.orders.values() for sort in symbol.args]
        for action in self.system.actions:
            found += [sort for param in action.params if (sort := _sort_of(param))]
        for formula in (*(step.guard for step in transitions), *(claim.formula for claim in claims)):
            found += [v.sort for node in walk(formula) if isinstance(node, ForAll | Exists) for v in node.vars]
        return tuple(sort for sort in dict.fromkeys(found) if sort != INT)

    def _wanted(self, properties: Sequence[str]) -> list[Claim]:
        invariants = [claim for claim in self.system.claims if claim.kind == "invariant"]
        return [claim for claim in invariants if not properties or claim.name in properties]

    # --- axioms ---------------------------------------------------------------------------------------

    def _axioms(self) -> Iterator[Clause]:
        for local, symbol in self.source.numbers.items():
            least = self.source.least[local]
            yield Clause(f"{symbol.spelled} >= {least}", Compare("<=", Num(least), Apply(symbol)))
        for sort, before in self.world.orders.items():
            yield from _total_order(sort, before)

    # --- claims ---------------------------------------------------------------------------------------

    def _claim(self, claim: Claim) -> Iterator[Clause]:
        steps = Steps(self.world, claim.name, pure=True)
        assert claim.cond is not None
        try:
            cond = steps.formula(claim.cond)
        except NotGeneral as problem:
            self.problems += problem.all
            return
        defined = conj(duty.formula for duty in steps.duties)
        yield Clause(claim.name, tidied(simplified(conj((defined, cond)))), claim.text, claim.loc)

    # --- steps ----------------------------------------------------------------------------------------

    def _action(self, action: Action) -> Iterator[Transition]:
        ways = list(self._parameters(action))
        for label, env, params, chosen, bounds in ways:
            name = f"{action.name}({label})" if len(ways) > 1 else action.name
            steps = Steps(self.world, action.name, pure=False)
            steps.env.update(env)
            try:
                steps.block(action.body)
            except NotGeneral as problem:
                self.problems += problem.all
                return
            yield from _transitions(name, action, steps, params, chosen, bounds)

    def _parameters(
        self, function: Action | Init
    ) -> Iterator[tuple[str, dict[str, Meaning], tuple[Var, ...], tuple[Symbol, ...], list[Formula]]]:
        """What the parameters stand for: members are tried one by one, all else is a variable or a relation."""
        choices = [list(self._ways(function, param)) for param in function.params]
        for picked in product(*choices):
            env = {param.name: way[1] for param, way in zip(function.params, picked, strict=True)}
            yield (
                ", ".join(way[0] for way in picked if way[0]),
                env,
                tuple(var for way in picked for var in way[2]),
                tuple(symbol for way in picked for symbol in way[3]),
                [guard for way in picked for guard in way[4]],
            )

    def _ways(
        self, function: Action | Init, param: Param
    ) -> Iterator[tuple[str, Meaning, tuple[Var, ...], tuple[Symbol, ...], list[Formula]]]:
        name, kind = param.name, param.type
        relation = f"{function.name}.{name}"
        match kind:
            case SortT():
                var = Var(name, kind.name)
                yield "", variable(var), (var,), (), []
            case OptT(inner=SortT() as inner):
                var = Var(name, inner.name)
                yield f"{name}=None", nothing(inner.name), (), (), []
                yield name, variable(var), (var,), (), []
            case BoolT():
                symbol = Symbol(relation, (), spelled=name)
                yield "", Atom(symbol), (), (symbol,), []
            case SetT(element=SortT() as element):
                symbol = Symbol(relation, (element.name,), spelled=f"{name} has {{0}}")
                yield "", Elements(element.name, lambda v: Atom(symbol, (v,))), (), (symbol,), []
            case SetT(element=BoolT() | EnumT() as element):
                found = {v: Symbol(f"{relation}.{v}", (), spelled=f"{name} has {v}") for v in values_of(element)}
                yield "", Members(tuple((v, Atom(s)) for v, s in found.items())), (), tuple(found.values()), []
            case IntT() if isinstance(function, Init):
                for number in self._few(function, param):
                    yield f"{name}={number}", Number(Num(number)), (), (), []
            case IntT():
                var = Var(name, INT)
                yield "", Number(var), (var,), (), self._within(function, param, var)
            case EnumT() | OptT(inner=BoolT() | EnumT()):
                for value in values_of(kind):
                    yield f"{name}={value}", literal(value), (), (), []
            case _:
                self._refuse_parameter(function, param)

    def _few(self, init: Init, param: Param) -> range:
        """Numbers that a start chooses from, each of which is a start of its own: formulas choose no numbers."""
        low, high = self.source.bounds[param_key(init.name, param.name)]
        if isinstance(low, Num) and isinstance(high, Num) and high.value - low.value < MOST_KEYS:
            return range(low.value, high.value + 1)
        refuse(
            "KV168",
            f"{init.name} chooses {param.name} from many numbers, or from how many is not known",
            init.loc,
            "initial states are described by one formula, in which every number that can be chosen is a case",
            f"choose from {MOST_KEYS} numbers at most, or make it a parameter of the model: number(...)",
        )

    def _within(self, function: Action | Init, param: Param, var: Var) -> list[Formula]:
        low, high = self.source.bounds[param_key(function.name, param.name)]
        found = [Compare("<=", low, var)] if low is not None else []
        return [*found, Compare("<=", var, high)] if high is not None else list[Formula](found)

    def _refuse_parameter(self, function: Action | Init, param: Param) -> None:
        problem = Diagnostic(
            "KV162",
            f"parameter {param.name} of {function.name} is a {param.type}",
            "a step chooses elements of sorts, sets of them, members, booleans and numbers",
            f"use one of these; {SIZES_ONLY}",
            function.loc,
        )
        self.problems.append(problem)

    # --- the start ------------------------------------------------------------------------------------

    def _starts(self) -> list[Start]:
        """What initial states satisfy, for every init function."""
        if not self.system.inits:
            return [self._zero()]
        return [start for init in self.system.inits for start in self._init(init)]

    def _zero(self) -> Start:
        steps = Steps(self.world, "the start", pure=False)
        elements = self._zero_store(steps)
        return Start((), elements, self._cells(steps, frozenset()))

    def _zero_store(self, steps: Steps) -> tuple[Var, ...]:
        """Put every leaf at its zero; gives variables for the elements of sorts that are one."""
        elements: dict[str, Var] = {}
        for leaf in self.world.layout.leaves.values():
            for symbol, value in _zeroes(leaf, elements, self.world.layout):
                steps.store[symbol.name] = value
        return tuple(elements.values())

    def _init(self, init: Init) -> Iterator[Start]:
        try:
            ways = list(self._parameters(init))
        except NotGeneral as problem:
            self.problems += problem.all
            return
        for _, env, params, chosen, bounds in ways:
            steps = Steps(self.world, init.name, pure=False)
            elements = self._zero_store(steps)
            steps.env.update(env)
            try:
                steps.block(init.body)
                _refuse_duties(init, steps.duties)
                open_symbols = self._arbitrary(init, steps, chosen)
            except NotGeneral as problem:
                self.problems += problem.all
                return
            variables = (*elements, *params, *steps.witnesses.values())
            yield Start((*bounds, *steps.guards), variables, self._cells(steps, open_symbols))

    def _arbitrary(self, init: Init, steps: Steps, chosen: tuple[Symbol, ...]) -> frozenset[str]:
        """Symbols that an init function sets to what it chooses, so that anything may be in them."""
        found: set[str] = set()
        for choice in chosen:
            used = [name for name, value in steps.store.items() if _mentions(value, choice)]
            copies = [name for name in used if _is_copy(steps.store[name], choice, self.world.layout.formals[name])]
            if len(used) > 1 or used != copies or any(_mentions(guard, choice) for guard in steps.guards):
                refuse(
                    "KV168",
                    f"{init.name} stores a set or a boolean that it chooses in more than one place",
                    init.loc,
                    "initial states are described by one formula, which says of a free choice nothing at all",
                    "store what is chosen in one field, as it is, and read that field",
                )
            found.update(copies)
        return frozenset(found)

    def _cells(self, steps: Steps, open_symbols: frozenset[str]) -> list[Formula]:
        """What every symbol is at the start."""
        found: list[Formula] = []
        for symbol in self.world.layout.symbols():
            if symbol.name in open_symbols or symbol.name not in steps.store:
                continue
            formals = self.world.layout.formals[symbol.name]
            value = steps.store[symbol.name]
            if symbol.result == INT:
                assert isinstance(value, Var | Num | Apply | Plus | Times | Choose)
                found.append(forall(formals, Compare("==", Apply(symbol, formals), simple_term(value, {}))))
            else:
                assert not isinstance(value, Var | Num | Apply | Plus | Times | Choose)
                found.append(forall(formals, iff(Atom(symbol, formals), simplified(value))))
        return found


@dataclass(frozen=True, slots=True)
class Start:
    """One way to start: some choice of the variables satisfies the guards, and every symbol is as the cells say."""

    guards: tuple[Formula, ...]
    variables: tuple[Var, ...]
    cells: list[Formula]


def _zeroes(leaf: Leaf, elements: dict[str, Var], layout: Layout) -> Iterator[tuple[Symbol, Formula | Term]]:
    """Zero values of the symbols of a leaf; that of a sort is one element, the same everywhere."""
    match leaf.kind:
        case "finite":
            first = None if leaf.optional else next(iter(leaf.symbols))
            for value, symbol in leaf.symbols.items():
                yield symbol, TRUE if value == first and not leaf.optional else FALSE
        case "sort" if not leaf.optional:
            zero = elements.setdefault(leaf.element, Var(f"{leaf.element.lower()}.zero", leaf.element))
            yield leaf.symbol, Same(layout.formals[leaf.symbol.name][-1], zero)
        case "int":
            low = leaf.bounds[0]
            if leaf.optional:
                yield leaf.symbols[None], FALSE
            elif low is not None:
                yield leaf.symbol, low
        case _:
            for symbol in leaf.symbols.values():
                yield symbol, FALSE


def _transitions(
    name: str,
    action: Action,
    steps: Steps,
    params: tuple[Var, ...],
    chosen: tuple[Symbol, ...],
    bounds: list[Formula],
) -> Iterator[Transition]:
    """The step itself, and before it those that only say what must hold where a later guard refuses."""
    params = (*params, *steps.witnesses.values())
    names = [var.name for var in params]
    whole = _obligations((d for d in steps.duties if d.after == len(steps.guards)), names)
    earlier = sorted({d.after for d in steps.duties if d.after < len(steps.guards)})
    for after in earlier:
        duties = _obligations((d for d in steps.duties if d.after == after), names)
        guard = tidied(simplified(conj((*bounds, *steps.guards[:after]))), names)
        yield Transition(f"{name}, up to guard {after + 1}", params, chosen, guard, (), duties, action.doc, action.loc)
    guard = tidied(simplified(conj((*bounds, *steps.guards))), names)
    if guard != FALSE:
        updates = tuple(_updates(steps, names))
        yield Transition(name, params, chosen, guard, updates, whole, action.doc, action.loc)


def _obligations(duties: Iterable[Duty], names: list[str]) -> tuple[Obligation, ...]:
    """Duties as obligations, those of one name as one: a line that is reached in several ways."""
    found: dict[str, list[Duty]] = {}
    for duty in duties:
        found.setdefault(duty.name, []).append(duty)
    return tuple(
        Obligation(name, same[0].text, tidied(simplified(conj(d.formula for d in same)), names), same[0].loc)
        for name, same in found.items()
    )


def _updates(steps: Steps, names: list[str]) -> Iterator[Update]:
    for symbol in steps.world.layout.symbols():
        if symbol.name not in steps.store:
            continue
        formals = steps.world.layout.formals[symbol.name]
        value = steps.store[symbol.name]
        if symbol.result == BOOL:
            assert not isinstance(value, Var | Num | Apply | Plus | Times | Choose)
            new: Formula | Term = tidied(simplified(value), names)
            same: Formula | Term = Atom(symbol, formals)
        else:
            assert isinstance(value, Var | Num | Apply | Plus | Times | Choose)
            new, same = tidied_term(simple_term(value, {}), names), Apply(symbol, formals)
        if new != same:
            yield Update(symbol, formals, new)


def _assumed(starts: list[Start], state: set[str]) -> tuple[list[Clause], Formula]:
    """What all ways to start require of rigid symbols alone holds for ever: axioms, and the rest."""

    def is_rigid(guard: Formula) -> bool:
        named = {node.symbol.name for node in walk(guard) if isinstance(node, Atom | Apply)}
        return not free_variables(guard) and bool(named) and not named & state

    shared = [guard for guard in starts[0].guards if is_rigid(guard)] if starts else []
    shared = [guard for guard in shared if all(guard in start.guards for start in starts)]
    clauses = [Clause(f"assumption {at}", tidied(guard)) for at, guard in enumerate(shared, 1)]
    ways = []
    for start in starts:
        guards = [guard for guard in start.guards if guard not in shared]
        ways.append(_some(start.variables, conj((*guards, *start.cells))))
    return clauses, disj(ways)


def _some(variables: tuple[Var, ...], body: Formula) -> Formula:
    free = free_variables(body)
    return exists(tuple(var for var in variables if var in free), body)


def _refuse_duties(init: Init, duties: list[Duty]) -> None:
    for duty in duties:
        refuse(
            "KV168",
            f"{init.name} may go wrong: {duty.text}",
            duty.loc,
            "a proof takes initial states as they are described, so describing them must not fail",
            "require what makes it safe before, or store something that always fits",
        )


def _total_order(sort: str, before: Symbol) -> Iterator[Clause]:
    one, two, three = (Var(name, sort) for name in ("x", "y", "z"))

    def less(v: Var, w: Var) -> Formula:
        return Atom(before, (v, w))

    yield Clause(f"{sort}: nothing is before itself", forall((one,), neg(less(one, one))))
    chain = implies(conj((less(one, two), less(two, three))), less(one, three))
    yield Clause(f"{sort}: before is transitive", forall((one, two, three), chain))
    total = disj((less(one, two), less(two, one), Same(one, two)))
    yield Clause(f"{sort}: one of two is before the other", forall((one, two), total))


def _tidy(clause: Clause) -> Clause:
    return Clause(clause.name, tidied(clause.formula), clause.text, clause.loc)


def _sort_of(param: Param) -> str:
    match param.type:
        case SortT() as sort:
            return sort.name
        case OptT(inner=SortT() as sort) | SetT(element=SortT() as sort):
            return sort.name
        case _:
            return ""


def _mentions(value: Formula | Term, symbol: Symbol) -> bool:
    return any(isinstance(node, Atom) and node.symbol == symbol for node in walk(value))


def _is_copy(value: Formula | Term, symbol: Symbol, formals: tuple[Var, ...]) -> bool:
    """Whether the value is the chosen relation itself, of all arguments."""
    return value == Atom(symbol, formals)

