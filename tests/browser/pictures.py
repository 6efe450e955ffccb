"""Pictures of pages for the eyes: python tests/browser/pictures.py FOLDER [TRACE ...]

A trace is a name of `traces/` (all letters before `.trace.json`), `random.KIND`, `hostile`, `long` or `several`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "replay"), str(HERE.parent / "trace")]

from browser_chromium import opened, started  # noqa: E402
from browser_pages import written  # noqa: E402
from browser_traces import INCIDENT, RECORDED, hostile, long_run, randomly, recorded  # noqa: E402

from kvproto.trace.trace import Trace  # noqa: E402

LOOKS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1400, "height": 1000}},
    "dark": {"viewport": {"width": 1400, "height": 1000}, "color_scheme": "dark"},
    "middle": {"viewport": {"width": 900, "height": 1000}},
    "narrow": {"viewport": {"width": 360, "height": 780}},
    "static": {"viewport": {"width": 1400, "height": 1000}, "java_script_enabled": False},
}
"""How a page is looked at."""

TALLEST = 16_000
"""Pixels of a picture, beyond which Chromium makes none."""


def chosen(name: str) -> list[Trace]:
    """The traces of a page."""
    match name.split("."):
        case ["hostile"]:
            return [hostile()]
        case ["long"]:
            return [long_run()]
        case ["several"]:
            return [recorded(other) for other in RECORDED]
        case ["random", kind]:
            return randomly(kind)[:20]
    return [recorded(name)]


def main(folder: Path, names: list[str]) -> None:
    """Write a PNG for each look and page, of what is seen first and of all of it, and a PDF of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, started() as browser:
        for number, name in enumerate(names):
            page = written(chosen(name), Path(work) / str(number))
            for look, settings in LOOKS.items():
                with opened(browser, page, **settings) as visit:
                    visit.page.screenshot(path=folder / f"{name}-{look}.png")
                    if visit.ask("() => document.documentElement.scrollHeight") < TALLEST:
                        visit.page.screenshot(path=folder / f"{name}-{look}-all.png", full_page=True)
                    if look == "wide":
                        visit.page.pdf(path=folder / f"{name}.pdf")
            print(name, f"{page.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or [INCIDENT])
