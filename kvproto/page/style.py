"""How the pictures look: colours, hatches, dashes, arrow heads, and the rules that apply them.

A request is told from others in three ways at once, by colour, by hatch and by its name, an owner also by the dashes
of its border; kinds of lines differ in width, dashes and arrow head.  So nothing is lost on paper or to a reader who
does not see some of the colours.  Colours are variables: fills are those of Okabe and Ito, lines and letters darker
(in the dark theme lighter) relatives with enough contrast, `kvproto.page.style.contrast` says how much.
"""

from __future__ import annotations

from kvproto.page.svg import tag

FILLS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
"""Okabe and Ito's colours without black, for areas."""

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#16191d",
    "dim": "#5d6570",
    "life": "#87909b",
    "faint": "#d7dbe0",
    "message": "#0063a0",
    "alarm": "#ad3f00",
    "cause": "#7a3e8e",
    "guard": "#00684a",
    "glow": "#fff1c7",
}
DARK = {
    "paper": "#14171b",
    "panel": "#1d2127",
    "ink": "#eceff3",
    "dim": "#a3acb8",
    "life": "#6f7985",
    "faint": "#343a42",
    "message": "#6fbdf0",
    "alarm": "#ff9355",
    "cause": "#d3a1e6",
    "guard": "#35c79b",
    "glow": "#3c3310",
}
LIGHT_INKS = ("#8a5a00", "#1f6f9f", "#00704f", "#6f6800", "#0063a0", "#ad3f00", "#97427a")
DARK_INKS = ("#f0b030", "#7cc7f2", "#35c79b", "#f0e442", "#6fb4ea", "#ff8f4d", "#e29cc4")

HATCHES = 8
DASHES = ("none", "7 3", "2 2", "9 3 2 3", "4 2")


def look(place: int) -> str:
    """The classes of the request at that place of `Report.requests`."""
    return f"c{place % len(FILLS)} h{place % HATCHES} d{place % len(DASHES)}"


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it, from 1 to 21."""
    dark, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _variables(theme: dict[str, str], inks: tuple[str, ...]) -> str:
    named = [f"--kv-{name}:{value}" for name, value in theme.items()]
    named += [f"--kv-fill-{at}:{value}" for at, value in enumerate(FILLS)]
    named += [f"--kv-ink-{at}:{value}" for at, value in enumerate(inks)]
    return ":root{" + ";".join(named) + "}"


def stylesheet() -> str:
    """The rules of all pictures; a page needs them once."""
    numbers = range(len(FILLS))
    colours = "\n".join(f".kv .c{at}{{--fill:var(--kv-fill-{at});--own:var(--kv-ink-{at})}}" for at in numbers)
    hatches = "\n".join(f".kv .hatch.h{at}{{fill:url(#kv-hatch-{at})}}" for at in range(HATCHES))
    dashes = "\n".join(f".kv .edge.d{at}{{stroke-dasharray:{dash}}}" for at, dash in enumerate(DASHES))
    arrows = "\n".join(f".kv .flight .line.c{at}{{marker-end:url(#kv-arrow-{at})}}" for at in numbers)
    return "\n".join(
        (
            _variables(LIGHT, LIGHT_INKS),
            "@media (prefers-color-scheme:dark){" + _variables(DARK, DARK_INKS) + "}",
            "@media print{" + _variables(LIGHT, LIGHT_INKS) + "}",
            _RULES.strip(),
            colours,
            hatches,
            dashes,
            arrows,
            _SPECIAL.strip(),
        )
    )


_RULES = """
.kv{background:var(--kv-paper);font:12px/1.3 system-ui,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif}
.kv-definitions{position:absolute}
.kv text{fill:var(--kv-ink);paint-order:stroke;stroke:var(--kv-paper);stroke-width:3.5px;stroke-linejoin:round}
.kv .call,.kv .number,.kv .who,.kv .event{
font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.kv .call,.kv .note,.kv .event{stroke-width:4.5px}
.kv .call{font-size:12px}
.kv .guilty .call{font-weight:700}
.kv .number{font-size:11px;fill:var(--kv-dim)}
.kv .guilty .number{fill:var(--kv-ink);font-weight:700}
.kv .row:not(.guilty) .call{fill:var(--kv-dim)}
.kv .note{font-size:11.5px;font-weight:700;fill:var(--kv-alarm)}
.kv .note.guard{fill:var(--kv-guard);font-style:italic}
.kv .red circle{fill:var(--kv-alarm)}
.kv .event{font-size:10.5px}
.kv .event.alarm{fill:var(--kv-alarm);font-weight:700}
.kv .hit{fill:transparent}
.kv .track:hover .hit{fill:var(--kv-panel)}
.kv .cursor{display:none;fill:var(--kv-glow)}
.live .kv .cursor{display:inline}
.kv .guide{stroke:var(--kv-faint);stroke-width:1}
.kv .tie{stroke:var(--kv-life);stroke-width:1;stroke-dasharray:1 4;stroke-linecap:round}
.kv .tick{fill:var(--kv-paper);stroke:var(--kv-dim);stroke-width:1.5}
.kv .head{fill:var(--kv-panel);stroke:var(--kv-life);stroke-width:1}
.kv .lane text{font-size:12px;font-weight:700;stroke:none}
.kv .life{stroke:var(--kv-life);stroke-width:1.2}
.kv .pool .life{stroke-width:3}
.kv .pool .head{stroke-width:2}
.kv .dot{fill:var(--kv-paper);stroke:var(--kv-dim);stroke-width:1.5}
.kv .guilty .dot{fill:var(--kv-ink);stroke:var(--kv-ink)}
.kv .bad .dot,.kv .late .dot,.kv .bytes .dot{fill:var(--kv-alarm);stroke:var(--kv-alarm)}
.kv .cross{fill:none;stroke:var(--kv-paper);stroke-width:2;stroke-linecap:round}
.kv .line{fill:none}
.kv .message .line{stroke:var(--kv-message);stroke-width:1.6;marker-end:url(#kv-arrow-message)}
.kv .message .label,.kv .flight .label{font-size:10.5px}
.kv .message .label{fill:var(--kv-message);font-style:italic}
.kv .message .open{fill:var(--kv-paper);stroke:var(--kv-message);stroke-width:1.5}
.kv .flight .line{stroke:var(--own);stroke-width:2.4}
.kv .plate{fill:var(--kv-paper)}
.kv .at text{stroke:none}
.kv .flight .band{fill:var(--fill);fill-opacity:.55;stroke:var(--own);stroke-width:1}
.kv .flight .hatch{fill-opacity:.6}
.kv .flight .lost{fill:none;stroke:var(--kv-alarm);stroke-width:2.4;stroke-dasharray:5 3}
.kv .flight .end{stroke:var(--own);stroke-width:2.4;fill:none}
.kv .cause{display:none}
.cone-on .kv .cause,.kv.cone-on .cause{display:inline}
.kv .cause .line{marker-end:url(#kv-arrow-cause)}
.kv .cause .line{stroke:var(--kv-cause);stroke-width:1.4;stroke-dasharray:1.5 3;stroke-linecap:round}
.kv .rule line{stroke:var(--kv-alarm);stroke-width:1.6;stroke-dasharray:12 4 2 4}
.kv .rule .label{font-size:11px;font-weight:700;fill:var(--kv-alarm)}
.kv .loop .line{stroke:var(--kv-ink);stroke-width:2;marker-end:url(#kv-arrow-loop)}
.kv .loop text{font-size:11.5px;font-weight:700}
.kv .legend text,.kv .small{font-size:10.5px;fill:var(--kv-dim);stroke:none}
.kv .pattern{stroke:var(--kv-ink);stroke-width:1;fill:none}
.kv .pattern.solid{fill:var(--kv-ink);stroke:none}
.kv .head-message{fill:none;stroke:var(--kv-message);stroke-width:1.6}
.kv .head-cause{fill:none;stroke:var(--kv-cause);stroke-width:1.4}
.kv .head-late{fill:var(--kv-alarm)}
.kv .head-loop{fill:var(--kv-ink)}
.kv .head-flight{fill:var(--own)}
.kv .cell .back{fill:var(--kv-paper)}
.kv .cell .fill{fill:var(--fill);fill-opacity:.75}
.kv .cell .fill.none{fill:var(--kv-paper)}
.kv .cell .hatch{fill-opacity:.5}
.kv .cell .hatch.none{fill:none}
.kv .cell .edge{fill:none;stroke:var(--own);stroke-width:2.5}
.kv .cell .edge.none{stroke:var(--kv-life);stroke-width:1;stroke-dasharray:none}
.kv .cell.stale .edge{stroke-width:5}
.kv .cell.blank .edge{stroke-width:2.5}
.kv .small-cell .who{font-size:9.5px;stroke-width:4px}
.kv .small-cell .edge{stroke-width:1.8}
.kv .small-cell.stale .edge{stroke-width:3.2}
.kv .small-cell.blank .edge{stroke-width:1.8}
.kv .small-cell.misread .who{fill:var(--kv-alarm);font-weight:700}
.kv .cell .wrong{display:none;fill:var(--kv-alarm);stroke:var(--kv-paper);stroke-width:2}
.kv .cell.misread .wrong{display:inline}
.kv .cell.free .fill,.kv .cell.free .hatch{opacity:.4}
.kv .cell .page{font-size:10px;font-weight:700}
.kv .cell .who{font-size:10.5px;stroke-width:5px}
.kv .cell .big{font-size:16px;font-weight:700}
.kv .cell .coming{fill:var(--fill);stroke:var(--kv-ink);stroke-width:1}
.kv .cell .letter{font-size:8.5px;font-weight:700;stroke-width:2px}
"""

_SPECIAL = """
.kv .flight.late .line{stroke:var(--kv-alarm);stroke-width:3.6;stroke-dasharray:9 4;marker-end:url(#kv-arrow-late)}
.kv .flight.foreign .line{marker-end:url(#kv-arrow-late)}
.kv .flight.foreign .line{stroke:var(--kv-alarm);stroke-width:3;stroke-dasharray:14 3 3 3}
.kv .flight .label{fill:var(--kv-alarm);font-weight:700;font-size:11.5px}
.kv .flight.late .end{stroke:var(--kv-alarm)}
.kv .flight .line.going,.kv .flight .line.dropped{marker-end:none;stroke-dasharray:3 3}
@media (prefers-color-scheme:dark){.kv .cell .fill{fill-opacity:.6}.kv .cell .hatch{fill-opacity:.35}}
@media (forced-colors:active){.kv{forced-color-adjust:none}}
"""

_HATCH = (
    '<path class="pattern" d="M-2 2L2 -2M0 8L8 0M6 10L10 6"/>',
    '<circle class="pattern solid" cx="2" cy="2" r="1.2"/><circle class="pattern solid" cx="6" cy="6" r="1.2"/>',
    '<path class="pattern" d="M0 2H8M0 6H8"/>',
    '<path class="pattern" d="M4 1V7M1 4H7"/>',
    '<path class="pattern" d="M-2 6L2 10M0 0L8 8M6 -2L10 2"/>',
    '<path class="pattern" d="M2 0V8M6 0V8"/>',
    '<path class="pattern" d="M0 0L8 8M8 0L0 8"/>',
    '<circle class="pattern" cx="4" cy="4" r="2.4"/>',
)


def definitions() -> str:
    """Hatches and arrow heads, which the rules name; a page needs them once."""
    parts = [
        tag(
            "pattern",
            {"id": f"kv-hatch-{at}", "width": 8, "height": 8, "patternUnits": "userSpaceOnUse"},
            inside,
        )
        for at, inside in enumerate(_HATCH)
    ]
    parts += [_arrow("message", '<path class="head-message" d="M1 1L8 4.5L1 8"/>', 9)]
    parts += [_arrow("cause", '<path class="head-cause" d="M1 1L8 4.5L1 8"/>', 8)]
    parts += [_arrow("late", '<path class="head-late" d="M0 0L9 4.5L0 9Z"/>', 15)]
    parts += [_arrow("loop", '<path class="head-loop" d="M0 0L9 4.5L0 9Z"/>', 10)]
    parts += [_arrow(str(at), f'<path class="head-flight c{at}" d="M0 0L9 4.5L0 9Z"/>', 11) for at in range(len(FILLS))]
    return tag("defs", {}, *parts)


def _arrow(name: str, inside: str, size: int) -> str:
    shape: dict[str, str | int | float | None] = {
        "id": f"kv-arrow-{name}",
        "viewBox": "0 0 9 9",
        "refX": 8.5,
        "refY": 4.5,
        "markerWidth": size,
        "markerHeight": size,
        "markerUnits": "userSpaceOnUse",
        "orient": "auto",
    }
    return tag("marker", shape, inside)


CSS = stylesheet()
DEFINITIONS = tag("svg", {"class": "kv kv-definitions", "width": 0, "height": 0, "aria-hidden": "true"}, definitions())
"""To stand in a page once, in no part of it that may be hidden: what is not rendered defines nothing."""
