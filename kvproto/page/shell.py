"""The page: one file that says all there is about one or several traces, and asks nothing of anybody.

Everything is there without its script, which only adds what needs a cursor.  Whatever comes from a trace is escaped,
and made printable before: a name with a bidirectional override could show another verdict than the file holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kvproto import __version__
from kvproto.page.clusters import clusters
from kvproto.page.content import Content, content
from kvproto.page.diagram import diagram
from kvproto.page.maps import page_maps
from kvproto.page.style import CSS, DEFINITIONS
from kvproto.report import Report
from kvproto.trace.printable import printable

_HERE = Path(__file__).parent

_BROAD = 900
"""A diagram that is wider is never squeezed below this width: it is moved sideways on a narrow screen."""

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M1 1h6v6H1zM9 9h6v6H9z' fill='%230072B2'/%3E%3Cpath d='M9 1h6v6H9zM1 9h6v6H1z' fill='%23D55E00'/%3E"
    "%3C/svg%3E"
)


def page(reports: Sequence[Report], *, names: Sequence[str] = ()) -> str:
    """The page of these traces; `names` are what they are called in the list that a page of several begins with."""
    labels = list(names) or [report.title for report in reports]
    traces = [
        content(report, number, label) for number, (report, label) in enumerate(zip(reports, labels, strict=True), 1)
    ]
    style, script = Markup(f"{CSS}\n{_text('page.css')}"), Markup(_text("viewer.js"))
    template = _environment().get_template("page.html.j2")
    return template.render(
        version=__version__,
        title=_title(traces),
        icon=_ICON,
        policy=_policy(style, script),
        style=style,
        script=script,
        definitions=Markup(DEFINITIONS),
        traces=[_drawn(trace, report) for trace, report in zip(traces, reports, strict=True)],
        clusters=clusters(traces) if len(traces) > 1 else (),
    )


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_plain,
    )


def _plain(value: object) -> object:
    """What the template prints: text in printable form, markup of our own as it is."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _drawn(trace: Content, report: Report) -> Mapping[str, object]:
    """The content with the pictures and the data for the script."""
    picture = diagram(report)
    maps, key = _apart(page_maps(report)) if report.pools else ("", "")
    width = re.search(r' width="(\d+)', picture)
    return {
        **trace.fields(),
        "diagram": Markup(picture),
        "broad": width is not None and int(width[1]) > _BROAD,
        "maps": Markup(maps + trace.looks) if maps else "",
        "key": Markup(key),
        "json": Markup(_island(trace.data)),
    }


def _apart(maps: str) -> tuple[str, str]:
    """The figures of the pools, which stay in view, and the key to them."""
    end = maps.rindex("</figure>") + len("</figure>") if "</figure>" in maps else 0
    return maps[:end], maps[end:]


def _title(traces: Sequence[Content]) -> str:
    return traces[0].title if len(traces) == 1 else f"{len(traces)} traces"


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and only this style and this script are obeyed, whatever a trace may have smuggled in."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _island(value: object) -> str:
    """JSON that no browser takes for markup."""
    text = json.dumps(_printed(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _printed(value: object) -> object:
    """The data with names as the page shows them, in printable form: the script finds the one by the other."""
    match value:
        case str():
            return printable(value)
        case dict():
            return {printable(key): _printed(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_printed(inner) for inner in value]
    return value
