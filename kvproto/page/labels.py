"""Words on lines, where there is room for them."""

from __future__ import annotations

from kvproto.page.space import Box, Point, Space
from kvproto.page.svg import Shape, moved, room, tag, text

_PARTS = tuple(sorted((part / 50 for part in range(5, 46)), key=lambda part: abs(part - 0.5)))
"""Where on a line a label may stand, best first."""


def on_line(space: Space, content: str, size: float, start: Point, stop: Point, base: float = 0) -> str:
    """A label at the part of a line where it covers least, as near to the middle as may be; "" if there is no room.

    A plate below the letters hides the line; `data-t` says where on the line they stand.  `base` is the height
    of the group that the label is put into.
    """
    wide = room(content, size) + 6
    found: list[tuple[int, int, Box, Point]] = []
    for rank, part in enumerate(_PARTS):
        x, y = (a + (b - a) * part for a, b in zip(start, stop, strict=True))
        box = Box(x - wide / 2, y - size * 0.7, x + wide / 2, y + size * 0.7)
        if space.free(box):
            found.append((space.cost(box, (start, stop)), rank, box, (x, y)))
            if found[-1][0] == 0:
                break
    if not found:
        return ""
    _, rank, box, middle = min(found, key=lambda place: place[:2])
    space.take(box)
    plate: Shape = {"x": -wide / 2, "y": -size * 0.65, "width": wide, "height": size * 1.3, "rx": 3}
    words = text(0, size * 0.33, content, "label", anchor="middle")
    at: Shape = {"class": "at", "data-t": str(_PARTS[rank]), "transform": moved(middle[0], middle[1] - base)}
    return tag("g", at, tag("rect", {"class": "plate", **plate}), words)
