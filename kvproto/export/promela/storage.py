"""How a state is stored in Promela: declarations, and where each part of the state is.

| type | stored as |
|---|---|
| Bool | `bit` |
| Int(lo, hi) | its distance from lo |
| sort, enumeration | position |
| Opt(T) | 0 for None, else the number of T plus 1 |
| Set(T) | bit mask, in words of 31 bits |
| Array, record | array, typedef |

So the zero state is all zeros, which is what SPIN starts with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kvproto.export.names import Names
from kvproto.export.promela.text import Text, infix, literal
from kvproto.ir.nodes import Expr, Place, System
from kvproto.ir.types import ArrayT, EnumT, IntT, LeafT, NoneT, OptT, RecordT, SetT, Type, Value, cardinality, leaves

WORD = 31
"""Bits of a word of a set: Promela's numbers have 32, with a sign."""

_PROMELA = """
active assert atomic bit bool break byte chan c_code c_decl c_expr c_state c_track d_proctype d_step do else empty
enabled eval false fi for full get_priority hidden if init inline int len local ltl mtype nempty never nfull notrace
np_ od of pc_value pid printf printm priority proctype provided return run select set_priority short show skip string
timeout trace true typedef unless unsigned xr xs until weakuntil release always eventually next in implies equivalent
"""

_C = """
auto case char const continue default double enum extern float goto long register restrict signed sizeof static struct
switch union void volatile while main now uchar uint ulong ushort State Trans stdin stdout stderr errno
"""

_OURS = "MIN MAX DIV MOD at system settle forget end which"

RESERVED = frozenset(f"{_PROMELA} {_C} {_OURS}".split())
"""What no identifier may be called: words of Promela, of C, of the programs that SPIN makes, and of the exporter."""


def words(kind: SetT) -> int:
    """Words that a set takes."""
    return -(-cardinality(kind.element) // WORD)


def base(kind: LeafT) -> int:
    """What is subtracted from a value to get its place among the values of its type."""
    return kind.lo if isinstance(kind, IntT) and kind.lo is not None else 0


def position(value: Value, kind: LeafT) -> int:
    """The place of a value among those of its type; of a set, its mask."""
    match kind:
        case OptT(inner=inner):
            return 0 if value is None else position(value, inner) + 1
        case SetT(element=element):
            assert isinstance(value, frozenset)
            return sum(1 << position(item, element) for item in value)
        case EnumT(members=members):
            return members.index(str(value))
        case _:
            assert isinstance(value, int)
            return int(value) - base(kind)


def scalar_type(bits: int) -> str:
    """The smallest type of Promela with so many bits."""
    return "bit" if bits <= 1 else "byte" if bits <= 8 else "short" if bits <= 15 else "int"


def cell_type(kind: LeafT) -> str:
    """The Promela type of one stored variable."""
    if isinstance(kind, SetT):
        return scalar_type(min(WORD, cardinality(kind.element)))
    return scalar_type((cardinality(kind) - 1).bit_length())


@dataclass(slots=True)
class Storage:
    """Names of typedefs, fields and members of a system, made once."""

    system: System
    names: Names
    variables: dict[str, str] = field(default_factory=dict)
    """Field of the state -> global variable."""
    fields: dict[tuple[RecordT, str], str] = field(default_factory=dict)
    """Field of a record -> field of its typedef."""
    members: dict[tuple[EnumT, str], str] = field(default_factory=dict)
    typedefs: dict[Type, str] = field(default_factory=dict)
    none: str = ""

    def __post_init__(self) -> None:
        self.none = self.names.fresh("None")
        for name, kind in self.system.state.fields:
            self.variables[name] = self.names.fresh(name)
            self._typedef(kind)

    def _typedef(self, kind: Type) -> None:
        """Names for the records and rows inside a type, innermost first."""
        if kind in self.typedefs:
            return
        match kind:
            case RecordT():
                for name, inner in kind.fields:
                    self._typedef(inner)
                    self.fields[kind, name] = self.names.fresh(name)
                self.typedefs[kind] = self.names.fresh(f"{kind.name}_t")
            case ArrayT():
                self._typedef(kind.element)
                if self.needs_row(kind.element):
                    self.typedefs[kind.element] = self.names.fresh(f"Row_{len(self.typedefs)}")
            case _:
                pass

    def needs_row(self, kind: Type) -> bool:
        """Whether an array of it needs a typedef around each element: Promela has arrays of one dimension only."""
        return kind not in self.typedefs and (isinstance(kind, ArrayT) or (isinstance(kind, SetT) and words(kind) > 1))

    def member(self, kind: EnumT, name: str) -> str:
        """The macro of a member."""
        if (kind, name) not in self.members:
            self.members[kind, name] = self.names.fresh(f"{kind.name}_{name}")
        return self.members[kind, name]

    # --- declarations ---------------------------------------------------------------------------------

    def declarations(self) -> Iterator[str]:
        """Typedefs and global variables."""
        for kind, name in self.typedefs.items():
            inside = (
                [(self.fields[kind, field_name], inner) for field_name, inner in kind.fields]
                if isinstance(kind, RecordT)
                else [("at", kind)]
            )
            yield f"typedef {name} {{"
            for field_name, inner in inside:
                yield f"  {self.declare(inner, field_name)};"
            yield "}"
        if self.typedefs:
            yield ""
        for field_name, kind in self.system.state.fields:
            yield f"{self.declare(kind, self.variables[field_name])};"

    def declare(self, kind: Type, name: str) -> str:
        """A declaration of one variable."""
        match kind:
            case ArrayT():
                element = self.typedefs.get(kind.element) or self.declare(kind.element, "").strip()
                return f"{element} {name}[{cardinality(kind.index)}]"
            case RecordT():
                return f"{self.typedefs[kind]} {name}"
            case SetT() if words(kind) > 1:
                return f"int {name}[{words(kind)}]"
            case NoneT():
                raise AssertionError("the state holds no bare None")
            case _:
                return f"{cell_type(kind)} {name}"

    def cell_types(self) -> Iterator[str]:
        """The Promela types of all variables of a state."""
        for _, kind in leaves(self.system.state):
            many = words(kind) if isinstance(kind, SetT) else 1
            yield from [cell_type(kind) if many == 1 else "int"] * many

    # --- places ---------------------------------------------------------------------------------------

    def cell(self, place: Place, index: Callable[[Expr], str]) -> str:
        """The variable that a place is; `index` gives the position of an index as text."""
        kind: Type = self.system.state
        text = ""
        for step in place.steps:
            if isinstance(step, str):
                assert isinstance(kind, RecordT)
                text = f"{text}.{self.fields[kind, step]}" if text else self.variables[step]
                kind = dict(kind.fields)[step]
            else:
                assert isinstance(kind, ArrayT)
                text += f"[{index(step)}]"
                kind = kind.element
                if not isinstance(kind, RecordT) and kind in self.typedefs:
                    text += ".at"
        return text

    def index_types(self, place: Place) -> list[LeafT]:
        """Types of the indices of a place."""
        kind: Type = self.system.state
        found = []
        for step in place.steps:
            if isinstance(kind, RecordT):
                kind = dict(kind.fields)[str(step)]
            elif isinstance(kind, ArrayT):
                found.append(kind.index)
                kind = kind.element
        return found

    def is_inside(self, place: Place, text: str) -> bool:
        """Whether the text reads the variable that the place belongs to: SPIN indexes no array with itself."""
        return re.search(rf"\b{self.variables[str(place.steps[0])]}\b", text) is not None

    def cells(self, kind: Type, text: str) -> Iterator[str]:
        """All variables inside a part of the state."""
        match kind:
            case RecordT():
                for name, inner in kind.fields:
                    yield from self.cells(inner, f"{text}.{self.fields[kind, name]}")
            case ArrayT():
                row = ".at" if not isinstance(kind.element, RecordT) and kind.element in self.typedefs else ""
                for at in range(cardinality(kind.index)):
                    yield from self.cells(kind.element, f"{text}[{at}]{row}")
            case SetT() if words(kind) > 1:
                yield from (f"{text}[{at}]" for at in range(words(kind)))
            case _:
                yield text


def offset(value: Text, kind: LeafT) -> Text:
    """The position of a number of the type."""
    low = base(kind)
    return value if low == 0 else infix("-", value, literal(low)) if low > 0 else infix("+", value, literal(-low))


def onset(raw: Text, kind: LeafT) -> Text:
    """The number at a position; inverse of `offset`."""
    low = base(kind)
    return raw if low == 0 else infix("+", raw, literal(low)) if low > 0 else infix("-", raw, literal(-low))
