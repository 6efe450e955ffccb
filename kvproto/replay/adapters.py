"""Which models have a reference implementation, and how a trace of theirs is performed on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kvproto.diagnostics import KvError
from kvproto.reference.array import Arrays, namespace
from kvproto.replay.outline import OutlineRun
from kvproto.replay.result import CanaryFound, ClientView, PageTexts
from kvproto.replay.sglang import SglangRun
from kvproto.trace.trace import State, Step
from kvproto.transports import Transport


class Run(Protocol):
    """A run of an implementation on behalf of a trace."""

    def check(self, step: Step) -> None:
        """Raise `KvError` if the step is none of the model's, whatever the state."""

    def perform(self, step: Step) -> None:
        """Do what the step names; raises `Refused` with the reason if that is not possible now."""

    def settle(self) -> list[str]:
        """Let the implementation give the answers that are due; says what it did, as steps are written."""

    def texts(self) -> PageTexts:
        """What the pages hold now."""

    def state(self, texts: PageTexts) -> State:
        """The state in the model's variables, in the model's order."""

    def answers(self) -> Mapping[str, ClientView]:
        """What every client has."""

    def canaries(self) -> tuple[CanaryFound, ...]:
        """Every client's text that was read for somebody else."""


ADAPTERS: dict[str, Callable[[Mapping[str, bool | int | str], Any, Transport | None], Run]] = {
    "outline": OutlineRun.start,
    "sglang": SglangRun.start,
}
"""Model name -> how a run starts, from the parameters of a trace, the array namespace and what moves the pages."""


def start(model: str, parameters: Mapping[str, bool | int | str], xp: Any, mover: Transport | None = None) -> Run:
    """A run of the implementation that belongs to a model; its pages are moved by `mover`, or as the trace says."""
    if model not in ADAPTERS:
        raise KvError(
            "KV020",
            f"there is no reference implementation of model {ascii(model)[:60]}",
            reason=f"traces of {', '.join(ADAPTERS)} can be replayed",
            cure="show the trace instead: kvproto show TRACE",
        )
    return ADAPTERS[model](parameters, arrays_of(xp), mover)


def arrays_of(xp: Any) -> Arrays:
    """The tensor operations of a namespace: a name, a module, or what is such already."""
    try:
        return namespace(xp)
    except ImportError as missing:
        raise KvError(
            "KV020",
            f"the reference implementation cannot run here: {missing}",
            reason="it computes with tensors and needs an array library, which kvproto itself does not",
            cure="install numpy",
        ) from None
