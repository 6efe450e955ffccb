"""`kvproto replay --http URL`: the options, and what happens instead of a replay."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from kvproto.cli.options import check_json_file, say, seconds, write_json
from kvproto.diagnostics import KvError

KEY = "KVPROTO_API_KEY"
"""Environment variable with the key of the endpoint; a command line can be read by others."""

COUNT = click.IntRange(1, 20_000_000)
"""Tokens: more than a pool has, and no more than a prompt that fits in memory."""

OPTIONS = (
    click.option("--http", metavar="URL", help="Probe an OpenAI-compatible endpoint instead (no TRACE then)."),
    click.option("--model", metavar="NAME", default="", help="--http: the model to ask for."),
    click.option("--pool", type=COUNT, metavar="TOKENS", help="--http: size of the prefill pool."),
    click.option("--prompt-tokens", type=COUNT, metavar="N", help="--http: length of the long prompt."),
    click.option("--canary-tokens", type=COUNT, metavar="N", help="--http: length of the canary."),
    click.option("--canary-only", is_flag=True, help="--http: send only the canary, to see that all is set up."),
    click.option("--rounds", type=click.IntRange(min=1), default=1, metavar="N", help="--http: so many times."),
    click.option("--max-tokens", type=click.IntRange(min=1), default=256, metavar="N", help="--http: of each answer."),
    click.option(
        "--timeout",
        type=click.FloatRange(0.1, 86400),
        callback=seconds,
        default=300.0,
        metavar="S",
        help="--http: of a request.",
    ),
    click.option("--chat", is_flag=True, help="--http: /v1/chat/completions instead of /v1/completions."),
    click.option("--stream", is_flag=True, help="--http: streamed answers."),
)
NAMES = (
    "http",
    "model",
    "pool",
    "prompt_tokens",
    "canary_tokens",
    "canary_only",
    "rounds",
    "max_tokens",
    "timeout",
    "chat",
    "stream",
)


def with_http(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command that replays a trace; with --http the endpoint is probed instead."""

    @functools.wraps(command)
    def either(**given: Any) -> int:
        asked = {name: given.pop(name) for name in NAMES}
        if asked["http"] is None:
            _refuse_given(NAMES, "without --http")
            if given["trace"] is None:
                raise click.MissingParameter(
                    param_type="argument", param_hint="'TRACE'", ctx=click.get_current_context()
                )
            return command(**given)
        _refuse_given([name for name in given if name != "json_file"], "with --http")
        return _probe(asked, given["json_file"])

    for option in reversed(OPTIONS):
        either = option(either)
    return either


def _refuse_given(names: Any, when: str) -> None:
    """Options that would change nothing are refused."""
    context = click.get_current_context()
    kinds = {parameter.name: parameter for parameter in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        if name in kinds and source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
            shown = kinds[name].opts[0] if isinstance(kinds[name], click.Option) else name.upper()
            raise KvError(
                "KV026",
                f"{shown} says nothing {when}",
                reason="a trace is replayed on an implementation, an endpoint is probed with two prompts",
                cure=f"leave {shown} out, or give --http URL" if when.startswith("without") else f"leave {shown} out",
            )


def _probe(asked: dict[str, Any], json_file: str | None) -> int:
    from kvproto.probing import Endpoint, Plan, probe, probe_lines, summary

    pool, tokens = asked["pool"], asked["prompt_tokens"]
    if pool is None and tokens is None:
        raise KvError(
            "KV060",
            "the size of the prefill pool is not known",
            reason="the second prompt has to be longer than the pool, which the engine prints when it starts",
            cure="give --pool TOKENS, or --prompt-tokens N for a prompt of that length",
        )
    if pool is not None and tokens is not None and tokens <= pool:
        raise KvError(
            "KV060",
            f"a prompt of {tokens} tokens fits a pool of {pool}",
            reason="only a prompt above the pool takes the way that is probed",
            cure=f"give --prompt-tokens {pool + pool // 20 + 1}, or leave it out",
        )
    if pool is not None and asked["canary_tokens"] is not None and asked["canary_tokens"] > pool:
        raise KvError(
            "KV060",
            f"a canary of {asked['canary_tokens']} tokens does not fit a pool of {pool}",
            reason="only a prompt that is served leaves its text behind",
            cure="leave --canary-tokens out: nine tenths of the pool are taken then",
        )
    check_json_file(json_file)
    endpoint = Endpoint(
        asked["http"], asked["model"], asked["chat"], asked["stream"], asked["timeout"], os.environ.get(KEY, "")
    )
    plan = Plan(
        pool=pool if pool is not None else tokens - 1,
        prompt_tokens=tokens,
        canary_tokens=asked["canary_tokens"],
        canary_only=asked["canary_only"],
        rounds=asked["rounds"],
        max_tokens=asked["max_tokens"],
    )
    result = probe(endpoint, plan)
    if json_file != "-":
        for line in probe_lines(result):
            say(line)
    if json_file is not None:
        write_json(json_file, summary(result))
    return result.exit_code
