"""The one exception that users see, and the value inside it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from kvproto.diagnostics.catalogue import CATALOGUE
from kvproto.diagnostics.loc import Loc


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error before it is text.

    `message` says what is wrong, `reason` why that is refused, `cure` what to write or do instead;
    `loc` and `line` (the source line it points into) are absent for errors that have no source text.
    """

    code: str
    message: str
    reason: str
    cure: str
    loc: Loc | None = None
    line: str = ""

    def render(self) -> str:
        """The four-part text, without colour, ending in a newline."""
        rows = [f"error {self.code}  {self.message}"]
        if self.loc is not None:
            prefix = f"  {self.loc}   "
            if self.line:
                text = self.line.expandtabs(1)
                stripped = text.lstrip()
                cut = len(text) - len(stripped)
                start = max(self.loc.col - cut, 0)
                width = max(self.loc.end_col - self.loc.col, 1)
                width = max(1, min(width, len(stripped) - start))
                rows.append(prefix + stripped)
                rows.append(" " * (len(prefix) + start) + "^" * width)
            else:
                rows.append(prefix.rstrip())
        rows += [f"  {self.reason}", f"  {self.cure}   (kvproto explain {self.code})"]
        return "\n".join(rows) + "\n"


class KvError(Exception):
    """A usage, model or file error that the user can mend; the command line exits 2 with it."""

    def __init__(
        self, code: str, message: str, *, reason: str, cure: str, loc: Loc | None = None, line: str = ""
    ) -> None:
        assert code in CATALOGUE, f"{code} is not in the catalogue"
        self.diagnostic = Diagnostic(code, message, reason, cure, loc, line)
        super().__init__(self.diagnostic.render())

    def __reduce__(self) -> tuple[object, tuple[Diagnostic]]:
        return (_from_diagnostic, (self.diagnostic,))


def _from_diagnostic(d: Diagnostic) -> KvError:
    return KvError(d.code, d.message, reason=d.reason, cure=d.cure, loc=d.loc, line=d.line)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known word, else the empty string."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
