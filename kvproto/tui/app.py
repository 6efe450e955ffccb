"""The viewer: panels around one cursor, and keys that move it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvproto.report.report import Report
from kvproto.trace.printable import printable
from kvproto.tui import texts
from kvproto.tui.lanes import Lanes
from kvproto.tui.session import PANELS, Session
from kvproto.view.choice import Choice

WIDE = 110
"""From so many columns on the panels stand beside the lanes."""

_CSS = """
Screen { layout: vertical; }
#title { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
#main { layout: vertical; height: 1fr; }
#lanes { height: 1fr; min-height: 4; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; }
Lanes, VerticalScroll { scrollbar-size-vertical: 1; }
#side { layout: vertical; height: 52%; width: 1fr; }
#pages { height: auto; max-height: 50%; border-top: solid gray; }
#panel { height: 1fr; border-top: solid gray; }
#panel:focus, #why:focus, #pages:focus { border-top: solid white; }
#why { display: none; }
#status { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
#keys { height: 1; text-style: dim; text-wrap: nowrap; }
#line { display: none; height: 1; border: none; padding: 0; }
#line.open { display: block; }
.wide #main { layout: horizontal; }
.wide #lanes { width: 3fr; min-width: 80; }
.wide #side { width: 2fr; height: 100%; border-left: solid gray; padding-left: 1; }
.wide #pages { max-height: 30%; border-top: none; }
.wide #why { display: block; height: auto; max-height: 40%; border-top: solid gray; }
#help { padding: 0 1; }
"""


class Help(ModalScreen[None]):
    """Keys and marks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """One text that scrolls."""
        with VerticalScroll(id="help"):
            yield Static(texts.help_text())

    def action_scroll(self, by: int) -> None:
        """A line down or up."""
        self.query_one("#help").scroll_relative(y=by, animate=False)


class Line(Input):
    """The line at the bottom in which a search or a filter is written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.close", show=False),
        Binding("shift+enter,up", "app.previous_hit", show=False),
    ]


class TraceApp(App[None]):
    """A trace with a cursor."""

    TITLE = "kvproto"
    CSS = _CSS
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "wide")]  # noqa: RUF012 - as textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)"),
        Binding("k,up", "move(-1)"),
        Binding("home", "first"),
        Binding("end", "last"),
        Binding("n", "in_slice(1)"),
        Binding("N", "in_slice(-1)"),
        *(Binding(str(at), f"panel('{name}')") for at, name in enumerate(PANELS, 1)),
        Binding("d", "full"),
        Binding("c", "cone"),
        Binding("l", "fold"),
        Binding("f", "ask('filter')"),
        Binding("slash", "ask('search')"),
        Binding("question_mark", "help"),
        Binding("escape", "close"),
        Binding("pagedown", "page(1)"),
        Binding("pageup", "page(-1)"),
        Binding("q", "quit"),
    ]

    def __init__(self, report: Report, choice: Choice | None = None) -> None:
        super().__init__()
        self.session = Session(report, choice or Choice())
        self._asking = ""
        self._said = ""
        self._moved = False

    def compose(self) -> ComposeResult:
        """The panels."""
        yield Static(texts.title(self.session.report), id="title")
        with Container(id="main"):
            yield Lanes(self.session)
            with Container(id="side"):
                with VerticalScroll(id="pages", can_focus=True):
                    yield Static(id="pages-text")
                with VerticalScroll(id="why", can_focus=True):
                    yield Static(id="why-text")
                with VerticalScroll(id="panel", can_focus=True):
                    yield Static(id="panel-text")
        yield Line(id="line", compact=True)
        yield Static(id="status")
        yield Static("j/k step  n/N slice  1-4 panel  d full  c cone  f filter  / find  ? help  q quit", id="keys")

    def on_mount(self) -> None:
        """The cursor stands on the violation."""
        self.query_one("#pages").border_title = "pages  owner<last writer"
        self.query_one("#why").border_title = "why"
        self.query_one(Lanes).focus()
        self.draw()

    def draw(self) -> None:
        """Everything at the cursor."""
        session = self.session
        self.query_one(Lanes).draw()
        self.query_one("#pages-text", Static).update(texts.pages(session))
        self.query_one("#why-text", Static).update(texts.panel(session, "why"))
        self.query_one("#panel-text", Static).update(texts.panel(session, session.panel))
        self.query_one("#panel").border_title = self._tabs()
        self.query_one("#status", Static).update(texts.status(session, self._said))
        self._said = ""

    def _tabs(self) -> Content:
        """The names of the panels, the one that is shown in capitals."""
        shown = self.session.panel
        return Content("  ").join(
            Content.styled(f"{at} {name.upper() if name == shown else name}", "bold" if name == shown else "")
            for at, name in enumerate(PANELS, 1)
        )

    def _show(self, panel: str) -> None:
        self.session.panel = panel
        self.query_one("#panel", VerticalScroll).scroll_home(animate=False)

    def _step(self) -> None:
        """The cursor has moved.  At the first time the why gives way to what the steps do."""
        if not self._moved and self.session.panel == PANELS[0]:
            self._show(PANELS[1])
        self._moved = True
        self.query_one("#panel", VerticalScroll).scroll_home(animate=False)
        self.draw()

    def action_move(self, by: int) -> None:
        """Some steps on or back."""
        self.session.move(by)
        self._step()

    def action_first(self) -> None:
        """To the start."""
        self.session.first()
        self._step()

    def action_last(self) -> None:
        """To the last step."""
        self.session.last()
        self._step()

    def action_in_slice(self, by: int) -> None:
        """To the next or previous step of the slice."""
        if not self.session.in_slice(by):
            self._say("no further step that the verdict rests on")
            self.draw()
        else:
            self._step()

    def action_go(self, step: int) -> None:
        """To a step that a sentence names."""
        self.session.go(step)
        self._step()

    def action_panel(self, name: str) -> None:
        """Show a panel."""
        self._moved = True
        self._show(name)
        self.draw()

    def action_full(self) -> None:
        """What changed, or the whole state."""
        self.session.full = not self.session.full
        self.action_panel(PANELS[1])

    def action_cone(self) -> None:
        """Dim what the verdict does not rest on, or light everything."""
        self.session.cone = not self.session.cone
        self.draw()

    def action_fold(self) -> None:
        """Fold or unfold runs of local steps."""
        self.session.fold()
        self.draw()

    def action_page(self, by: int) -> None:
        """Scroll the panel."""
        panel = self.query_one("#panel", VerticalScroll)
        panel.scroll_relative(y=by * max(panel.size.height - 1, 1), animate=False)

    def action_help(self) -> None:
        """Keys and marks."""
        self.push_screen(Help())

    def action_ask(self, what: str) -> None:
        """Open the line for a search or a filter."""
        line = self.query_one(Line)
        self._asking = what
        line.value = self.session.word if what == "search" else self.session.choice.words()
        line.placeholder = "search: any word" if what == "search" else "filter: lane=decode page=3 request=A commit"
        line.select_all()
        line.add_class("open")
        line.focus()

    @on(Input.Submitted)
    def _answered(self, event: Input.Submitted) -> None:
        if self._asking == "search":
            self._search(event.value, 1)
        elif self.session.filter(event.value):
            self._close()
        else:
            self._say(f"no step fits {event.value!r}")
        self.draw()

    def action_previous_hit(self) -> None:
        """The hit before the cursor."""
        if self._asking == "search":
            self._search(self.query_one(Line).value, -1)
            self.draw()

    def _search(self, word: str, by: int) -> None:
        """To a hit; the line stays open for the next one."""
        if not word:
            self.session.word = ""
            self._close()
        elif not self.session.find(word, by):
            self._say(f"{word!r} is in no step")

    def action_close(self) -> None:
        """Close the line; if it is closed, show everything again."""
        if self._asking:
            self._close()
        else:
            self.session.clear()
        self.draw()

    def _close(self) -> None:
        self._asking = ""
        self.query_one(Line).remove_class("open")
        self.query_one(Lanes).focus()

    def _say(self, text: str) -> None:
        self._said = printable(text)

    def on_lanes_picked(self, event: Lanes.Picked) -> None:
        """A click in the lanes."""
        self.action_go(event.step)

    def on_resize(self) -> None:
        """What fits is decided by the width."""
        self.call_after_refresh(self.draw)


def run(report: Report, choice: Choice | None = None) -> None:
    """Show a trace until the reader has seen enough."""
    TraceApp(report, choice).run()
