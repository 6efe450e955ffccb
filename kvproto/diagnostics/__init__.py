"""Errors as values: code, place with a caret, reason, cure.  Every layer may import this one."""

from kvproto.diagnostics.catalogue import CATALOGUE, Entry
from kvproto.diagnostics.error import Diagnostic, KvError, did_you_mean
from kvproto.diagnostics.loc import Loc

__all__ = ["CATALOGUE", "Diagnostic", "Entry", "KvError", "Loc", "did_you_mean"]
