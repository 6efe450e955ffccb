"""How an implementation says that an event cannot happen now."""

from __future__ import annotations


class Refused(Exception):
    """An event cannot happen now; the text says why.  Nothing has been changed."""


def expect(condition: bool, otherwise: str) -> None:
    """Refuse the event unless the condition holds; `otherwise` is the reason."""
    if not condition:
        raise Refused(otherwise)
