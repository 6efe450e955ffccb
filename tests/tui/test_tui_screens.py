"""The whole screen as text, at the sizes that matter: compared with what somebody has looked at.

`PYTHONPATH=tests/trace python tests/tui/test_tui_screens.py` writes the expected screens anew.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from trace_samples import stored

from kvproto.report.build import report

pytest.importorskip("textual")

from kvproto.tui.app import TraceApp

SCREENS = {
    "incident-80x24": ("incident", (80, 24), ""),
    "late-80x24": ("ranks_bystander", (80, 24), "k"),
    "late-120x40": ("ranks_bystander", (120, 40), "k c"),
    "ranks-80x24": ("ranks_two", (80, 24), "home n d"),
    "filter-80x24": ("incident", (80, 24), "f l a n e = d e c o d e enter"),
    "help-80x24": ("incident", (80, 24), "question_mark"),
}
"""Sample, size and keys of each."""


def screen(name: str) -> str:
    """What stands on the screen after the keys."""
    sample, size, keys = SCREENS[name]

    async def looking() -> str:
        app = TraceApp(report(stored(sample)))
        async with app.run_test(size=size) as pilot:
            await pilot.press(*keys.split())
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            return "".join(f"{strip.text.rstrip()}\n" for strip in strips)

    return asyncio.run(looking())


def golden(name: str) -> Path:
    """The file with an expected screen."""
    return Path(__file__).parent / "golden" / f"{name}.txt"


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen(name: str) -> None:
    assert golden(name).read_text("utf-8") == screen(name)


if __name__ == "__main__":
    for each in SCREENS:
        golden(each).parent.mkdir(exist_ok=True)
        golden(each).write_text(screen(each), "utf-8")
