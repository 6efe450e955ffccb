"""`kvproto bench mitigations`: the options, and what is measured instead of searches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kvproto.bench.machine import describe, load
from kvproto.cli.options import on_terminal, refuse_places, say, unwritable, write_json
from kvproto.diagnostics import KvError

WHAT = ("searches", "mitigations")
PAGE_SIZES = (16, 64, 256)
TOKENS = (1024, 8192)
ROUNDS = 15
SHARED = ("what", "rounds", "output", "json_file")
"""Parameters that mean something for both."""

WRONG = 1
"""Exit code if a mitigation did not do what it is for."""

OPTIONS = (
    click.argument("what", type=click.Choice(WHAT), default=WHAT[0], metavar="[searches|mitigations]"),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="mitigations: where the pages lie; auto takes a CUDA device where there is one.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1, 256),
        default=1,
        show_default=True,
        metavar="N",
        help="mitigations: threads of the CPU; with several, a busy machine decides.",
    ),
    click.option(
        "--page-size",
        "page_sizes",
        multiple=True,
        type=click.IntRange(1, 4096),
        metavar="N",
        help="mitigations: tokens a page (repeatable; 16, 64 and 256).",
    ),
    click.option(
        "--tokens",
        multiple=True,
        type=click.IntRange(1, 1 << 20),
        metavar="N",
        help="mitigations: length of the sequence (repeatable; 1024 and 8192).",
    ),
)


def with_costs(command: Callable[..., int]) -> Callable[..., int]:
    """Let a benchmark command take WHAT; with `mitigations` their costs are measured and the command is not called."""

    @functools.wraps(command)
    def either(**given: Any) -> int:
        own = {name: given.pop(name) for name in ("what", "device", "threads", "page_sizes", "tokens")}
        if own["what"] == "searches":
            _refuse_given(("device", "threads", "page_sizes", "tokens"), "bench searches")
            return command(**given)
        _refuse_given([name for name in given if name not in SHARED], "bench mitigations")
        return _costs(own, given["rounds"], given["output"], given["json_file"])

    for option in reversed(OPTIONS):
        either = option(either)
    return either


def _refuse_given(names: Any, what: str) -> None:
    """Options that would change nothing are refused."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
            raise KvError(
                "KV026",
                f"{parameter.opts[0]} says nothing to kvproto {what}",
                reason="searches are measured at sizes of a model, mitigations at sizes of pages and sequences",
                cure=f"leave {parameter.opts[0]} out (kvproto bench --help)",
            )


def _costs(own: dict[str, Any], rounds: int | None, output: str | None, json_file: str | None) -> int:
    refuse_places({"--output": output, "--json": json_file})
    # Only here: all of this needs PyTorch.
    from kvproto.bench.mitigations import keep_memory, measure
    from kvproto.bench.mitigations_ops import Case
    from kvproto.bench.mitigations_report import Report, as_json, as_markdown
    from kvproto.reference.paged.libraries import device_label, device_named, has_cuda, torch

    device = own["device"] if own["device"] != "auto" else "cuda" if has_cuda() else "cpu"
    label = device_label(device_named(device))
    machine = describe()
    where = f"{label}: {machine['processor']}" if device == "cpu" else label
    cases = [Case(size, tokens) for tokens in own["tokens"] or TOKENS for size in own["page_sizes"] or PAGE_SIZES]
    torch().set_num_threads(own["threads"])
    keep_memory()
    clock = "the wall's" if device == "cuda" else "CPU time of this process"
    before = load()
    try:
        tables = measure(cases, device, rounds or ROUNDS, _tell)
    finally:
        _tell("")
    report = Report(where, int(torch().get_num_threads()), clock, machine, before, load(), tables)
    text = as_markdown(report)
    if output is not None:
        try:
            Path(output).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as problem:
            raise unwritable(output, problem) from None
    elif json_file != "-":
        say(text, newline=False)
    if json_file is not None:
        write_json(json_file, as_json(report))
    return 0 if report.right else WRONG


def _tell(text: str) -> None:
    """Progress, for people only."""
    if on_terminal():
        click.echo(f"\r{text}\033[K", nl=False, err=True)
