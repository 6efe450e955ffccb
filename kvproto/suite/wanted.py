"""`-k EXPR`: which entries are wanted, in the words of pytest: `SGLang and not leak`, `vllm or (bug and hang)`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from kvproto.diagnostics import KvError

Wanted = Callable[[str], bool]
"""Whether an entry with those words (in small letters) is wanted."""

_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")


def wanted(expression: str) -> Wanted:
    """The predicate that an expression stands for.  A word is in the text of an entry, or is not.  Raises KV048.

    >>> wanted("sglang and not leak")("patterns.lost_wakeup sglang hang")
    True
    """
    parser = _Parser(expression, _TOKEN.findall(expression))
    found = parser.either()
    if parser.left:
        parser.refuse(f"{parser.left[0]!r} is too much")
    return found


@dataclass
class _Parser:
    """Takes words from the front of `left`."""

    text: str
    left: list[str] = field(default_factory=list)

    def refuse(self, what: str) -> None:
        """Raise KV048."""
        raise KvError(
            "KV048",
            f"-k {self.text!r}: {what}",
            reason="an expression is made of words, and, or, not and brackets",
            cure="write for example  -k 'sglang and not leak'",
        )

    def _took(self, word: str) -> bool:
        if self.left and self.left[0].lower() == word:
            self.left.pop(0)
            return True
        return False

    def either(self) -> Wanted:
        """`a or b`."""
        parts = [self.both()]
        while self._took("or"):
            parts.append(self.both())
        return lambda words: any(part(words) for part in parts)

    def both(self) -> Wanted:
        """`a and b`."""
        parts = [self.single()]
        while self._took("and"):
            parts.append(self.single())
        return lambda words: all(part(words) for part in parts)

    def single(self) -> Wanted:
        """`not a`, `(a)`, `word`."""
        if self._took("not"):
            denied = self.single()
            return lambda words: not denied(words)
        if self._took("("):
            inner = self.either()
            if not self._took(")"):
                self.refuse("a bracket is not closed")
            return inner
        if not self.left or self.left[0].lower() in ("and", "or", ")"):
            self.refuse(f"a word is missing before {self.left[0]!r}" if self.left else "a word is missing at the end")
        word = self.left.pop(0).lower()
        return lambda words: word in words
