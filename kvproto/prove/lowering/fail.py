"""What takes a model out of the language of proofs: errors with place, reason and cure, all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kvproto.diagnostics import Diagnostic, KvError, Loc

SIZES_ONLY = "the model can be checked for the sizes of a scope all the same: kvproto check"


class NotGeneral(KvError):
    """A model that is outside of the language of proofs; `all` holds every reason, the first is the error itself."""

    def __init__(self, found: Sequence[Diagnostic]) -> None:
        first = found[0]
        super().__init__(
            first.code, first.message, reason=first.reason, cure=first.cure, loc=first.loc, line=first.line
        )
        self.all = tuple(found)

    def __reduce__(self) -> tuple[object, tuple[Any]]:
        return NotGeneral, (self.all,)


def refuse(code: str, message: str, loc: Loc | None, reason: str, cure: str) -> NoReturn:
    """Raise the error; the line is filled in by `placed`."""
    raise NotGeneral([Diagnostic(code, message, reason, cure, loc)])


def refuse_type(text: str, reason: str) -> NoReturn:
    """KV162: a part of the state that is no relation."""
    refuse("KV162", f"{text} is no relation over sorts", None, reason, f"use sets and arrays over sorts; {SIZES_ONLY}")


def refuse_element(sort: str, loc: Loc) -> NoReturn:
    """KV161: an element with a name of its own."""
    refuse(
        "KV161",
        f"an element of {sort} is named",
        loc,
        "a proof is about any number of elements, of which none has a number or a name of its own",
        f"make it a parameter, or a field of the state of type {sort}; {SIZES_ONLY}",
    )


def refuse_number(sort: str, loc: Loc) -> NoReturn:
    """KV161: the number of an element."""
    refuse(
        "KV161",
        f"the number of an element of {sort} is used",
        loc,
        "elements are in an order here (`p < q`), but have no numbers",
        f"compare the elements themselves; {SIZES_ONLY}",
    )


def refuse_count(loc: Loc) -> NoReturn:
    """KV163: how many there are."""
    refuse(
        "KV163",
        "elements are counted",
        loc,
        "how many there are depends on the sizes of sorts, and a proof is about all sizes",
        f"ask whether there is one (any, not), or compare sets; {SIZES_ONLY}",
    )


def refuse_arithmetic(op: str, loc: Loc) -> NoReturn:
    """KV163: a product or quotient of unknown numbers."""
    refuse(
        "KV163",
        f"numbers are combined by {op}, and neither is known",
        loc,
        "sums, differences and known multiples of numbers can be decided, products and quotients cannot",
        f"give one of the numbers a value: --set NAME=VALUE; {SIZES_ONLY}",
    )


def placed(found: Sequence[Diagnostic], sources: Mapping[str, str]) -> list[Diagnostic]:
    """The same, each once and with its source line."""
    told: dict[tuple[str, str, Loc | None], Diagnostic] = {}
    for one in found:
        told.setdefault((one.code, one.message, one.loc), one)
    return [_with_line(one, sources) for one in told.values()]


def _with_line(one: Diagnostic, sources: Mapping[str, str]) -> Diagnostic:
    if one.loc is None or one.line:
        return one
    lines = sources.get(one.loc.file, "").splitlines()
    line = lines[one.loc.line - 1] if 0 < one.loc.line <= len(lines) else ""
    return Diagnostic(one.code, one.message, one.reason, one.cure, one.loc, line)
