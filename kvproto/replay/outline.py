"""How a trace of the model `outline` is performed on the reference cluster: parameters, and actions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from kvproto.diagnostics import did_you_mean
from kvproto.reference import prompts
from kvproto.reference.outline import Cluster, Sizes, Switches
from kvproto.reference.outline.decode import RUNNING
from kvproto.replay.canaries import Reader, foreign
from kvproto.replay.misfit import misfit, shown
from kvproto.replay.outline_state import abstract, page_texts
from kvproto.replay.result import CanaryFound, ClientView, PageTexts
from kvproto.trace.trace import State, Step

Parameters = Mapping[str, bool | int | str]

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

ACTIONS: dict[str, tuple[tuple[str, ...], Callable[..., None]]] = {
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
    known = (*SIZES, *SWITCHES, *ENVIRONMENT)
    for name in parameters:
        if name not in known:
            misfit(
                f"parameter {shown(name)} is not known",
                reason=f"the reference implementation has no such size or switch{did_you_mean(str(name)[:60], known)}",
            )
    for name in known:
        if name not in parameters:
            misfit(f"parameter {name} is missing", reason="a trace names all sizes and switches in force")
    sizes = {field: _size(name, parameters[name], most) for name, (field, most) in SIZES.items()}
    for name in ENVIRONMENT:
        _switch(name, parameters[name])
    return Sizes(**sizes), Switches(**{name: _switch(name, parameters[name]) for name in SWITCHES})


def _size(name: str, value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        misfit(
            f"{name} is {shown(value)}",
            reason=f"the reference implementation takes a number from 1 to {most}",
            cure=f"use a scope with a smaller {name}",
        )
    return value


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        misfit(f"{name} is {shown(value)}", reason="a switch is true or false", cure="write true or false")
    return value


@dataclass(slots=True)
class OutlineRun:
    """One run of the reference cluster on behalf of a trace."""

    cluster: Cluster
    reader: Reader

    @classmethod
    def start(cls, parameters: Parameters, xp: Any) -> OutlineRun:
        """A cluster with the sizes and switches of a trace, nothing sent yet."""
        sizes, switches = configuration(parameters)
        cluster = Cluster(sizes, switches, xp=xp)
        return cls(cluster, Reader(cluster.decode.pool.arrays))

    def check(self, step: Step) -> None:
        """Raise `KvError` if the step is none of this model's, whatever the state."""
        self._event(step)

    def perform(self, step: Step) -> None:
        """Perform the event that the step names; raises `Refused` if the implementation does not do it now."""
        arguments, event = self._event(step)
        event(self.cluster, *arguments)
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

    def _event(self, step: Step) -> tuple[list[int | bool], Callable[..., None]]:
        if not isinstance(step.action, str) or step.action not in ACTIONS:
            hint = did_you_mean(str(step.action)[:60], ACTIONS)
            misfit(f"action {shown(step.action)}", reason=f"the model has no such action{hint}")
        names, event = ACTIONS[step.action]
        if set(step.args) != set(names):
            given = shown(list(step.args))
            misfit(f"action {step.action} with arguments {given}", reason=f"it takes {', '.join(names)}")
        return [self._argument(step.action, name, step.args[name]) for name in names], event

    def _argument(self, action: str, name: str, value: object) -> int | bool:
        sizes = self.cluster.sizes
        labels = prompts.LABELS[: sizes.requests]
        if name == "r" and isinstance(value, str) and len(value) == 1 and value in labels:
            return labels.index(value) + 1
        if name == "long" and isinstance(value, bool):
            return value
        if name == "k" and type(value) is int and 0 <= value < sizes.context:
            return value
        expected = {"r": f"a request, {labels[0]} to {labels[-1]}", "long": "true or false"}
        misfit(
            f"action {action} with {name} = {shown(value)}",
            reason=f"{name} is {expected.get(name, f'a position from 0 to {sizes.context - 1}')}",
        )

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
        return tuple(
            CanaryFound(reader, writer, pages, view.delivered)
            for reader, view in self.answers().items()
            for writer, pages in foreign(reader, view.read).items()
        )
