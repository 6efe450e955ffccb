"""A page as a parser of HTML sees it, and traces to make pages of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

from kvproto.trace import codec
from kvproto.trace.trace import Trace

TRACES = Path(__file__).parent.parent.parent / "traces"

VOID = {"meta", "link", "input", "br", "img"}
OPTIONAL = {"dt", "dd"}
"""Elements whose ends may be left out."""


@dataclass
class Element:
    """An element with its attributes and all text inside."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def all(self, tag: str = "", **wanted: str) -> list[Element]:
        """Elements below, in order; `class_` asks for one of the classes."""
        found = []
        for element in self.inside:
            if tag in ("", element.tag) and all(element.has(name, value) for name, value in wanted.items()):
                found.append(element)
            found += element.all(tag, **wanted)
        return found

    def has(self, name: str, value: str) -> bool:
        if name == "class_":
            return value in (self.attributes.get("class") or "").split()
        return self.attributes.get(name.replace("_", "-")) == value

    def one(self, tag: str = "", **wanted: str) -> Element:
        (found,) = self.all(tag, **wanted)
        return found


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in OPTIONAL:
            self._close_optional()
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in OPTIONAL:
            self._close_optional()
        assert self.open[-1].tag == tag, f"</{tag}> in <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def _close_optional(self) -> None:
        if self.open[-1].tag in OPTIONAL:
            self.open.pop()


def parsed(html: str) -> Element:
    """The document; fails where an end does not fit its beginning."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.open) == 1, f"<{builder.open[-1].tag}> does not end"
    return builder.open[0]


def recorded(name: str) -> Trace:
    """A trace of the repository."""
    return codec.read(str(TRACES / f"{name}.trace.json"))


def everywhere(trace: Trace, old: str, new: str) -> Trace:
    """The trace with `new` for every string that is `old`."""

    def put(value: object) -> object:
        if isinstance(value, str):
            return new if value == old else value
        if isinstance(value, list | tuple):
            return type(value)(put(item) for item in value)
        return value

    steps = tuple(
        replace(
            step,
            args={name: put(value) for name, value in step.args.items()},
            delta={path: put(change) for path, change in step.delta.items()},
        )
        for step in trace.steps
    )
    return replace(trace, init={path: put(value) for path, value in trace.init.items()}, steps=steps)  # type: ignore[arg-type]
