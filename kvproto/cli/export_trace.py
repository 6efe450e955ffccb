"""A trace in the forms that other tools read: what `kvproto export TRACE --to FORM` writes."""

from __future__ import annotations

from collections.abc import Callable

from kvproto.diagnostics import KvError
from kvproto.report.report import Report
from kvproto.trace import codec


def exported(file: str, form: str, *, on_terminal: bool) -> str | bytes:
    """The trace in a file, in that form.  Raises KV010 to KV012 for what is no trace."""
    from kvproto.cli.show import understanding
    from kvproto.report.build import report

    trace = codec.read(file)
    content = FORMS[form](report(trace, file=file, verbs=understanding(trace), sources=form == "html"))
    if isinstance(content, bytes) and on_terminal:
        raise KvError(
            "KV026",
            f"{form} is no text, and standard output is a terminal",
            reason="a terminal would take some of its bytes for commands",
            cure="name a file:  -o run.pftrace",
        )
    return content


# Each is imported when it is asked for: a page needs a template engine, text needs nothing.


def _mermaid(report: Report) -> str:
    from kvproto.formats.mermaid import mermaid

    return mermaid(report)


def _itf(report: Report) -> str:
    from kvproto.formats.itf import itf

    return itf(report.trace)


def _shiviz(report: Report) -> str:
    from kvproto.formats.shiviz import shiviz

    return shiviz(report)


def _perfetto(report: Report) -> bytes:
    from kvproto.formats.perfetto import perfetto

    return perfetto(report)


def _markdown(report: Report) -> str:
    from kvproto.formats.markdown import markdown

    return markdown(report)


def _svg(report: Report) -> str:
    from kvproto.formats.svg import svg

    return svg(report)


def _html(report: Report) -> str:
    from kvproto.page.shell import page

    return page([report])


def _faults(report: Report) -> str:
    from kvproto.injection import schedule, script
    from kvproto.whatif.subject import subject

    return script(schedule(subject(report.trace)), codec.file_name(report.trace))


FORMS: dict[str, Callable[[Report], str | bytes]] = {
    "mermaid": _mermaid,
    "markdown": _markdown,
    "svg": _svg,
    "html": _html,
    "itf": _itf,
    "shiviz": _shiviz,
    "perfetto": _perfetto,
    "faults": _faults,
}
"""What writes each form."""
