"""SVG as text: elements, their attributes, and how much room words take.

Whatever stands in a trace passes through `words` or an attribute value, and both escape: a name is never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from kvproto.trace.printable import cells, printable

Attribute = str | int | float | None

Shape = dict[str, Attribute]
"""Attributes that several elements share."""

NAMESPACE = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of some size, to be wrapped as an element of its own or put into a larger one."""

    width: float
    height: float
    body: str

    def svg(self, attributes: Mapping[str, Attribute]) -> str:
        """The picture as an `svg` element, in its natural size."""
        size: Shape = {
            "viewBox": f"0 0 {number(self.width)} {number(self.height)}",
            "width": self.width,
            "height": self.height,
        }
        return tag("svg", {**attributes, **size}, self.body)

    def at(self, x: float, y: float) -> str:
        """The picture as a part of a larger one."""
        return tag("g", {"transform": f"translate({number(x)},{number(y)})"}, self.body)


def tag(name: str, attributes: Mapping[str, Attribute], *inside: str) -> str:
    """An element; attributes that are None are left out, and `inside` is markup already."""
    listed = "".join(f" {key}={_quoted(value)}" for key, value in attributes.items() if value is not None)
    return f"<{name}{listed}>{''.join(inside)}</{name}>" if inside else f"<{name}{listed}/>"


def _quoted(value: str | int | float) -> str:
    return quoteattr(printable(value)) if isinstance(value, str) else f'"{number(value)}"'


def number(value: float) -> str:
    """A length in at most one decimal, so that the same picture has the same bytes everywhere."""
    return f"{round(value, 1):.1f}".removesuffix(".0")


def words(text: str) -> str:
    """Text as markup."""
    return escape(printable(text))


def title(text: str) -> str:
    """What a pointer that rests on the element is told."""
    return tag("title", {}, words(text))


def text(x: float, y: float, content: str, kind: str, *, anchor: str | None = None) -> str:
    """A line of text; `anchor` is `middle` or `end`, by default it begins at x."""
    return tag("text", {"class": kind, "x": x, "y": y, "text-anchor": anchor}, words(content))


def group(attributes: Mapping[str, Attribute], *inside: str) -> str:
    """A group; nothing where there is nothing inside."""
    return tag("g", attributes, *inside) if any(inside) else ""


def moved(x: float, y: float) -> str:
    """The value of `transform` for a shift."""
    return f"translate({number(x)},{number(y)})"


def room(content: str, size: float, *, mono: bool = False) -> float:
    """About how wide a text is: nobody knows the reader's fonts, so as wide as in the wide ones among them."""
    return cells(printable(content)) * size * (0.605 if mono else 0.56)
