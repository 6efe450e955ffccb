"""How kvproto and an engine's process talk: one JSON object a line each way, one answer to every question.

The process says first `{"ok": true, "version": "0.5.19", "python": "3.11.7"}`.  Then, asked by `do`:

| `do` | with | answer |
|---|---|---|
| `start` | `sizes` (`Sizes`) | a fresh pair of schedulers: `state`, `violations` |
| `actions` | | `actions`: every `{"action", "args"}` that is possible now |
| `perform` | `action`, `args` | `refused` (why not; empty if done), `points`, `aside`, `notes`, `state`, `violations` |
| `run` | `sizes`, `steps` | `start`, then steps until one is refused: `performed`, `refused`, `state`, `violations` |
| `view` | | `requests`: what every client has and what was read for it; `assumed`: options taken for off |

Actions are those of the model `sglang` with its arguments; ranks (`p`, `d`) may be left out, since there is one on
either side.  `state` has the model's variables by the model's names, without those of
`kvproto.engines.inside.abstraction.NOT_COMPARED`; equal states are equal dictionaries.  `violations` are names of
the model's claims that what has been seen so far breaks.  `points` are the places in the engine's source that were
called (`srt/disaggregation/decode.py:DecodePreallocQueue.pop_preallocated`), `aside` the requests that were kept
out of a pass over their queue, `notes` remarks.

A refused action changes nothing.  The same steps after the same `start` give the same answers, so a state is
reached again by `run`.  A failure is `{"ok": false, "kind", "text", "where", "trace"}`; after it the pair is not to
be trusted, and `start` or `run` makes another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

State = dict[str, Any]
Args = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the pair, and options; `limit` is the real size of the prefill pool in pages.

    `truncates` is the engine's `--allow-auto-truncate`, `bounded` sets its batches to one page.  The others are what
    the world around it may do: a metadata row never arrives, messages are lost, the transfer worker dies.
    """

    requests: int
    context: int
    short: int
    prefill_pages: int
    limit: int
    decode_pages: int
    prefill_rows: int
    decode_rows: int
    truncates: bool = False
    bounded: bool = False
    loses_rows: bool = False
    loses_messages: bool = False
    crashes: bool = False

    def asked(self) -> dict[str, int | bool]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Now:
    """The state of a pair, and the claims that what was seen so far breaks."""

    state: State
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What became of an action."""

    refused: str
    points: tuple[str, ...]
    aside: tuple[str, ...]
    notes: tuple[str, ...]
    now: Now


@dataclass(frozen=True, slots=True)
class Possible:
    """An action that is possible."""

    action: str
    args: Args


@dataclass(frozen=True, slots=True)
class Leg:
    """What one side has told the client."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What decode read for a request at one time: tokens by author (empty: nobody), and who wrote which page."""

    tokens: Mapping[str, int]
    pages: tuple[tuple[int, str | None], ...]


@dataclass(frozen=True, slots=True)
class Client:
    """What the client of a request has."""

    client: str
    tokens: int
    legs: Mapping[str, Leg]
    reads: tuple[Reading, ...]
