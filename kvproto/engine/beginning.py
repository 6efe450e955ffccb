"""The initial states of a search, on the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Machine, State
from kvproto.engine.initial import initial
from kvproto.engine.layout import Layout
from kvproto.engine.model_errors import listed, model_error
from kvproto.engine.starting import called
from kvproto.ir.nodes import System


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where runs start.

    `states` are packed, distinct and in order.  `failed` are assertions that failed in an init function, with what it
    had made by then; such a start gives no state.  `stopped` says why there are not all of them ("" if there are).
    """

    states: tuple[int, ...]
    failed: dict[str, State]
    stopped: str = ""


def beginning(system: System, folded: System, layout: Layout, late: Callable[[], bool]) -> Beginning:
    """All initial states, or those found until it was too `late`.

    Raises KvError KV151 where there are none, KV2nn where an init function goes wrong.
    """
    failed = dict[str, State]()
    if not system.inits:
        return Beginning((layout.pack(Machine(system).zero()),), failed)
    found, stopped = dict[int, None](), ""
    for init, args, made in initial(system, folded, layout):
        if late():
            stopped = "time limit"
            break
        if isinstance(made, int):
            found[made] = None
        elif made.fault.claim:
            failed.setdefault(made.fault.claim, made.state)
        else:
            run = [called(init.name, init.params, args)]
            raise model_error(system, made.fault, f"reached by: {listed(run)}")
    if not found and not failed and not stopped:
        raise KvError(
            "KV151",
            f"model {system.model} has no initial state",
            reason="every init function refused every choice of its parameters, so every claim would hold",
            cure="weaken the require(...) of an init function",
        )
    if not found:
        stopped = stopped or "no initial state passes its assertions"
    return Beginning(tuple(found), failed, stopped)
