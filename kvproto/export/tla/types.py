"""Types as TLA+ sets, and values in them.

Sorts are numbers from 0, members are strings, an optional is `None` or what is in it, an array is a function, a record
a record.  Queues, bags and sets of records are records of functions, as in the IR.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.export.names import Names
from kvproto.export.tla.text import ATOM, NONE, SETS, Text, number, string, truth
from kvproto.ir.types import (
    ArrayT,
    BoolT,
    EnumT,
    IntT,
    LeafT,
    NoneT,
    OptT,
    RecordT,
    SetT,
    SortT,
    Type,
    Value,
    scalars_of,
    zero_of,
)

_WORDS = """
ASSUME ASSUMPTION AXIOM CASE CHOOSE CONSTANT CONSTANTS DOMAIN ELSE ENABLED EXCEPT EXTENDS IF IN INSTANCE LET LOCAL
MODULE OTHER SF_ SUBSET THEN THEOREM UNCHANGED UNION VARIABLE VARIABLES WF_ WITH BOOLEAN TRUE FALSE STRING LAMBDA
RECURSIVE PROOF PROVE QED BY HAVE TAKE WITNESS PICK SUFFICES NEW STATE ACTION TEMPORAL OBVIOUS OMITTED ONLY USE HIDE
DEF DEFINE DEFS LEMMA PROPOSITION COROLLARY Nat Int Real Infinity Cardinality IsFiniteSet Seq Len Append Head Tail
SubSeq SelectSeq Assert Print PrintT TLCGet TLCSet Permutations SortSeq RandomElement Any ToString JavaTime TLCEval
None Init Next Spec vars TypeOK Min Max Sum Div Mod Terminating Fairness Within S f total one least other most
"""

RESERVED = frozenset(_WORDS.split())
"""What no identifier may be called: words of TLA+, of its standard modules, and of the exporter."""


@dataclass(slots=True)
class Types:
    """Names of types of one system; a definition is made for each that is used."""

    names: Names
    definitions: dict[Type, tuple[str, str]] = field(default_factory=dict)
    """Type -> (name, definition), in the order in which they depend on each other."""
    none: bool = False
    """Whether `None` is needed."""
    bound: list[str] = field(default_factory=list)
    """Names that only the zero state binds, outermost first."""

    def set_of(self, kind: Type) -> Text:
        """All values of a type."""
        match kind:
            case BoolT():
                return Text("BOOLEAN")
            case IntT(lo=lo, hi=hi):
                return Text(f"{number(lo or 0)} .. {number(hi or 0)}", SETS)
            case SortT(name=name, size=size):
                return self._named(kind, name, f"0 .. {size - 1}")
            case EnumT(name=name, members=members):
                return self._named(kind, name, "{" + ", ".join(f'"{m}"' for m in members) + "}")
            case OptT(inner=inner):
                self.none = True
                return Text(f"{self.set_of(inner).at(ATOM)} \\cup {{None}}", SETS)
            case SetT(element=element):
                return Text(f"SUBSET {self.set_of(element).at(ATOM)}", SETS)
            case ArrayT(index=index, element=element):
                return Text(f"[{self.set_of(index)} -> {self.set_of(element)}]")
            case RecordT(name=name, fields=fields):
                inside = ", ".join(f"{self.field(n)}: {self.set_of(t)}" for n, t in fields)
                return self._named(kind, name or "Record", f"[{inside}]")
            case NoneT():
                self.none = True
                return Text("{None}")

    def _named(self, kind: Type, name: str, text: str) -> Text:
        if kind not in self.definitions:
            self.definitions[kind] = (self.names.fresh(name), text)
        return Text(self.definitions[kind][0])

    def field(self, name: str) -> str:
        """A field of a record."""
        return f"{name}_" if name in RESERVED else name

    def value(self, value: Value, kind: Type) -> Text:
        """A constant."""
        match kind:
            case SetT(element=element):
                assert isinstance(value, frozenset)
                inside = [self.value(v, element).text for v in scalars_of(element) if v in value]
                return Text("{" + ", ".join(inside) + "}")
            case OptT(inner=inner):
                if value is not None:
                    return self.value(value, inner)
                self.none = True
                return NONE
            case NoneT():
                self.none = True
                return NONE
            case BoolT():
                return truth(bool(value))
            case EnumT():
                return string(str(value))
            case _:
                assert isinstance(value, int)
                return number(int(value))

    def zero(self, kind: Type, bound: int = 0) -> Text:
        """What a part of the state starts with."""
        match kind:
            case ArrayT(index=index, element=element):
                if bound == len(self.bound):
                    self.bound.append(self.names.fresh("ijk"[bound : bound + 1] or "i"))
                name = self.bound[bound]
                return Text(f"[{name} \\in {self.set_of(index)} |-> {self.zero(element, bound + 1)}]")
            case RecordT(fields=fields):
                return Text("[" + ", ".join(f"{self.field(n)} |-> {self.zero(t, bound)}" for n, t in fields) + "]")
            case NoneT():
                return NONE
            case _:
                return self.value(zero_of(kind), kind)

    def domain(self, kind: LeafT, values: tuple[Value, ...], whole: bool) -> Text:
        """What a loop or quantifier ranges over."""
        numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
        if whole:
            return self.set_of(kind)
        if len(numbers) == len(values) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return Text(f"{number(numbers[0])} .. {number(numbers[-1])}", SETS)
        return Text("{" + ", ".join(dict.fromkeys(self.value(v, kind).text for v in values)) + "}")
