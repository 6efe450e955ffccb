"""Text from a file that is about to reach a terminal: neutral, measured, folded.

A trace may come from anybody.  A name in it with an escape sequence could repaint the terminal, one with a
bidirectional override could show another verdict than the file holds, one with a newline could fake a line.
"""

from __future__ import annotations

import unicodedata

from kvproto.trace.trace import Value

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """`text` on one line; control, formatting, private and unpaired characters become escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in _UNSAFE else c for c in text)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(value: Value) -> str:
    """A value of the state as people read it: `none`, `true`, `{0, 1}`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "{" + ", ".join(shown(item) for item in value) + "}"
    return printable(str(value))


def cells(text: str) -> int:
    """How many terminal cells printable `text` takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cell(c) for c in text)


def _cell(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def pad(text: str, width: int) -> str:
    """`text` with spaces up to `width` cells."""
    return text + " " * max(0, width - cells(text))


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells; what does not fit is replaced by `...`."""
    if cells(text) <= width:
        return text
    return _head(text, max(width - 3, 0)) + "..."[: max(width, 0)]


def _head(text: str, width: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:at]
    return text


def fold(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` cells, broken at spaces, inside a word only if it is too long."""
    width = max(width, 2)
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cells(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        while cells(word) > width:
            head = _head(word, width)
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line]
