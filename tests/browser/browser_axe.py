"""Rules of accessibility, judged by axe-core."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browser_chromium import Visit

JUDGE = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(rule => rule.nodes.map(
        node => `${rule.id} (${rule.impact}): ${node.target.join(" ")}: ${node.failureSummary ?? rule.help}`));
}"""


def violations(visit: Visit) -> list[str]:
    """What axe-core finds in the page as it is now: all its rules."""
    if not visit.ask("() => Boolean(window.axe)"):
        text = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
        visit.ask(f"() => {{ {text}\n }}")
    found: list[str] = visit.ask(JUDGE)
    return found
