"""What a replay gives back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kvproto.trace.trace import Value


def _shown(value: Value) -> str:
    """A value as in the file; one that a strange file made long is cut."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first point where the implementation does not do what the model does.

    `step` counts from 1 (`trace.steps[step - 1]`); 0 is the initial state, with empty `action`.  If the implementation
    refused the step, `path` is empty and `reason` says why; else `path` is the first variable that differs, with
    both values, and `more` counts the other variables that differ.
    """

    step: int
    action: str
    path: str = ""
    model: Value = None
    implementation: Value = None
    more: int = 0
    reason: str = ""

    @property
    def refused(self) -> bool:
        """Whether the implementation refused the step rather than ending in another state."""
        return not self.path

    def __str__(self) -> str:
        where = f"step {self.step}, {self.action}" if self.step else "the initial state"
        if self.refused:
            return f"{where}: the implementation refuses it: {self.reason}"
        others = f" (and {self.more} more variables differ)" if self.more else ""
        model, here = _shown(self.model), _shown(self.implementation)
        return f"{where}: {self.path} is {model} in the model, {here} here{others}"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A step of a what-if run that the implementation refused; `step` counts from 1."""

    step: int
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClientView:
    """What the client of a request has at the end.

    `outcome` is `not sent`, `waiting`, `answered` or `gone`; `status` is None unless answered.  `text` is the text of
    the answer (an error message unless the status is 200); `read` are the texts that decode's attention gave for
    this request, one for each time they changed, whether or not they were delivered.  Where several ranks read, or read
    slices of several ranks, every time has several texts, and `read_by` says of each which one it is.
    """

    outcome: str
    status: int | None
    prompt_tokens: int
    text: str
    read: tuple[str, ...]
    read_by: tuple[str, ...] = ()

    @property
    def delivered(self) -> bool:
        """Whether the client got what decode read."""
        return self.status == 200


@dataclass(frozen=True, slots=True)
class CanaryFound:
    """Text of `writer` that decode read for `reader`; `pages` are the page numbers in the writer's prompt.

    A placeholder's page counts as page 0 of its writer.
    """

    reader: str
    writer: str
    pages: tuple[int, ...]
    delivered: bool


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The text in every page of both pools, by page number."""

    prefill: tuple[str, ...]
    decode: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A replay.

    `performed` is the number of steps that the implementation performed.  `pages` has one entry for the initial state
    and one after each step, blocked ones included.  `overrides` are the switches and sizes that differ from the
    trace's; with any of them the states are not compared and `divergence` is None.  `settled` are events after the
    trace that brought answers to their end; `pages` has no entries for them.  `what_if` says what else differs from
    the trace; nothing is compared then either.  `backend` and `device` say what held the tensors.
    """

    model: str
    overrides: Mapping[str, bool | int]
    performed: int
    answers: Mapping[str, ClientView]
    divergence: Divergence | None
    blocked: tuple[Blocked, ...]
    canaries: tuple[CanaryFound, ...]
    pages: tuple[PageTexts, ...]
    settled: tuple[str, ...] = ()
    what_if: str = ""
    backend: str = "numpy"
    device: str = "cpu"

    @property
    def agrees(self) -> bool:
        """Whether the implementation ended every step in the model's state; only said where states were compared."""
        return not self.overrides and not self.what_if and self.divergence is None

    def summary(self) -> dict[str, object]:
        """JSON values for the `replay` field of a trace: the verdict, each answer, each foreign canary."""
        return {
            "agrees": self.agrees,
            "performed": self.performed,
            "backend": self.backend,
            "device": self.device,
            "divergence": None if self.divergence is None else str(self.divergence),
            "overrides": dict(self.overrides),
            "answers": {
                name: {key: getattr(view, key) for key in ("outcome", "status", "prompt_tokens", "text")}
                for name, view in self.answers.items()
            },
            "canaries": [
                {"reader": c.reader, "writer": c.writer, "pages": list(c.pages), "delivered": c.delivered}
                for c in self.canaries
            ],
        }
