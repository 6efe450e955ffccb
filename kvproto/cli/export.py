"""`kvproto export`: a trace or a model for other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from kvproto.cli.export_graph import Picture, state_graph
from kvproto.cli.export_trace import FORMS as OF_TRACES
from kvproto.cli.export_trace import exported
from kvproto.cli.options import check_json_file, refuse_input, say, setting, silence, unwritable
from kvproto.diagnostics import KvError
from kvproto.engine.search import select
from kvproto.export.promela.model import export as to_promela
from kvproto.export.tla.module import export as to_tla
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

OF_GRAPHS = ("dot", "svg")
OF_CHECKERS = ("promela", "tla")


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which model is meant, and with which of its properties."""

    sets: tuple[str, ...]
    scope: str | None
    names: tuple[str, ...]
    claimed: bool

    def given(self) -> Iterable[str]:
        """Options that are there."""
        named = {"--set": self.sets, "--scope": self.scope, "--property": self.names, "--properties": self.claimed}
        return [option for option, value in named.items() if value]

    def system(self, target: str) -> System:
        """The model of that name."""
        found = find(target)
        sets = dict(setting(text) for text in self.sets)
        system = build(found.model, choose(found.model, preset=found.preset, scope=self.scope, sets=sets))
        return replace(system, claims=select(system, self.names))


@click.command()
@click.argument("what", metavar="TRACE|TARGET")
@click.option(
    "--to",
    "form",
    type=click.Choice(list(dict.fromkeys([*OF_TRACES, *OF_GRAPHS, *OF_CHECKERS]))),
    required=True,
    help="What to write.",
)
@click.option("--output", "-o", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a parameter or the size of a sort.")
@click.option("--scope", metavar="NAME", help="How large a world (kvproto list).")
@click.option("--property", "names", multiple=True, metavar="NAME", help="With this property only (repeatable).")
@click.option("--properties", "claimed", is_flag=True, help="With all properties, to be judged by the other tool.")
@click.option("--trace", metavar="TRACE", help="dot, svg: the run to mark in the graph of TARGET.")
@click.option("--max-nodes", type=click.IntRange(min=1), metavar="N", help="dot, svg: the most states; default 200.")
@click.option("--label", "labels", metavar="VAR,...", help="dot, svg: show these variables in every state.")
def export(
    what: str,
    form: str,
    output: str | None,
    sets: tuple[str, ...],
    scope: str | None,
    names: tuple[str, ...],
    claimed: bool,
    trace: str | None,
    max_nodes: int | None,
    labels: str | None,
) -> None:
    """Write a trace or a model for another tool.

    A TRACE, a file that `kvproto check` wrote, becomes a diagram (mermaid, svg), a page (html), text for an issue
    (markdown), or a run in the format of another viewer (itf, shiviz, perfetto).

    A model TARGET becomes a model for SPIN (promela) or TLC (tla), made from its text and not from what the search
    runs, so the other tool's numbers are independent of kvproto's: without properties as many states as `kvproto
    check` counts without reductions. Or it becomes the graph of its states (dot, svg); `TRACE --to dot` is the graph
    of the trace's model with the run in it.
    """
    check_json_file(output)
    refuse_input(output, [what, *([trace] if trace else [])])
    asked = _Asked(sets, scope, names, claimed)
    picture = Picture(trace, max_nodes, labels)
    is_trace = _is_trace(what)
    if form in OF_TRACES and (is_trace or form not in OF_GRAPHS):
        _refuse_model(what, form, is_trace)
        _apart(form, [*asked.given(), *picture.given()], "they say what of a model is written, and this is a trace")
        _write(output, exported(what, form, on_terminal=output is None and _on_terminal()))
    elif form in OF_GRAPHS:
        if is_trace or trace:
            _apart("the trace", asked.given(), "the model is bound as the trace says")
        if claimed:
            _apart(form, ["--properties"], "a graph shows all claims that it is not told to leave out")
        target = None if is_trace else what
        run = picture.of(what) if is_trace else picture
        graph, left_out = state_graph(target, run, lambda name: asked.system(name))
        _write(output, graph if form == "dot" else _laid_out(graph))
        if left_out:
            click.echo(f"note: {left_out}", err=True)
    else:
        if is_trace:
            raise _misfit(f"{what} is a trace, and {form} is written of a model", OF_TRACES, "of a trace")
        _apart(form, picture.given(), "they say what a graph shows")
        _for_checker(asked.system(what), form, output, properties=claimed or bool(names))


def _is_trace(what: str) -> bool:
    """Whether that is a trace: a file, or called like one.  Models are in Python files or have names without dots."""
    if what.endswith(".json"):
        return True
    try:
        return ".py" not in what and Path(what).is_file()
    except (OSError, ValueError):
        return False


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _refuse_model(what: str, form: str, is_trace: bool) -> None:
    if not is_trace:
        raise _misfit(f"{what} is no trace, and {form} is written of one", [*OF_CHECKERS, *OF_GRAPHS], "of a model")


def _misfit(message: str, forms: Iterable[str], of: str) -> KvError:
    return KvError(
        "KV034",
        message,
        reason="a trace is one run, a model is all of them; other tools take the one or the other",
        cure=f"{of} there are: {', '.join(forms)}; traces are the files that kvproto check writes",
    )


def _apart(one: str, options: Iterable[str], reason: str) -> None:
    """Refuse options that would change nothing."""
    found = list(options)
    if found:
        raise KvError(
            "KV026", f"{', '.join(found)} does not go with {one}", reason=reason, cure=f"leave {found[0]} out"
        )


def _laid_out(graph: str) -> str:
    from kvproto.formats.dot import svg

    return svg(graph)


def _for_checker(system: System, form: str, output: str | None, *, properties: bool) -> None:
    if form == "promela":
        _write(output, to_promela(system, properties=properties).text)
        return
    module = to_tla(system, name=_stem(output) or system.model, properties=properties)
    if output is None:
        say(module.text + "\n" + module.config, newline=False)
        return
    _write(output, module.text)
    _write(str(Path(output).with_suffix(".cfg")), module.config)


def _stem(output: str | None) -> str:
    """A TLA+ module is called as its file is."""
    return Path(output).stem if output is not None else ""


def _write(output: str | None, content: str | bytes) -> None:
    if output is None and isinstance(content, str):
        say(content, newline=False)
        return
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if output is not None:
            Path(output).write_bytes(data)
        elif sys.stdout is not None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence()
    except (OSError, ValueError) as problem:
        raise unwritable(output or "standard output", problem) from None
