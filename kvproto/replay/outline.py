"""How a trace of the model `outline` is performed on the reference cluster: parameters, and actions by name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from kvproto.reference import prompts
from kvproto.reference.outline import Cluster, Sizes, Switches
from kvproto.reference.outline.decode import RUNNING
from kvproto.replay.canaries import Reader, canaries
from kvproto.replay.fitting import FLAG, Event, Parameters, check_names, event, number, request, size, switch
from kvproto.replay.outline_state import abstract, page_texts
from kvproto.replay.result import CanaryFound, ClientView, PageTexts
from kvproto.trace.trace import State, Step
from kvproto.transports import Transport

SIZES = {
    "Req": ("requests", len(prompts.LABELS)),
    "Slot": ("context", prompts.MOST_PAGES),
    "short_prompt": ("short_prompt", prompts.MOST_PAGES),
    "PPage": ("prefill_pages", 1024),
    "prefill_pool": ("prefill_pool", 1 << 20),
    "DPage": ("decode_pages", 1024),
}
"""Size parameters of the model: field of `Sizes`, and the most that the implementation takes.

`prefill_pool` is only ever compared with; the pool itself has at most PPage pages.
"""

SWITCHES = tuple(field.name for field in fields(Switches))

ENVIRONMENT = ("client_disconnects", "transfer_failures")
"""What the model lets happen around the system; the implementation takes it as it comes."""

ACTIONS: dict[str, tuple[tuple[str, ...], Event]] = {
    "submit": (("r", "long"), lambda c, r, long: c.router.submit(r, long)),
    "disconnect": (("r",), lambda c, r: c.router.disconnect(r)),
    "admit": (("r",), lambda c, r: c.prefill.admit(r)),
    "forward": (("r",), lambda c, r: c.prefill.forward(r)),
    "post": (("r",), lambda c, r: c.prefill.send(r)),
    "complete": (("r",), lambda c, r: c.prefill.conclude(r)),
    "abort_on_prefill": (("r",), lambda c, r: c.prefill.handle_abort(r)),
    "drain": (("r",), lambda c, r: c.prefill.drained(r)),
    "land": (("r", "k"), lambda c, r, k: c.transport.land(r, k)),
    "prealloc": (("r",), lambda c, r: c.decode.prealloc(r)),
    "commit": (("r",), lambda c, r: c.decode.commit(r)),
    "attend": (("r",), lambda c, r: c.decode.attend(r)),
    "finish": (("r",), lambda c, r: c.decode.finish(r)),
    "abort_on_decode": (("r",), lambda c, r: c.decode.handle_abort(r)),
    "fail_transfer": (("r",), lambda c, r: c.decode.fail_transfer(r)),
    "release_drained": (("r",), lambda c, r: c.decode.release_acknowledged(r)),
    "release_timeout": (("r",), lambda c, r: c.decode.release_expired(r)),
}
"""Actions of the model: parameters, and the event of the implementation."""


def configuration(parameters: Parameters) -> tuple[Sizes, Switches]:
    """Sizes and switches from the parameters of a trace; all of them must be there, and no others."""
    check_names(parameters, (*SIZES, *SWITCHES, *ENVIRONMENT))
    sizes = {field: size(name, parameters[name], most) for name, (field, most) in SIZES.items()}
    for name in ENVIRONMENT:
        switch(name, parameters[name])
    return Sizes(**sizes), Switches(**{name: switch(name, parameters[name]) for name in SWITCHES})


@dataclass(slots=True)
class OutlineRun:
    """One run of the reference cluster on behalf of a trace."""

    cluster: Cluster
    reader: Reader

    @classmethod
    def start(cls, parameters: Parameters, xp: Any, mover: Transport | None = None) -> OutlineRun:
        """A cluster with the sizes and switches of a trace, nothing sent yet."""
        sizes, switches = configuration(parameters)
        cluster = Cluster(sizes, switches, xp=xp, mover=mover)
        return cls(cluster, Reader(cluster.decode.pool.arrays))

    def check(self, step: Step) -> None:
        """Raise `KvError` if the step is none of this model's, whatever the state."""
        self._event(step)

    def perform(self, step: Step) -> None:
        """Perform the event that the step names; raises `Refused` if the implementation does not do it now."""
        arguments, performed = self._event(step)
        performed(self.cluster, *arguments)
        self.cluster.collect()

    def settle(self) -> list[str]:
        """Every request that decode is generating for comes to its end."""
        done = []
        for room in self.cluster.rooms:
            if self.cluster.decode.queues.of(room) == RUNNING:
                self.cluster.decode.finish(room)
                self.cluster.collect()
                done.append(f"finish({prompts.label(room)})")
        return done

    def _event(self, step: Step) -> tuple[list[Any], Event]:
        sizes = self.cluster.sizes
        kinds = {"r": request(sizes.requests), "k": number("position", sizes.context), "long": FLAG}
        return event(step, ACTIONS, kinds)

    def texts(self) -> PageTexts:
        """What the pages of both pools hold now."""
        return page_texts(self.cluster, self.reader)

    def state(self, texts: PageTexts) -> State:
        """The state in the model's variables."""
        return abstract(self.cluster, texts)

    def answers(self) -> dict[str, ClientView]:
        """What every client has."""
        return {prompts.label(room): self._view(room) for room in self.cluster.rooms}

    def _view(self, room: int) -> ClientView:
        call = self.cluster.router.calls.get(room)
        if call is None:
            return ClientView("not sent", None, 0, "", ())
        read = tuple(self.cluster.decode.requests[room].passes)
        if call.answer is not None:
            answer = call.answer
            return ClientView("answered", answer.status, answer.prompt_tokens, answer.text, read)
        return ClientView("gone" if call.disconnected else "waiting", None, len(call.prompt), "", read)

    def canaries(self) -> tuple[CanaryFound, ...]:
        """Every client's text that decode read for somebody else."""
        return canaries(self.answers())
