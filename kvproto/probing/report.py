"""A probe in words and as JSON.  Answers are never shown: if something leaks, it may be anybody's."""

from __future__ import annotations

import textwrap

from kvproto.probing.client import Reply
from kvproto.probing.judge import BAD
from kvproto.probing.probe import Probed, Round
from kvproto.probing.prompts import Secret
from kvproto.trace.printable import printable

WIDTH = 100
MOST_MESSAGE = 200

HEADS = {
    "leak": "LEAK",
    "suspicious": "WRONG ANSWER",
    "refused": "refused, as it should be",
}


def probe_lines(result: Probed) -> list[str]:
    """The report: the two requests of the round that decides, and the verdict."""
    one, plan = result.decides, result.plan
    many = f", round {result.rounds.index(one) + 1} of {len(result.rounds)}" if len(result.rounds) > 1 else ""
    lines = [f"probe of {printable(result.place)}{many}", f"  canary       {one.canary}"]
    lines += _reply("1  canary", one.first, "", one.canary)
    if one.long is not None:
        size = f"about {one.tokens} tokens" if one.tokens is not None else f"at least {plan.long_tokens} words"
        lines += _reply("2  long", one.long, f" ({size}, pool {plan.pool})", one.canary)
    verdict = one.judgement.verdict
    head = HEADS.get(verdict, f"inconclusive ({verdict})")
    lines += ["", *textwrap.wrap(f"{head}: {one.judgement.reason}", WIDTH, subsequent_indent="  ")]
    if one.judgement.found:
        lines.append(f"  pieces found: {' '.join(one.judgement.found)}")
    if verdict in BAD:
        lines += textwrap.wrap(
            "The answer is not shown, because it may hold other people's text. Take the endpoint out of service, and "
            "see docs/injection.md for what to look at.",
            WIDTH,
        )
    return lines


def _reply(name: str, reply: Reply, note: str, canary: Secret) -> list[str]:
    if reply.end == "timeout":
        said = reply.trouble
    else:
        said = f"status {reply.status}" + (" within an answer of status 200" if reply.late else "")
        said += f", {reply.prompt_tokens} prompt tokens" if reply.prompt_tokens is not None else ""
        said += f", {len(reply.text)} characters" if reply.text else ""
        said += f", finish reason {printable(reply.finish)[:20]}" if reply.finish else ""
        said += f", {reply.trouble}" if reply.trouble else ""
    lines = [f"  {name:<11}{note and note + ' '} {said}, {reply.seconds:.1f} s"]
    message = _message(reply, canary)
    return lines if message is None else [*lines, f"               {message}"]


def _message(reply: Reply, canary: Secret) -> str | None:
    """The message of an error; one that has the canary in it may go on with other people's text."""
    if reply.error is None:
        return None
    return (
        "(an error whose message is not shown)" if canary.found(reply.error) else printable(reply.error)[:MOST_MESSAGE]
    )


def summary(result: Probed) -> dict[str, object]:
    """JSON values; of answers only their lengths."""
    return {
        "schema": "kvproto.probe/1",
        "endpoint": result.place,
        "pool": result.plan.pool,
        "verdict": result.decides.judgement.verdict,
        "exit_code": result.exit_code,
        "rounds": [_one(one) for one in result.rounds],
    }


def _one(one: Round) -> dict[str, object]:
    return {
        "canary": str(one.canary),
        "verdict": one.judgement.verdict,
        "reason": one.judgement.reason,
        "found": list(one.judgement.found),
        "prompt_tokens": one.tokens,
        "first": _facts(one.first, one.canary),
        "long": None if one.long is None else _facts(one.long, one.canary),
    }


def _facts(reply: Reply, canary: Secret) -> dict[str, object]:
    return {
        "status": reply.status,
        "end": reply.end,
        "error": _message(reply, canary),
        "late": reply.late,
        "prompt_tokens": reply.prompt_tokens,
        "finish": reply.finish[:20],
        "characters": len(reply.text),
        "seconds": round(reply.seconds, 3),
    }
