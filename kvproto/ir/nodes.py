"""The IR: expressions, places, statements, and the system they make up.

One system is one model under one binding: sizes and parameters are numbers, but loops and quantifiers over sorts are
still loops and quantifiers.  Nodes are immutable, and every node knows its place in the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kvproto.diagnostics import Loc
from kvproto.ir.types import LeafT, RecordT, ScalarT, Type, Value


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; `parameter` names the model parameter it came from, if any."""

    type: Type
    value: Value
    loc: Loc
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class Local:
    """A local variable, loop variable or action parameter."""

    type: Type
    name: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Place:
    """A part of the state: field names and index expressions, from the state down.

    `type` is the type of that part.  Index expressions have the array's index type.
    """

    type: Type
    steps: tuple[str | Expr, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Read:
    """The present value of a scalar or set place."""

    type: Type
    place: Place
    loc: Loc


UnaryOp = Literal["not", "neg", "card", "some", "unwrap", "is_none", "int"]
"""`card` counts a set; `some` injects into an optional, `unwrap` is its partial inverse; `int` turns True into 1."""


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator with one operand."""

    type: Type
    op: UnaryOp
    arg: Expr
    loc: Loc


BinaryOp = Literal[
    "+", "-", "*", "//", "%", "min", "max", "==", "!=", "<", "<=", "in", "union", "inter", "diff", "subset"
]


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator with two operands; `==` and `!=` compare values of one type, `in` an element with a set."""

    type: Type
    op: BinaryOp
    left: Expr
    right: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` / `or`, evaluated left to right and only as far as needed."""

    type: Type
    op: Literal["and", "or"]
    args: tuple[Expr, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Cond:
    """`then if test else orelse`; only the taken side is evaluated."""

    type: Type
    test: Expr
    then: Expr
    orelse: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class Domain:
    """What a loop or quantifier ranges over: fixed values, in order.

    `whole` is true where they are all values of the type (a quantifier over a sort, or over all subsets).
    """

    type: LeafT
    values: tuple[Value, ...]
    whole: bool
    loc: Loc


QuantOp = Literal["any", "all", "sum", "min", "max", "first", "set"]


@dataclass(frozen=True, slots=True)
class Quant:
    """`op(body for var in domain if where)`.

    `first` is Python's `next(...)`: the body for the first value that satisfies `where`, else `default`; `min` and
    `max` take `default` likewise, and without one an empty range is a fault.
    """

    type: Type
    op: QuantOp
    var: str
    domain: Domain
    where: Expr | None
    body: Expr
    default: Expr | None
    loc: Loc


@dataclass(frozen=True, slots=True)
class SetOf:
    """`{a, b, ...}`."""

    type: Type
    items: tuple[Expr, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Let:
    """`body` with the local `name` standing for `value`, which is evaluated once."""

    type: Type
    name: str
    value: Expr
    body: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class ToIndex:
    """A number used as an index of a sort; outside the sort it is a fault."""

    type: Type
    arg: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class Checked:
    """`body`, which makes sense only where `test` holds: elsewhere it is a fault with that code."""

    type: Type
    test: Expr
    body: Expr
    code: str
    message: str
    loc: Loc


Expr = Const | Local | Read | Unary | Binary | Logic | Cond | Quant | SetOf | Let | ToIndex | Checked


@dataclass(frozen=True, slots=True)
class Require:
    """Unless `cond` holds the action is not enabled."""

    cond: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class Assert:
    """Unless `cond` holds the claim `claim` (a name) is violated by this step."""

    cond: Expr
    claim: str
    message: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Assign:
    """Store into a scalar or set place; a value outside its type is a fault."""

    place: Place
    value: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class SetLocal:
    """Give a local variable a value."""

    name: str
    type: Type
    value: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class If:
    """Two ways on."""

    test: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class For:
    """The body once for every value, in order, for which `where` holds when its turn comes."""

    var: str
    domain: Domain
    where: Expr | None
    body: tuple[Stmt, ...]
    loc: Loc


Stmt = Require | Assert | Assign | SetLocal | If | For


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of an action, init function or claim; of a record parameter `m`, the part `m.kind`."""

    name: str
    type: LeafT


@dataclass(frozen=True, slots=True)
class Action:
    """A guarded atomic step of one machine, for every choice of its parameters.

    `loc` is the `def` line; `switched_off` says that its guard is false under these parameters whatever the state.
    """

    name: str
    machine: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    doc: str
    cites: tuple[str, ...]
    loc: Loc
    switched_off: bool = False


@dataclass(frozen=True, slots=True)
class Init:
    """A way to start: its body applied to the zero state, for every choice of its parameters that it allows."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    loc: Loc


ClaimKind = Literal[
    "invariant", "assert", "deadlock", "sometimes", "eventually", "leads_to", "always_eventually", "eventually_always"
]


@dataclass(frozen=True, slots=True)
class Claim:
    """A property.

    `cond` is the condition: what every state satisfies (`invariant`), what some reachable state satisfies
    (`sometimes`), what states without successor satisfy (`deadlock`; None: there is no such state), or the goal of a
    liveness claim.  A liveness claim is made for every choice of `params`; `trigger` is the premise of `leads_to`.
    """

    name: str
    kind: ClaimKind
    text: str
    doc: str
    cond: Expr | None
    loc: Loc
    trigger: Expr | None = None
    params: tuple[Param, ...] = ()


LIVENESS = frozenset({"eventually", "leads_to", "always_eventually", "eventually_always"})
"""Kinds of claims about whole runs."""


@dataclass(frozen=True, slots=True)
class Fairness:
    """Which steps are not put off forever.

    The instances of `actions` are grouped by their arguments for the parameters named in `per`; each group by itself is
    weakly fair (not enabled forever without a step of the group) or strongly fair (not enabled again and again without
    one).  A step that leaves the state as it is counts neither as a step nor as enabled.
    """

    kind: Literal["weak", "strong"]
    actions: tuple[str, ...]
    per: tuple[str, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class MachineInfo:
    """A participant: name and what it is."""

    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """A page pool of one rank, for pictures: see `kvproto.lang.Pool`.

    `owner` and `content` are paths of arrays over the pages, or hold `{w}` where the page's label goes.  Where a page
    has several slices, `slices` are their names with the paths of their content; the first is `content`.
    """

    name: str
    page: ScalarT
    owner: str
    content: str
    slices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FlightInfo:
    """Writes under way between two ranks, for pictures: see `kvproto.lang.Flights`.

    Paths hold `{r}` for the label of a request and `{k}` for a position; `also` are further fields like `field`, and
    a write that moves between them stays the same.  `into` and `out_of` are names of pools, `slice` that of a slice.
    """

    requests: tuple[str, ...]
    field: str
    target: str
    source: str
    also: tuple[str, ...] = ()
    into: str = ""
    slice: str = ""
    out_of: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A model under one binding: what is searched, proved, exported."""

    model: str
    preset: str
    scope: str
    parameters: Mapping[str, bool | int | str]
    state: RecordT
    machines: tuple[MachineInfo, ...]
    inits: tuple[Init, ...]
    actions: tuple[Action, ...]
    claims: tuple[Claim, ...]
    pools: tuple[PoolInfo, ...] = ()
    flights: tuple[FlightInfo, ...] = ()
    fairness: tuple[Fairness, ...] = ()
    constraint: Expr | None = None
    """States outside of it are looked at (claims are judged on them) but neither counted nor expanded."""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    def claim(self, name: str) -> Claim:
        """The claim with that name."""
        return next(c for c in self.claims if c.name == name)
