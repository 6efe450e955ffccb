"""What a model author imports."""

from kvproto.lang.bind import world
from kvproto.lang.binding import Params, choice, flag, number
from kvproto.lang.model import Flights, Machine, Model, Pool, Preset, Scope, action, init
from kvproto.lang.native import NotEnabled, Record, require, step, subsets
from kvproto.lang.properties import (
    always_eventually,
    eventually,
    eventually_always,
    invariant,
    leads_to,
    sometimes,
    strong,
    weak,
)
from kvproto.lang.reports import Mechanism, Report
from kvproto.lang.sorts import Array, Bag, Bool, Int, Opt, Queue, Set, Sort

__all__ = [
    "Array",
    "Bag",
    "Bool",
    "Flights",
    "Int",
    "Machine",
    "Mechanism",
    "Model",
    "NotEnabled",
    "Opt",
    "Params",
    "Pool",
    "Preset",
    "Queue",
    "Record",
    "Report",
    "Scope",
    "Set",
    "Sort",
    "action",
    "always_eventually",
    "choice",
    "eventually",
    "eventually_always",
    "flag",
    "init",
    "invariant",
    "leads_to",
    "number",
    "require",
    "sometimes",
    "step",
    "strong",
    "subsets",
    "weak",
    "world",
]
