"""What a model author imports."""

from kvproto.lang.bind import world
from kvproto.lang.binding import Params, choice, flag, number
from kvproto.lang.model import Flights, Machine, Model, Pool, Preset, Scope, action, init, invariant
from kvproto.lang.native import NotEnabled, Record, require, step
from kvproto.lang.sorts import Array, Bool, Int, Opt, Set, Sort

__all__ = [
    "Array",
    "Bool",
    "Flights",
    "Int",
    "Machine",
    "Model",
    "NotEnabled",
    "Opt",
    "Params",
    "Pool",
    "Preset",
    "Record",
    "Scope",
    "Set",
    "Sort",
    "action",
    "choice",
    "flag",
    "init",
    "invariant",
    "number",
    "require",
    "step",
    "world",
]
