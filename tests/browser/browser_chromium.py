"""Chromium, and pages opened in it with everything written down that a page should not do."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Where playwright is missing the tests are skipped, so it is imported by nothing that is always imported.
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

FLAGS = (
    # The tests run as root in a container, without a screen and without a network.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)

LISTEN = """addEventListener("securitypolicyviolation", e =>
    console.error(`content policy: ${e.effectiveDirective} ${e.blockedURI} ${e.sample}`));"""
"""Runs before the page does."""


def missing() -> str:
    """What a test in the browser needs and this machine has not; empty if nothing."""
    if not executable():
        return "there is no Chromium: apt-get install -y chromium"
    for module in ("playwright", "axe_playwright_python"):
        if importlib.util.find_spec(module) is None:
            return f"there is no {module}: pip install 'kvproto[test]'"
    return ""


def executable() -> str | None:
    """Chromium as Debian, Ubuntu and others name it."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@contextmanager
def started() -> Iterator[Browser]:
    """A browser without pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
        yield browser
        browser.close()


class Visit:
    """A page that is open; `problems` are its messages, errors, requests, dialogs and violations of its policy."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.uri = path.as_uri()
        self.problems: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("dialog", self._spoke)
        self.page.on("popup", lambda page: self.problems.append(f"window: {page.url}"))
        self.page.on("crash", lambda _: self.problems.append("the page crashed"))

    def _said(self, message: ConsoleMessage) -> None:
        self.problems.append(f"console.{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if request.url.split("#")[0] != self.uri:
            self.problems.append(f"request: {request.url}")

    def _spoke(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, fragment: str = "") -> None:
        """Open the page (again) at a place."""
        self.page.goto(self.uri + fragment)

    def ask(self, function: str, argument: object = None) -> Any:
        """What a function of JavaScript says of the page."""
        return self.page.evaluate(function, argument)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)


@contextmanager
def opened(browser: Browser, path: Path, fragment: str = "", **settings: Any) -> Iterator[Visit]:
    """A page in a fresh profile; nothing that it should not do has happened when it is closed.

    `settings` are those of a browser context: `color_scheme`, `java_script_enabled`, `viewport`.
    """
    context = browser.new_context(**settings)
    if settings.get("java_script_enabled", True):
        context.add_init_script(LISTEN)
    visit = Visit(context, path)
    try:
        visit.go(fragment)
        yield visit
        # Messages of the last action may be on their way.
        visit.page.wait_for_timeout(0)
        assert not visit.problems, "\n".join(visit.problems)
    finally:
        context.close()
