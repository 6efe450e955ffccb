"""A whole trace as text for a terminal or a log: verdict, why, lanes, pages, steps, and what to do next."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence

from kvproto.report.build import report as report_of
from kvproto.report.report import Report, Sentence
from kvproto.trace.printable import cells, fold, pad, printable
from kvproto.trace.trace import Trace
from kvproto.view.choice import MANY, Choice
from kvproto.view.lanes import NARROWEST, render_lanes
from kvproto.view.pagemap import render_page_changes
from kvproto.view.steps import partly_guilty, render_steps, what_if

_BAD = "violated"


def render_trace(
    trace: Trace,
    *,
    width: int = 80,
    color: bool = False,
    file: str | None = None,
    verbs: Collection[str] = ("replay", "explain"),
) -> str:
    """Everything about a trace; see `render_report`.

    `file` is what the commands at the end call the trace, by default the name under which it is written; `verbs` are
    those that can do something with it.
    """
    return render_report(report_of(trace, file=file, verbs=verbs), width=width, color=color)


def render_report(
    report: Report,
    *,
    width: int = 80,
    color: bool = False,
    choice: Choice | None = None,
    everything: bool = False,
) -> str:
    """A report as text, no line longer than `width` (at least `NARROWEST`).

    Without a `choice` a trace of many steps is folded; `everything` unfolds it, and shows what the header leaves out.
    """
    width = max(width, NARROWEST)
    choice = choice or Choice(folded=len(report.rows) > MANY and not everything)
    star = " (* the verdict rests on it)" if partly_guilty(report) else ""
    sections = [
        ("Why", _numbered(report.why, width)),
        (f"What happened when{_part(choice)}", render_lanes(report, width=width, choice=choice)),
        ("Pages: owner<last writer", render_page_changes(report, width=width, choice=choice) if report.pools else ""),
        ("What would have stopped it", _numbered(what_if(report), width)),
        (f"Steps{star}", render_steps(report, width=width, choice=choice)),
        ("Next", _commands(report.commands, width)),
    ]
    sections = [(title, text) for title, text in sections if text]
    body = "\n".join(f"{title}\n{text}" for title, text in sections)
    plain = f"{header(report, width, everything=everything)}\n{body}"
    return colored(plain, [title for title, _ in sections]) if color else plain


def _part(choice: Choice) -> str:
    """What is shown if not everything is, for the title."""
    if choice.folded:
        return ", local steps folded (--all shows them)"
    return " (a part; see the options)" if choice.filters else ""


def header(report: Report, width: int, *, everything: bool = False) -> str:
    """Verdict, claim, what it was found in.  Switches that are off are counted, unless `everything` is wanted."""
    trace = report.trace
    lines = fold(f"{printable(trace.verdict).upper()}  {printable(trace.property)}", width)
    for name, text in report.facts if everything else _shorter(report):
        first, *rest = fold(printable(text), width - 10)
        lines += [f"  {name:6}  {first}", *(f"          {line}" for line in rest)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _shorter(report: Report) -> list[tuple[str, str]]:
    """The facts of the header without the names of the switches that are off."""
    facts = [(name, text) for name, text in report.facts if name not in ("on", "off")]
    switches = [value for value in report.trace.parameters.values() if isinstance(value, bool)]
    off = switches.count(False)
    if not switches:
        return facts
    on = dict(report.facts).get("on", "none")
    number = "1 switch is" if off == 1 else f"{off} switches are"
    text = f"{on}; {number} off (--all names them)" if off else on
    at = next((at for at, (name, _) in enumerate(report.facts) if name in ("on", "off")), len(facts))
    return [*facts[:at], ("on", text), *facts[at:]]


def _numbered(sentences: Sequence[Sentence], width: int) -> str:
    lines: list[str] = []
    for number, sentence in enumerate(sentences, 1):
        head = f"  {number}. "
        first, *rest = fold(printable("".join(span.text for span in sentence)), width - len(head))
        lines += [f"{head}{first}", *(f"{' ' * len(head)}{line}" for line in rest)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _commands(rows: Iterable[tuple[str, str]], width: int) -> str:
    """Commands to copy.  They are never folded inside a word; one that is too long is a line of its own."""
    rows = list(rows)
    size = max((cells(command) for command, _ in rows), default=0)
    lines: list[str] = []
    for command, what in rows:
        if size + cells(what) + 4 <= width:
            lines.append(f"  {pad(command, size)}  {what}")
        else:
            lines += [f"  {line}" for line in fold(command, width - 2)]
            lines += [f"      {line}" for line in fold(what, width - 6)]
    return "".join(f"{line}\n" for line in lines)


def colored(plain: str, titles: Iterable[str]) -> str:
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
    text.highlight_regex(r"=== .* ===", "bold yellow")
    text.highlight_regex(r"(?m)^  +\S+: .* -> .*$", "cyan")
    text.highlight_regex(r"<-[-+ \w,]*-\+|\+-[-+ \w,]*->", "blue")
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
