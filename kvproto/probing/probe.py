"""The probe: two short prompts as a measure, then the canary and the prompt above the pool, as often as asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kvproto.diagnostics import KvError
from kvproto.probing.client import Reply
from kvproto.probing.judge import BAD, Judgement, judge
from kvproto.probing.prompts import Secret, canary, filler, long_prompt
from kvproto.trace.printable import printable

MARGIN = 1.05
"""The long prompt is so much longer than the pool: the end of it has other words than were measured."""

SHORT, LONGER = 10, 40
"""Words of the two prompts that are sent first; their difference is free of what a chat template adds."""


class Asks(Protocol):
    """Takes a prompt and gives the answer."""

    @property
    def place(self) -> str:
        """What messages call it."""

    def ask(self, prompt: str, max_tokens: int) -> Reply:
        """The answer to a prompt."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send.

    `pool` is the prefill pool in tokens; `prompt_tokens` how long the long prompt is, by default a little longer than
    the pool.  `canary_tokens` is the most that the canary may have, by default nine tenths of the pool.
    """

    pool: int
    prompt_tokens: int | None = None
    canary_tokens: int | None = None
    canary_only: bool = False
    rounds: int = 1
    max_tokens: int = 256
    fresh: Callable[[], Secret] = Secret.fresh

    @property
    def long_tokens(self) -> int:
        """Tokens that the long prompt is to have."""
        return self.prompt_tokens or math.ceil(self.pool * MARGIN)


@dataclass(frozen=True, slots=True)
class Round:
    """One canary and one long prompt, with what came back; `long` is None where only the canary was sent."""

    canary: Secret
    first: Reply
    long: Reply | None
    tokens: int | None
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Probed:
    """All rounds; the one that decides is the first bad one, or else the last."""

    place: str
    plan: Plan
    rounds: tuple[Round, ...]

    @property
    def decides(self) -> Round:
        """The round that the verdict comes from."""
        bad = (one for one in self.rounds if one.judgement.verdict in BAD)
        # A refusal now and a time-out then are not a refusal.
        unclear = (one for one in self.rounds if one.judgement.verdict != "refused")
        return next(bad, next(unclear, self.rounds[-1]))

    @property
    def exit_code(self) -> int:
        """1 for an answer that must not be, 0 for an explicit refusal every time, 3 for everything else."""
        verdict = self.decides.judgement.verdict
        return 1 if verdict in BAD else 0 if verdict == "refused" else 3


def probe(endpoint: Asks, plan: Plan) -> Probed:
    """Send the prompts; stops after the first bad answer."""
    cost = _Cost.measured(endpoint)
    rounds: list[Round] = []
    while len(rounds) < plan.rounds:
        rounds.append(_round(endpoint, plan, cost))
        if rounds[-1].judgement.verdict in BAD:
            break
    return Probed(endpoint.place, plan, tuple(rounds))


@dataclass(frozen=True, slots=True)
class _Cost:
    """Tokens that a common word costs; None where answers do not say how many a prompt had."""

    per_word: float | None

    @classmethod
    def measured(cls, endpoint: Asks) -> _Cost:
        counts = [_ordinary(endpoint, endpoint.ask(filler(words), 1)).prompt_tokens for words in (SHORT, LONGER)]
        if None in counts:
            return cls(None)
        short, longer = (count or 0 for count in counts)
        return cls(max(1.0, (longer - short) / (LONGER - SHORT)))

    def words(self, tokens: int) -> int:
        """Words that have at least so many tokens; without a measure a word counts as one."""
        return math.ceil(tokens / (self.per_word or 1.0))

    def tokens(self, prompt: str) -> int | None:
        """About how many tokens a prompt of common words has."""
        return None if self.per_word is None else round(len(prompt.split()) * self.per_word)


def _round(endpoint: Asks, plan: Plan, cost: _Cost) -> Round:
    secret, mark = plan.fresh(), plan.fresh()
    first = _ordinary(
        endpoint, endpoint.ask(canary(secret, plan.canary_tokens or plan.pool * 9 // 10), plan.max_tokens)
    )
    if (trouble := _open(first)) is not None:
        return Round(secret, first, None, None, trouble)
    if plan.canary_only:
        said = "the canary was answered with status 200; nothing was sent that could be judged"
        return Round(secret, first, None, None, Judgement("seeded", said))
    prompt = long_prompt(mark, cost.words(plan.long_tokens))
    tokens = cost.tokens(prompt)
    long = endpoint.ask(prompt, plan.max_tokens)
    return Round(secret, first, long, tokens, judge(long, secret, mark, pool=plan.pool, tokens=tokens))


def _open(first: Reply) -> Judgement | None:
    """Why the canary leaves the question open, unless it was answered."""
    if first.end == "timeout":
        return Judgement("timeout", f"the canary: {first.trouble}")
    if first.end == "broken":
        return Judgement("unreadable", f"the canary: {first.trouble}")
    if first.status >= 500:
        return Judgement("failed", f"the canary, an ordinary prompt, was answered with status {first.status}")
    return None


def _ordinary(endpoint: Asks, reply: Reply) -> Reply:
    """The answer to an ordinary prompt, which must not be refused."""
    if reply.end != "answered" or reply.status == 200 or reply.status >= 500:
        return reply
    raise KvError(
        "KV059",
        f"{endpoint.place} refuses an ordinary prompt: status {reply.status}"
        + (f", {printable(reply.error)[:160]}" if reply.error else ""),
        reason="what an endpoint says to a long prompt can be judged only if it answers an ordinary one",
        cure="check the address, --model NAME, the key in KVPROTO_API_KEY, and that --pool counts tokens",
    )
