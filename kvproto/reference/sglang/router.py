"""The router: gives each request to both sides and the client its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvproto.reference import prompts
from kvproto.reference.refusal import Refused, expect

if TYPE_CHECKING:
    from kvproto.reference.sglang.links import Links


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: status code, the usage field `prompt_tokens`, and the generated text or the error."""

    status: int
    prompt_tokens: int
    text: str


@dataclass(slots=True)
class Call:
    """One client's call: its prompt, and the answer once there is one."""

    prompt: str
    answer: Answer | None = None
    disconnected: bool = False

    @property
    def waiting(self) -> bool:
        """Whether the client is still there and has no answer."""
        return self.answer is None and not self.disconnected


class Router:
    """Calls by room."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self.calls: dict[int, Call] = {}

    def submit(self, room: int, long: bool) -> None:
        """A client sends its prompt, as long as the context if `long`; both sides get the same body."""
        expect(room not in self.calls, f"router: request {prompts.label(room)} was sent before")
        text = prompts.prompt(room, self._links.sizes.context if long else self._links.sizes.short_prompt)
        self.calls[room] = Call(text)
        self._links.prefill.take(room, text)
        self._links.decode.take(room, len(text))

    def respond(self, room: int, status: int, text: str) -> None:
        """Give the client its answer, unless it has one or is gone."""
        call = self.calls[room]
        if call.waiting:
            call.answer = Answer(status, len(call.prompt), text)

    def disconnect(self, room: int) -> None:
        """The client goes away; both legs are aborted, unless the router waits for a transfer to end."""
        switches = self._links.switches
        expect(switches.client_disconnects, "environment: clients stay")
        call = self.calls.get(room)
        if call is None or not call.waiting:
            raise Refused(f"router: the client of request {prompts.label(room)} does not wait for an answer")
        self._links.faults.spend()
        call.disconnected = True
        if not (switches.patient_balancer and self._links.decode.in_transfer(room)):
            self._links.prefill.aborts.add(room)
            self._links.decode.aborts.add(room)

    def prefill_failed(self, room: int, error: str, *, refused: bool) -> None:
        """The prefill leg ends with an error.  Only a gateway minds: it answers a refusal and stops the decode leg."""
        if self._links.switches.gateway:
            if refused:
                self.respond(room, 400, error)
            self._links.decode.aborts.add(room)
