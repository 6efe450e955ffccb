"""`kvproto check`: search targets, print verdicts, write traces."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.engine.search import Options, Progress, Result, search
from kvproto.explain import why
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target, find
from kvproto.trace import codec
from kvproto.trace.build import build_trace
from kvproto.view import verdicts

TRACES = ".kvproto/traces"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Request:
    """What the options of `check` ask for, for each target."""

    sets: dict[str, str]
    scope: str | None
    options: Options
    trace_dir: Path
    quiet: bool


def size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """`512M` as a number of bytes."""
    if value is None:
        return None
    text = value.strip().upper().removesuffix("IB").removesuffix("B")
    unit = text[-1:] if text[-1:] in ("K", "M", "G") else ""
    number = text.removesuffix(unit) if unit else text
    if not number.isdecimal() or int(number) == 0:
        raise click.BadParameter(f"{value!r} is no size; write 512M or 2G", context, parameter)
    return int(number) * UNITS[unit]


def only(wanted: object, why_not: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """An option of the contract of which this version has one value only; any other is refused, never ignored."""

    def check_value(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value not in (None, wanted):
            raise KvError(
                "KV015",
                f"--{parameter.name} {value} is not available in this version",
                reason=why_not,
                cure=f"leave the option out (its value is {wanted})",
            )
        return wanted

    return check_value


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a parameter, a mitigation or a sort's size.")
@click.option("--scope", metavar="NAME", help="How large a world to search (kvproto list).")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Check only this property (repeatable).")
@click.option("--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True)
@click.option(
    "--workers", type=click.IntRange(min=1), callback=only(1, "searches run on one core so far"), help="1 so far."
)
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop, inconclusive, after N states.")
@click.option("--max-depth", type=click.IntRange(min=1), metavar="N", help="Search N levels; initial states are level 1.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS")
@click.option("--memory-limit", callback=size, metavar="BYTES", help="Bytes for the search, such as 512M or 2G.")
@click.option(
    "--symmetry/--no-symmetry", default=None, callback=only(False, "reductions are not built yet"), help="Off so far."
)
@click.option("--por/--no-por", default=None, callback=only(False, "reductions are not built yet"), help="Off so far.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of state hashing; no effect on results.")
@click.option("--keep-going", is_flag=True, help="Explore everything, also when every property is violated already.")
@click.option("--trace-dir", type=click.Path(path_type=Path), default=Path(TRACES), show_default=True, metavar="DIR")
@click.option("--json", "json_file", metavar="FILE", help="Write kvproto.result/1 (- for standard output).")
@click.option("--quiet", "-q", is_flag=True, help="Print violations only.")
def check(targets: tuple[str, ...], json_file: str | None, **options: Any) -> int:
    """Search TARGETs exhaustively and judge their properties.

    A TARGET is a shipped model `name[@preset]`, a file `model.py[:object][@preset]`, or `package.module:object`.
    Without one: what [tool.kvproto] in the nearest pyproject.toml names, else every preset of the shipped sglang model.
    """
    request = _request(options)
    names = list(targets) or configured_targets(Path.cwd())
    table = not names
    found = [find(name) for name in names or default_targets()]
    codec.prepare(request.trace_dir)
    rows: list[tuple[str, Result, dict[str, str]]] = []
    for target in found:
        result, traces = check_target(target, request)
        rows.append((target.text, result, traces))
        if not table and json_file != "-":
            _print(target.text, result, traces, request.quiet)
        if result.interrupted:
            break
    if table and json_file != "-":
        _print_table(rows, request.trace_dir)
    if json_file is not None:
        write_json(json_file, [verdicts.as_json(*row) for row in rows], many=len(found) > 1)
    return worst([verdicts.exit_code(result) for _, result, _ in rows])


def _request(options: dict[str, Any]) -> Request:
    return Request(
        sets=dict(_setting(text) for text in options["sets"]),
        scope=options["scope"],
        options=Options(
            properties=tuple(options["properties"]),
            engine=options["engine"],
            max_states=options["max_states"],
            max_depth=options["max_depth"],
            time_limit=options["time_limit"],
            memory_limit=options["memory_limit"],
            seed=options["seed"],
            keep_going=options["keep_going"],
        ),
        trace_dir=options["trace_dir"],
        quiet=options["quiet"],
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise KvError(
            "KV006",
            f"--set {text!r} is not NAME=VALUE",
            reason="a setting names a parameter and gives its value",
            cure="write --set deferred_release=on",
        )
    return name.strip(), value.strip()


def default_targets() -> list[str]:
    """Every preset of the shipped SGLang model."""
    return [f"sglang@{preset.name}" for preset in find("sglang").model.presets]


def configured_targets(folder: Path) -> list[str]:
    """`targets` of `[tool.kvproto]` in the nearest pyproject.toml, if there is one."""
    path = next((p / "pyproject.toml" for p in (folder, *folder.parents) if (p / "pyproject.toml").is_file()), None)
    if path is None:
        return []
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("kvproto")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise KvError(
            "KV023", f"{path.name} cannot be read: {problem}", reason="it may name targets", cure="correct the file"
        ) from None
    if table is None:
        return []
    unknown = next((key for key in table if key != "targets"), None) if isinstance(table, dict) else None
    targets = table.get("targets", []) if isinstance(table, dict) else None
    if unknown or not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
        raise KvError(
            "KV023",
            f"[tool.kvproto] in {path.name}: " + (f"unknown key {unknown!r}{did_you_mean(unknown, ['targets'])}" if unknown else "targets is no list of strings"),
            reason="the only key is `targets`, a list of what `kvproto check` takes",
            cure='write targets = ["model.py"]',
        )
    return targets


def check_target(target: Target, request: Request) -> tuple[Result, dict[str, str]]:
    """Search one target and write a trace for each violated property; gives their paths."""
    chosen = choose(target.model, preset=target.preset, scope=request.scope, sets=request.sets)
    system = build(target.model, chosen)
    result = search(system, request.options, _progress(target.text, request.quiet))
    _clear_line(request.quiet)
    traces = {}
    for finding in result.findings:
        if finding.counterexample is not None:
            trace = build_trace(system, finding.counterexample)
            traces[finding.claim.name] = str(codec.write(explained(trace), request.trace_dir))
    return result, traces


def explained(trace: Any) -> Any:
    """The trace with the sentences of its explanation."""
    from dataclasses import replace

    return replace(trace, why=why(trace))


def _progress(name: str, quiet: bool) -> Callable[[Progress], None] | None:
    if quiet or not sys.stderr.isatty():
        return None
    last = [0.0]

    def show(now: Progress) -> None:
        if now.seconds - last[0] < 0.2:
            return
        last[0] = now.seconds
        rate = now.states / now.seconds if now.seconds else 0
        click.echo(
            f"\r{name}  {now.states:,} states  frontier {now.frontier:,}  depth {now.level}  "
            f"{rate:,.0f} states/s  {now.memory / (1 << 20):.0f} MiB\033[K",
            nl=False,
            err=True,
        )

    return show


def _clear_line(quiet: bool) -> None:
    if not quiet and sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)


def _print(target: str, result: Result, traces: dict[str, str], quiet: bool) -> None:
    for line in verdicts.describe(target, result, traces):
        if not quiet or "VIOLATED" in line:
            click.echo(line)


def _print_table(rows: list[tuple[str, Result, dict[str, str]]], trace_dir: Path) -> None:
    shown = [(target, result, f"{trace_dir}/{target.replace('@', '-')}-*") for target, result, _ in rows]
    for line in verdicts.table(shown):
        click.echo(line)


def write_json(file: str, objects: list[dict[str, object]], *, many: bool) -> None:
    """One object, or an array for several targets."""
    text = json.dumps(objects if many else objects[0], indent=2) + "\n"
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise KvError(
            "KV021",
            f"the result cannot be written to {file}: {problem.strerror}",
            reason="the search is done, but its JSON has no place to go",
            cure="give --json a file in a folder that can be written",
        ) from None


def worst(codes: list[int]) -> int:
    """The exit code of several results: 130 > 70 > 2 > 1 > 3 > 0."""
    order = [130, 70, 2, 1, 3, 0]
    return min(codes, key=order.index, default=3)
