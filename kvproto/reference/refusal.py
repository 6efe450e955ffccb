"""How an implementation says that an event cannot happen now."""

from __future__ import annotations


class Refused(Exception):
    """An event cannot happen now; the text says why.  Nothing has been changed."""
