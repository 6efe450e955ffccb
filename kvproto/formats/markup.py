"""Text from a trace inside of Markdown for GitHub: shown as it is, and nothing but text.

An issue thread is a place where names act: `@name` calls somebody, `#12` links and tells an issue of it, HTML and
pictures are drawn.  Whatever could mean something is written as a character reference; a mention is looked for in the
text after those have been read, so there a space without width stands behind the sign as well.
"""

from __future__ import annotations

import re

from kvproto.trace.printable import printable

NO_WIDTH = "\u200b"

_MARKS = re.compile(r"[\\`*\[<&|~$@#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_START = re.compile(r"\A(?:[-+=>]|\d+[.)])")
_ACTING = re.compile(r"(?<=[@#])|(?<=\bGH)(?=-\d)|(?<=:)(?=//|[\w+-]+:)|(?<=\bwww)(?=\.)", re.IGNORECASE)
"""Where a space without width takes its meaning from a text: mentions, issues, addresses, names of small pictures."""


def plain(text: str, most: int = 400) -> str:
    """Text on one line of Markdown, also at the start of a line and in a cell of a table; at most that many characters.

    >>> plain("a_b = <i> | 2 * 3 -> @you")
    'a_b = &#60;i> &#124; 2 &#42; 3 -> &#64;&#8203;you'
    """
    line = _line(text, most).strip()
    first = _START.match(line)
    start = "".join(f"&#{ord(char)};" for char in first[0]) if first else ""
    return start + _inert(line[len(first[0]) if first else 0 :])


def inner(text: str, most: int = 400) -> str:
    """A piece of a line that begins with something else; spaces at its ends stay."""
    return _inert(_line(text, most))


def code(text: str, most: int = 400) -> str:
    """The same in the letters of code, where names do not act.

    >>> code("d_owner[0]"), code("a|b")
    ('`d_owner[0]`', '<code>a&#124;b</code>')
    """
    line = _line(text, most).strip()
    if not re.search(r"[`|\\]", line):
        return f"`{line}`" if line else ""
    parts = [re.sub(r"[^A-Za-z0-9 .,=/()+-]", _reference, part) for part in _ACTING.split(line)]
    return f"<code>{'&#8203;'.join(parts)}</code>"


def block(text: str, language: str = "") -> str:
    """Lines of code between fences; they are longer than any run of backticks in them."""
    runs = re.findall(r"`+", text)
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _line(text: str, most: int) -> str:
    short = printable(text[: most + 1])
    return re.sub(r"\s+", " ", short if len(short) <= most else short[: most - 3] + "...")


def _inert(line: str) -> str:
    return "&#8203;".join(_MARKS.sub(_reference, part) for part in _ACTING.split(line))


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"
