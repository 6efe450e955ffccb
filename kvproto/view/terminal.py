"""A whole trace as text for a terminal or a log: verdict, why, lanes, pages, steps, and what to do next."""

from __future__ import annotations

import io
import shlex
from collections.abc import Collection, Iterable

from kvproto.explain import why
from kvproto.trace.codec import file_name
from kvproto.trace.printable import cells, fold, pad, printable
from kvproto.trace.trace import Trace
from kvproto.view.lanes import NARROWEST, render_lanes
from kvproto.view.pagemap import render_page_changes
from kvproto.view.steps import partly_guilty, render_steps

_BAD = "violated"


def render_trace(
    trace: Trace,
    *,
    width: int = 80,
    color: bool = False,
    file: str | None = None,
    verbs: Collection[str] = ("replay", "explain"),
) -> str:
    """Everything about a trace, no line longer than `width` (at least `NARROWEST`).

    `file` is what the commands at the end call the trace, by default the name under which it is written; `verbs` are
    those that can do something with it.
    """
    width = max(width, NARROWEST)
    sections = [
        ("Why", _why(trace, width)),
        ("What happened when", render_lanes(trace, width=width)),
        ("Pages: owner<last writer", render_page_changes(trace, width=width)),
        (
            "Steps (* the verdict rests on it)" if partly_guilty(trace) else "Steps",
            render_steps(trace, width=width),
        ),
        ("Next", _commands(trace, file or file_name(trace), verbs, width)),
    ]
    if not verbs:
        del sections[-1]
    if not trace.vocabulary.pools:
        del sections[2]
    body = "\n".join(f"{title}\n{text}" for title, text in sections)
    plain = f"{_header(trace, width)}\n{body}"
    return _colored(plain, [title for title, _ in sections]) if color else plain


def _header(trace: Trace, width: int) -> str:
    target = printable(trace.model) + (f"@{printable(trace.preset)}" if trace.preset else "")
    steps = "1 step" if len(trace.steps) == 1 else f"{len(trace.steps)} steps"
    lines = fold(f"{printable(trace.verdict).upper()}  {printable(trace.property)}", width)
    lines += _field("claim", printable(trace.claim), width)
    if trace.grounds:
        lines += _field("found", ", ".join(printable(ground.text) for ground in trace.grounds), width)
    scope = f"scope {printable(trace.scope)}, " if trace.scope else ""
    lines += _field("model", f"{target}, {scope}{steps}", width)
    sizes = [f"{printable(k)}={v}" for k, v in trace.parameters.items() if not isinstance(v, bool)]
    for name, entries in (
        ("sizes", [printable(entry) for entry in sizes]),
        ("on", [printable(k) for k, v in trace.parameters.items() if v is True]),
        ("off", [printable(k) for k, v in trace.parameters.items() if v is False]),
    ):
        lines += _field(name, ", ".join(entries) or "-", width)
    lines += _field("digest", printable(trace.digest), width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _field(name: str, text: str, width: int) -> list[str]:
    first, *rest = fold(text, width - 10)
    return [f"  {name:6}  {first}", *(f"          {line}" for line in rest)]


def _why(trace: Trace, width: int) -> str:
    lines: list[str] = []
    for number, sentence in enumerate(trace.why or why(trace), 1):
        first, *rest = fold(printable(sentence), width - 5)
        lines += [f"  {number}. {first}", *(f"     {line}" for line in rest)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _commands(trace: Trace, file: str, verbs: Collection[str], width: int) -> str:
    """Commands to copy.  They are never folded inside a word; one that is too long is a line of its own."""
    offers = {
        "replay": ("kvproto replay " + _quoted(file), "run it on the reference implementation"),
        "explain": ("kvproto explain " + _quoted(trace.property), "what this property protects"),
    }
    rows = [row for verb, row in offers.items() if verb in verbs]
    size = max((cells(command) for command, _ in rows), default=0)
    lines: list[str] = []
    for command, what in rows:
        if size + cells(what) + 4 <= width:
            lines.append(f"  {pad(command, size)}  {what}")
        else:
            lines += [f"  {line}" for line in fold(command, width - 2)]
            lines += [f"      {line}" for line in fold(what, width - 6)]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    """A word for a shell.  Words that no shell takes in harmless form are shown, not offered."""
    return printable(shlex.quote(word))


def _colored(plain: str, titles: Iterable[str]) -> str:
    """The same text with colours: nothing is said by colour alone."""
    from rich.console import Console
    from rich.text import Text

    text = Text(plain)
    first = plain.partition("\n")[0]
    text.stylize("bold red" if first.lower().startswith(_BAD) else "bold green", 0, len(first))
    for title in titles:
        at = plain.index(f"\n{title}\n") + 1
        text.stylize("bold", at, at + len(title))
    text.highlight_regex(r"\bLATE\b|WRONG \w+|(?<=\s)[X!](?=\s)|\S+<\S+!|\S+!(?=\s)", "bold red")
    text.highlight_regex(r"(?m)^  +\S+: .* -> .*$", "cyan")
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        width=1 << 20,
    )
    console.print(text, end="", soft_wrap=True, highlight=False)
    return out.getvalue()
