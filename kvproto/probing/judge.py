"""What an answer to the long prompt means: by its status and by what stands in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvproto.probing.client import Reply
from kvproto.probing.prompts import GROUPS, Secret

Verdict = Literal[
    "refused", "leak", "suspicious", "served", "truncated", "failed", "unreached", "timeout", "unreadable", "seeded"
]

BAD: tuple[Verdict, ...] = ("leak", "suspicious")
GOOD: tuple[Verdict, ...] = ("refused",)

ELSEWHERE = {
    401: "the key is not accepted",
    403: "access is denied",
    404: "there is no such path or model",
    405: "the path takes no such request",
    407: "a proxy wants a name",
    408: "the server lost patience with the request",
    429: "there were too many requests",
}
"""Statuses that say nothing of the length of a prompt."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason; `found` are pieces of the canary, whoever's text they came in."""

    verdict: Verdict
    reason: str
    found: tuple[str, ...] = ()


def judge(reply: Reply, canary: Secret, mark: Secret, *, pool: int, tokens: int | None) -> Judgement:
    """Judge the answer to a prompt above a pool of `pool` tokens.

    `tokens` are those that the prompt has by the measure of the first answer, None if that had no measure.
    """
    # The text by itself, as a stream may have cut a piece in two; and whatever else came back.
    found = canary.found(f"{reply.text} {reply.other}")
    if found:
        whole = "the whole canary" if len(found) == GROUPS else f"{len(found)} of {GROUPS} pieces of the canary"
        return Judgement("leak", f"the answer contains {whole}, text that only the request before it had sent", found)
    if reply.end == "timeout":
        return Judgement("timeout", f"{reply.trouble}; the client is told nothing")
    if reply.end == "broken":
        return Judgement("unreadable", reply.trouble)
    if reply.status == 200:
        return _fluent(reply, mark, pool=pool, tokens=tokens)
    return _error(reply)


def _error(reply: Reply) -> Judgement:
    status = f"status {reply.status}" + (" (within an answer of status 200)" if reply.late else "")
    if reply.status in ELSEWHERE:
        return Judgement("unreached", f"{status}: {ELSEWHERE[reply.status]}, which says nothing of the prompt's length")
    if reply.error is None:
        return Judgement("unreached", f"{status} without an error in the API's form: not the engine's answer")
    if 400 <= reply.status < 500:
        return Judgement("refused", f"{status}, an explicit error")
    if reply.status >= 500:
        return Judgement(
            "failed", f"{status}: no answer, but no clear refusal either; such an error may have another cause"
        )
    return Judgement("unreached", f"{status} is neither an answer nor an error")


def _fluent(reply: Reply, mark: Secret, *, pool: int, tokens: int | None) -> Judgement:
    """Status 200, and nothing of the canary."""
    if mark.found(reply.text):
        return Judgement(
            "served",
            "status 200, and the answer quotes the end of its own prompt: it was read, so the pool is larger than said",
        )
    if reply.prompt_tokens is not None and reply.prompt_tokens <= pool:
        return Judgement(
            "truncated",
            f"status 200 with {reply.prompt_tokens} prompt tokens, no more than the pool has: the prompt was cut",
        )
    counted = "no prompt tokens reported" if reply.prompt_tokens is None else f"{reply.prompt_tokens} prompt tokens"
    size = f"a prompt of about {tokens} tokens" if tokens is not None else "a prompt"
    return Judgement(
        "suspicious",
        f"status 200 ({counted}) for {size} above a pool of {pool}: it cannot have been computed, so the answer comes "
        "from pages that hold something else, although not the canary",
    )
