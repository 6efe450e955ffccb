"""How a trace of the model `sglang` is performed on the reference cluster: parameters, and actions by name."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kvproto.reference import prompts
from kvproto.reference.sglang import Cluster, Sizes, Switches
from kvproto.reference.sglang.decode import RUNNING
from kvproto.replay.canaries import Reader, canaries
from kvproto.replay.fitting import (
    FLAG,
    Event,
    Kind,
    Parameters,
    check_names,
    event,
    number,
    request,
    size,
    switch,
    word,
)
from kvproto.replay.result import CanaryFound, ClientView, PageTexts
from kvproto.replay.sglang_state import Faded, abstract, page_texts
from kvproto.trace.trace import State, Step
from kvproto.transports import Transport

SIZES = {
    "Req": ("requests", 1, len(prompts.LABELS)),
    "Pos": ("context", 1, prompts.MOST_PAGES),
    "PRank": ("prefill_ranks", 1, 8),
    "DRank": ("decode_ranks", 1, 8),
    "PPage": ("prefill_pages", 1, 1024),
    "DPage": ("decode_pages", 1, 1024),
    "PRow": ("prefill_rows", 1, 1024),
    "DRow": ("decode_rows", 1, 1024),
    "short_prompt": ("short_prompt", 1, prompts.MOST_PAGES),
    "prefill_pool": ("prefill_pool", 1, 1 << 20),
    "faults": ("faults", 0, 1 << 20),
}
"""Size parameters of the model: field of `Sizes`, and the least and the most that the implementation takes.

`prefill_pool` is only ever compared with; the pool itself has at most PPage pages.
"""

SWITCHES = tuple(field.name for field in fields(Switches))

Actions = dict[str, tuple[tuple[str, ...], Event]]

SCHEDULERS: Actions = {
    "submit": (("r", "long"), lambda c, r, long: c.router.submit(r, long)),
    "disconnect": (("r",), lambda c, r: c.router.disconnect(r)),
    "admit": (("r",), lambda c, r: c.prefill.admit(r)),
    "finalize": (("r",), lambda c, r: c.prefill.finalize(r)),
    "bootstrap_timeout": (("r",), lambda c, r: c.prefill.bootstrap_timeout(r)),
    "bootstrap_failure": (("r",), lambda c, r: c.prefill.bootstrap_failure(r)),
    "forward_chunk": (("r",), lambda c, r: c.prefill.forward_chunk(r)),
    "launch_chunk": (("r",), lambda c, r: c.prefill.launch_chunk(r)),
    "compute_chunk": (("r",), lambda c, r: c.prefill.compute_chunk(r)),
    "forward": (("r",), lambda c, r: c.prefill.forward(r)),
    "process_result": (("r",), lambda c, r: c.prefill.process_result(r)),
    "inflight_success": (("r",), lambda c, r: c.prefill.inflight_success(r)),
    "inflight_failure": (("r",), lambda c, r: c.prefill.inflight_failure(r)),
    "abort_on_prefill": (("r",), lambda c, r: c.prefill.handle_abort(r)),
    "enter": (("r",), lambda c, r: c.decode.enter(r)),
    "prealloc": (("r",), lambda c, r: c.decode.prealloc(r)),
    "prealloc_failure": (("r",), lambda c, r: c.decode.prealloc_failure(r)),
    "receive_success": (("p", "d", "r"), lambda c, p, d, r: c.decode.ranks[d].receive_success(p, r)),
    "receive_failure": (("p", "d", "r"), lambda c, p, d, r: c.decode.ranks[d].receive_failure(p, r)),
    "receive_ack": (("p", "d", "r"), lambda c, p, d, r: c.decode.ranks[d].receive_ack(p, r)),
    "waiting_timeout": (("d", "r"), lambda c, d, r: c.decode.waiting_timeout(d, r)),
    "abort_on_decode": (("r",), lambda c, r: c.decode.handle_abort(r)),
    "transfer_failure": (("r",), lambda c, r: c.decode.transfer_failure(r)),
    "commit": (("r",), lambda c, r: c.decode.commit(r)),
    "attend": (("r",), lambda c, r: c.decode.attend(r)),
    "heartbeat_failure": (("r",), lambda c, r: c.decode.heartbeat_failure(r)),
    "retract": (("r",), lambda c, r: c.retract(r)),
    "finish": (("r",), lambda c, r: c.decode.finish(r)),
    "release_drained": (("d", "r"), lambda c, d, r: c.decode.release_drained(d, r)),
    "release_timeout": (("d", "r"), lambda c, d, r: c.decode.release_timeout(d, r)),
}

THREADS: Actions = {
    "receive_metadata": (("p", "d", "r"), lambda c, p, d, r: c.prefill.ranks[p].thread.receive_metadata(d, r)),
    "receive_abort": (("p", "d", "r"), lambda c, p, d, r: c.prefill.ranks[p].thread.receive_abort(d, r)),
    "register_target": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].thread.register(r)),
    "try_acknowledge": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].thread.acknowledge(r)),
    "dequeue": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.dequeue(r)),
    "check": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.check(r)),
    "begin": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.begin(r)),
    "next_batch": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.next_batch(r)),
    "call_succeeds": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.call_succeeds(r)),
    "call_fails": (("p", "r", "d"), lambda c, p, r, d: c.prefill.ranks[p].worker.call_fails(r, d)),
    "resubmit": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.resubmit(r)),
    "conclude": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.conclude(r)),
    "crash_worker": (("p", "r"), lambda c, p, r: c.prefill.ranks[p].worker.crash(r)),
    "probe_session": (("p", "d"), lambda c, p, d: c.probe(p, d)),
}

ENVIRONMENT: Actions = {
    "land": (("p", "d", "r", "k"), lambda c, p, d, r, k: c.engine.land(p, d, r, k)),
    "land_late": (("p", "d", "r", "k"), lambda c, p, d, r, k: c.engine.land_late(p, d, r, k)),
    "vanish": (("p", "d", "r", "k"), lambda c, p, d, r, k: c.engine.vanish(p, d, r, k)),
    "prefill_dies": ((), lambda c: c.prefill.die()),
    "lose_up": (("p", "d", "r", "m"), lambda c, p, d, r, m: c.lose("up", p, d, r, m)),
    "lose_down": (("p", "d", "r", "m"), lambda c, p, d, r, m: c.lose("down", p, d, r, m)),
}

ACTIONS: Actions = SCHEDULERS | THREADS | ENVIRONMENT
"""Actions of the model: parameters, and the event of the implementation."""


def configuration(parameters: Parameters) -> tuple[Sizes, Switches]:
    """Sizes and switches from the parameters of a trace; all of them must be there, and no others."""
    check_names(parameters, (*SIZES, *SWITCHES))
    sizes = {field: size(name, parameters[name], most, least=least) for name, (field, least, most) in SIZES.items()}
    return Sizes(**sizes), Switches(**{name: switch(name, parameters[name]) for name in SWITCHES})


@dataclass(slots=True)
class SglangRun:
    """One run of the reference cluster on behalf of a trace."""

    cluster: Cluster
    reader: Reader
    faded: Faded = field(default_factory=Faded)

    @classmethod
    def start(cls, parameters: Parameters, xp: Any, mover: Transport | None = None) -> SglangRun:
        """A cluster with the sizes and switches of a trace, nothing sent yet."""
        sizes, switches = configuration(parameters)
        cluster = Cluster(sizes, switches, xp=xp, mover=mover)
        run = cls(cluster, Reader(cluster.arrays))
        cluster.forgetting = lambda room: run.faded.fade(cluster, room)
        return run

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
        return event(step, ACTIONS, self._kinds())

    def _kinds(self) -> dict[str, Kind]:
        sizes = self.cluster.sizes
        return {
            "r": request(sizes.requests),
            "p": number("prefill rank", sizes.prefill_ranks),
            "d": number("decode rank", sizes.decode_ranks),
            "k": number("position", sizes.context),
            "long": FLAG,
            "lose_up.m": word(("METADATA", "ABORT")),
            "lose_down.m": word(("SUCCESS", "FAILED", "ACK")),
        }

    def texts(self) -> PageTexts:
        """What the pages of all ranks hold now."""
        return page_texts(self.cluster, self.reader)

    def state(self, texts: PageTexts) -> State:
        """The state in the model's variables."""
        return abstract(self.cluster, self.reader, texts, self.faded)

    def answers(self) -> dict[str, ClientView]:
        """What every client has."""
        return {prompts.label(room): self._view(room) for room in self.cluster.rooms}

    def _view(self, room: int) -> ClientView:
        call = self.cluster.router.calls.get(room)
        if call is None:
            return ClientView("not sent", None, 0, "", ())
        passes = self.cluster.decode.requests[room].passes
        read = tuple(text for each in passes for text in each.values())
        several = len(self.cluster.network.pairs) > 1
        by = tuple(_reader(number, *pair) for number, each in enumerate(passes, 1) for pair in each) if several else ()
        if call.answer is not None:
            answer = call.answer
            return ClientView("answered", answer.status, answer.prompt_tokens, answer.text, read, by)
        return ClientView("gone" if call.disconnected else "waiting", None, len(call.prompt), "", read, by)

    def canaries(self) -> tuple[CanaryFound, ...]:
        """Every client's text that decode read for somebody else."""
        return canaries(self.answers())


def _reader(number: int, d: int, p: int) -> str:
    return f"pass {number}, rank {d}, slice of prefill rank {p}"
