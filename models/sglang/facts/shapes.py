"""The form of a recorded fact: where something stands in the released code, and which shape it has.

Shapes are patterns of source text: Python with `_` for any expression, and `...` for other arguments of a call.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contains:
    """The function has this statement or expression."""

    code: str


@dataclass(frozen=True, slots=True)
class Lacks:
    """The function has none of these."""

    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Before:
    """The function has both, and the first place of `first` comes before the first place of `then`."""

    first: str
    then: str


@dataclass(frozen=True, slots=True)
class Guards:
    """An `if` of the function has `test` in its condition and `then` in its body."""

    test: str
    then: str


@dataclass(frozen=True, slots=True)
class Unguarded:
    """The function has `code`, and not in the body of an `if` that asks `test`."""

    test: str
    code: str


@dataclass(frozen=True, slots=True)
class Returns:
    """Every `return` of the function gives this."""

    code: str


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter of the function has this default."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Value:
    """The constant, the environment variable or the option is declared with this value."""

    value: str


@dataclass(frozen=True, slots=True)
class Absent:
    """There is nothing of that name."""


Shape = Contains | Lacks | Before | Guards | Unguarded | Returns | Default | Value | Absent


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of the released code.

    `where` are citations, one of which covers each release; `expected` pairs ranges of releases with shapes, likewise.
    `switch` is the parameter of the model that the fact decides, and `on` the releases whose presets have it on (None:
    no release).
    """

    id: str
    says: str
    where: tuple[str, ...]
    expected: tuple[tuple[str, Shape], ...]
    switch: str = ""
    on: str | None = None


EVERY = ""
"""Every release."""

PREFILL = "srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin"
PREFILL_QUEUE = "srt/disaggregation/prefill.py:PrefillBootstrapQueue"
DECODE = "srt/disaggregation/decode.py:SchedulerDisaggregationDecodeMixin"
DECODE_QUEUE = "srt/disaggregation/decode.py:DecodePreallocQueue"
TRANSFER_QUEUE = "srt/disaggregation/decode.py:DecodeTransferQueue"
MANAGER = "srt/disaggregation/common/conn.py:CommonKVManager"
SENDER = "srt/disaggregation/common/conn.py:CommonKVSender"
RECEIVER = "srt/disaggregation/common/conn.py:CommonKVReceiver"
MOONCAKE = "srt/disaggregation/mooncake/conn.py:MooncakeKVManager"
SHARED = "srt/disaggregation/utils.py"
SCHEDULER = "srt/managers/scheduler.py:Scheduler"
REQUEST = "srt/managers/schedule_batch.py:Req"
ENVIRONMENT = "srt/environ.py"
OPTIONS = "srt/server_args.py"
