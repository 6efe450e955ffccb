"""The wire format of protocol buffers, as much of it as writing takes: a field is a key and a value.

Writing four kinds of fields needs neither a compiler of schemas nor a library at run time; the tests read what is
written with the official one.
"""

from __future__ import annotations

_VARINT, _FIXED64, _LENGTH = 0, 1, 2


def varint(value: int) -> bytes:
    """A number from 0 to 2**64 - 1, seven bits a byte, the lowest first.

    >>> varint(300).hex()
    'ac02'
    """
    pieces = bytearray()
    while value > 0x7F:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)


def number(field: int, value: int) -> bytes:
    """A field of an integer or enumeration type; the values here are never negative."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A field of eight bytes."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little")


def whole(field: int, content: bytes) -> bytes:
    """A field that holds bytes or another message."""
    return varint(field << 3 | _LENGTH) + varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """A field that holds text, which has no unpaired surrogates."""
    return whole(field, content.encode("utf-8"))
