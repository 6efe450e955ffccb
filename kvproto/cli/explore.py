"""`kvproto explore`: an implementation through all or many orders of its steps, with the model beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kvproto.cli.options import check_json_file, on_terminal, say, seconds, setting, write_json, write_text
from kvproto.cli.traces import told, variant
from kvproto.diagnostics import KvError, did_you_mean
from kvproto.exploring.beside import Beside
from kvproto.exploring.findings import AT_REST, DEFAULT
from kvproto.exploring.report import explored_lines, summary
from kvproto.exploring.schedule import SUFFIX, Schedule
from kvproto.exploring.schedule import check as check_schedule
from kvproto.exploring.schedule import read as read_schedule
from kvproto.exploring.search import Explored, Plan
from kvproto.exploring.search import explore as explored
from kvproto.exploring.target import Target
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target as Named
from kvproto.lang.load import find
from kvproto.trace import codec
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

REFERENCE = "reference"
MOST_SCHEDULES_WRITTEN = 5
TRACES = ".kvproto/traces"


@dataclass(frozen=True, slots=True)
class _Subject:
    """A model under one binding, and what is to be driven beside it."""

    impl: str
    named: Named
    chosen: Chosen
    system: System

    @property
    def title(self) -> str:
        """Model, preset and scope."""
        preset = f"@{self.chosen.preset}" if self.chosen.preset else ""
        scope = f", scope {self.chosen.scope}" if self.chosen.scope else ""
        return f"{self.system.model}{preset}{scope}"


@click.command()
@click.argument("target", required=False)
@click.option("--impl", metavar="NAME", help="What to drive: sglang==VERSION, or reference.")
@click.option("--depth", type=click.IntRange(min=0), default=4, show_default=True, help="Every order up to N steps.")
@click.option(
    "--schedules", type=click.IntRange(min=0), default=100, show_default=True, help="Then N orders at random."
)
@click.option("--length", type=click.IntRange(min=1), default=60, show_default=True, help="Steps of these, at most.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the orders at random.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), callback=seconds, metavar="SECONDS", help="Stop then."
)
@click.option("--requests", type=click.IntRange(1, 8), metavar="N", help="How many requests; short for --set Req=N.")
@click.option("--scope", metavar="NAME", help="How large a world (kvproto list).")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a parameter or the size of a sort.")
@click.option("--property", "claims", multiple=True, metavar="NAME", help="Ask for this claim only (repeatable).")
@click.option("--ticks", is_flag=True, help="Clocks may run out, too.")
@click.option("--after", metavar="TRACE", help="Begin after the steps of this trace, with its sizes.")
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="--after: only its first N steps.")
@click.option("--again", metavar="FILE", help="Take the steps of a schedule that was written before, and no others.")
@click.option("--trace-dir", default=TRACES, show_default=True, metavar="DIR", help="Where paths are written.")
@click.option("--json", "json_file", metavar="FILE", help="Write the outcome as JSON (- for standard output).")
def explore(target: str | None, impl: str | None, again: str | None, json_file: str | None, **given: Any) -> int:
    """Drive real code in every order, with the model beside it.

    TARGET is the model; without it it is the preset of the engine's version. After every step the code is asked
    which claims are broken, and its state is compared with the model's. A violation is written as a trace that
    kvproto replay --impl takes. Exit 1 if something was found; otherwise 3, because a search of code is never
    complete.
    """
    if again is not None:
        _refuse_beside_again()
        return _again(again, impl)
    check_json_file(json_file)
    if impl is None:
        raise click.MissingParameter(param_type="option", param_hint="'--impl'", ctx=click.get_current_context())
    first = _first_steps(given["after"], given["keep"])
    sets: dict[str, Any] = dict(setting(text) for text in given["sets"])
    if given["requests"] is not None:
        if "Req" in sets:
            raise KvError(
                "KV026",
                "--requests and --set Req=N say the same",
                reason="the first is short for the second, and only one of them could count",
                cure="leave one of the two out",
            )
        sets["Req"] = str(given["requests"])
    subject = _subject(impl, target, given["scope"], sets, first)
    plan = Plan(
        depth=given["depth"],
        schedules=given["schedules"],
        length=given["length"],
        seed=given["seed"],
        ticks=given["ticks"],
        time_limit=given["time_limit"],
        claims=_claims(given["claims"], subject.system),
        tell=_progress if on_terminal() else lambda _: None,
    )
    codec.prepare(given["trace_dir"])
    with _driven(subject) as (driven, beside):
        if first is not None:
            plan = replace(plan, first=beside.path_of(first.steps))
        result = explored(driven, beside, plan)
        if on_terminal():
            _progress("")
        files = _written(subject, beside, result, Path(given["trace_dir"]))
    if json_file != "-":
        for line in explored_lines(result, subject.title, files):
            say(line)
    if json_file is not None:
        write_json(json_file, summary(result, subject.title, files))
    return result.exit_code


def _refuse_beside_again() -> None:
    """A schedule says itself what is driven, and how."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in ("again", "impl") and source not in (None, ParameterSource.DEFAULT):
            shown = parameter.opts[0] if isinstance(parameter, click.Option) else "TARGET"
            raise KvError(
                "KV026",
                f"{shown} says nothing with --again",
                reason="a schedule has steps, a model and sizes of its own, and these steps are all that is taken",
                cure=f"leave {shown} out",
            )


def _progress(text: str) -> None:
    """One line that is written over."""
    click.echo(f"\r{text:<60}", err=True, nl=False)


def _first_steps(file: str | None, keep: int | None) -> Trace | None:
    """The trace to begin after, as far as it is to be kept."""
    if file is None:
        if keep is not None:
            raise KvError(
                "KV026",
                "--keep says nothing without --after",
                reason="it is the number of steps that are kept of a trace",
                cure="leave --keep out, or give --after TRACE",
            )
        return None
    trace = codec.read(file)
    return trace if keep is None else replace(trace, steps=trace.steps[:keep])


def _sizes_of(trace: Trace | None) -> dict[str, Any]:
    """The sizes of a trace; switches are those of the model that goes beside."""
    found = {} if trace is None else trace.parameters
    return {name: value for name, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}


def _subject(
    impl: str, target: str | None, scope: str | None, sets: dict[str, Any], first: Trace | None = None
) -> _Subject:
    """The model to go beside: the one named, or the preset of the engine's version, with the sizes of `first`."""
    if target is None:
        name, equals, version = impl.partition("==")
        target = f"{name}@{version}" if equals else "sglang"
    named = find(target)
    if first is not None and first.model != named.model.name:
        raise KvError(
            "KV057",
            f"the exploration cannot begin after a trace of {ascii(first.model)[:60]}",
            reason=f"the model beside it is {named.model.name}",
            cure="give a trace of that model, or TARGET",
        )
    chosen = choose(named.model, preset=named.preset, scope=scope, sets=_sizes_of(first) | sets)
    return _Subject(impl, named, chosen, build(named.model, chosen))


def _claims(names: tuple[str, ...], system: System) -> tuple[str, ...]:
    known = [*(claim.name for claim in system.claims if claim.kind == "invariant"), AT_REST]
    for name in names:
        if name not in known:
            raise KvError(
                "KV004",
                f"{ascii(name)[:60]} is no claim about states{did_you_mean(name, known)}",
                reason="code is asked for claims that one state decides",
                cure=f"name one of {', '.join(known)}",
            )
    return names or DEFAULT


@contextmanager
def _driven(subject: _Subject) -> Iterator[tuple[Target, Beside]]:
    """What is driven and the model beside it; an engine's process ends with the block."""
    if subject.impl == REFERENCE:
        from kvproto.exploring.reference import Reference

        beside = Beside(subject.system)
        yield Reference(beside), beside
        return
    from kvproto.engines import fitting, kept
    from kvproto.engines.child import Child
    from kvproto.exploring.engine import Engine

    engine = kept.parse(subject.impl)
    sizes = fitting.sizes(_empty(subject.system))
    with Child(engine) as child:
        beside = Beside(subject.system, grouped=Engine.grouped, left_out=Engine.left_out)
        yield Engine(child, sizes, subject.system), beside


def _empty(system: System) -> Trace:
    """A trace without steps: what decides whether an engine can be driven with these settings."""
    s = system
    return Trace(s.model, s.preset, s.scope, dict(s.parameters), "", "", "holds", "", {}, ())


def _written(subject: _Subject, beside: Beside, result: Explored, folder: Path) -> dict[str, str]:
    """Write traces of violations that the model has too, and schedules of everything that it has not."""
    files: dict[str, str] = {}
    driven = "reference" if subject.impl == REFERENCE else "code"
    for claim, found in result.findings.violations.items():
        run = beside.counterexample(found.path, claim)
        if run is not None:
            name = "-".join(part for part in (driven, variant(subject.named, subject.chosen)) if part)
            trace = replace(told(subject.system, run), strength=found.way, shortest=False)
            files[claim] = str(codec.write(trace, folder, variant=name))
        else:
            files[claim] = _schedule(subject, found.path, f"{claim} is violated", folder, claim)
    gaps = sorted(result.findings.gaps.values(), key=lambda gap: (len(gap.path), gap.about))
    for number, gap in enumerate(gaps[:MOST_SCHEDULES_WRITTEN], 1):
        about = f"{gap.about}: {gap.detail}"
        files[gap.about] = _schedule(subject, gap.path, about, folder, f"gap{number}")
    return files


def _schedule(subject: _Subject, path: Any, about: str, folder: Path, name: str) -> str:
    parameters: dict[str, bool | int | str] = dict(subject.system.parameters)
    preset = f"@{subject.chosen.preset}" if subject.chosen.preset else ""
    target = f"{subject.system.model}{preset}"
    kept = Schedule(subject.impl, target, subject.chosen.scope, parameters, about, path)
    of = "reference" if subject.impl == REFERENCE else "code"
    file = folder / f"{target.replace('@', '-')}-{of}-{name}{SUFFIX}"
    write_text(str(file), kept.text())
    return str(file)


def _again(file: str, impl: str | None) -> int:
    """Take the steps of a schedule; says after each what the model makes of it."""
    kept = read_schedule(file)
    subject = _subject(impl or kept.impl, kept.target, kept.scope or None, dict(kept.sets))
    wrong = False
    with _driven(subject) as (driven, beside):
        check_schedule(file, kept, lambda step: step.action in driven.driven and beside.knows(step))
        say(f"{driven.name}, {len(kept.steps)} steps of a schedule about: {printable(kept.about)}")
        did = driven.begin()
        state = beside.start()
        parted = False
        for number, step in enumerate(kept.steps, 1):
            did = driven.perform(step)
            said = _said(beside, None if parted else state, step, did.look.state)
            ended = did.refused or did.raised
            say(f"{number:>4}  {step!s:<34} {f'not done: {ended}' if ended else said}".rstrip())
            if ended:
                wrong = wrong or bool(did.raised)
                break
            following = None if parted else beside.after(state, step)
            parted = parted or following is None or bool(said)
            state = state if following is None else following
        wrong = wrong or parted or bool(did.look.broken & set(DEFAULT))
        say(f"claims that are broken at the end: {', '.join(sorted(did.look.broken)) or 'none'}")
    return 1 if wrong else 3


def _said(beside: Beside, state: Any, step: Any, code: Any) -> str:
    """What the model makes of a step; empty where it does the same, or has been left before."""
    if state is None:
        return ""
    after = beside.after(state, step)
    if after is None:
        return f"the model refuses it: {beside.refuses(state, step)}"
    differ = beside.differences(after, code)
    if not differ:
        return ""
    return f"{differ[0].path} is {differ[0].model} in the model, {differ[0].code} in the code"
