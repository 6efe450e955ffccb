"""`kvproto view`: what it writes where, and what it refuses."""

from __future__ import annotations

import shutil
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvproto.trace import codec

if TYPE_CHECKING:
    from cli_runs import Run

TRACES = Path(__file__).parent.parent.parent / "traces"
LATE = "sglang-0.5.19-writes_spare_other_requests"
OUTLINE = "outline-incident-reads_own_writes"


def recorded(name: str) -> str:
    return str(TRACES / f"{name}{codec.SUFFIX}")


@pytest.fixture
def foreign(here: Path) -> Path:
    """A trace of a model that nobody here knows."""
    path = here / f"theirs{codec.SUFFIX}"
    path.write_text(Path(recorded(LATE)).read_text().replace('"model": "sglang"', '"model": "theirs"'))
    return path


def test_the_page_is_called_as_the_trace_and_lies_here(kv: Run, here: Path) -> None:
    done = kv("view", recorded(LATE))

    assert (0, f"{LATE}.html: 1 trace\n", "") == (done.code, done.out, done.err)
    assert [f"{LATE}.html"] == [path.name for path in here.iterdir()]
    text = (here / f"{LATE}.html").read_text()
    assert text.startswith("<!doctype html>") and "writes_spare_other_requests" in text
    # What the model at hand says: lines of its text, and what they cite.
    assert "require(" in text and "mooncake" in text


def test_a_file_of_ones_own(kv: Run, here: Path) -> None:
    assert 0 == kv("view", recorded(LATE), "-o", "page.html").code
    kv("view", recorded(LATE), "--output", "other.html")

    assert (here / "page.html").read_bytes() == (here / "other.html").read_bytes()


def test_standard_output(kv: Run, here: Path) -> None:
    kv("view", recorded(LATE), "-o", "page.html")
    done = kv("view", recorded(LATE), "-o", "-")

    assert (0, (here / "page.html").read_text(), "") == (done.code, done.out, done.err)


def test_several_traces_and_folders(kv: Run, here: Path) -> None:
    folder = here / "found"
    folder.mkdir()
    for name in (LATE, OUTLINE):
        shutil.copy(recorded(name), folder)
    (folder / "note.json").write_text("{}")
    done = kv("view", "found")

    assert (0, "found.html: 2 traces\n") == (done.code, done.out)
    text = (here / "found.html").read_text()
    assert 2 == text.count("<article") and LATE in text and OUTLINE in text
    assert "traces.html: 3 traces\n" == kv("view", "found", recorded(LATE)).out


def test_a_folder_without_traces(kv: Run, here: Path) -> None:
    (here / "empty").mkdir()
    done = kv("view", "empty")

    assert 2 == done.code and "KV010" in done.err and "no trace in the folder empty" in done.err
    assert [] == list(here.glob("*.html"))


@pytest.mark.parametrize(
    ("text", "code"), [(None, "KV010"), ("{", "KV011"), ('{"schema": "kvproto.trace/1"}', "KV012")]
)
def test_what_is_no_trace(kv: Run, here: Path, text: str | None, code: str) -> None:
    if text is not None:
        (here / "odd.trace.json").write_text(text)
    done = kv("view", recorded(LATE), "odd.trace.json", "-o", "page.html")

    assert 2 == done.code and code in done.err
    assert not (here / "page.html").exists()


@pytest.mark.parametrize("place", ["no/such/page.html", ".", "a\0b"])
def test_a_place_that_cannot_be_written(kv: Run, place: str) -> None:
    done = kv("view", recorded(LATE), "-o", place)

    assert 2 == done.code and "KV021" in done.err


def test_without_a_trace(kv: Run) -> None:
    done = kv("view")

    assert 2 == done.code and "KV022" in done.err


def test_the_browser_opens_the_page(kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    kv("view", recorded(LATE), "-o", "my page.html", "--open")

    assert [(here / "my page.html").as_uri()] == opened
    done = kv("view", recorded(LATE), "-o", "-", "--open")
    assert 2 == done.code and "KV026" in done.err and len(opened) == 1


def test_a_replay_beside_the_model(kv: Run, here: Path) -> None:
    assert 0 == kv("view", recorded(OUTLINE), "--replay", "-o", "with.html").code
    kv("view", recorded(OUTLINE), "-o", "without.html")

    heading = "On the reference implementation"
    assert heading in (here / "with.html").read_text()
    assert heading not in (here / "without.html").read_text()


def test_a_model_that_nobody_knows(kv: Run, here: Path, foreign: Path) -> None:
    done = kv("view", foreign.name, "--replay")

    assert (0, "theirs.html: 1 trace\n") == (done.code, done.out)
    assert "no reference implementation of model theirs" in done.err
    text = (here / "theirs.html").read_text()
    # Nothing that could be run, and no text of another model that happens to have the same actions.
    assert "kvproto replay" not in text and "require(" not in text


def test_help(process: Run) -> None:
    done = process("view", "--help")

    assert 0 == done.code and "-o, --output FILE" in done.out


def test_a_result_does_not_replace_its_trace(kv: Run) -> None:
    kv("check", "outline@incident", "--property", "reads_own_writes", "--trace-dir", "t")
    trace = next(Path("t").iterdir())
    text = trace.read_bytes()
    Path("link.json").symlink_to(trace)
    for words in (
        ("view", str(trace), "-o", str(trace)),
        ("view", "t", "-o", "link.json"),
        ("export", str(trace), "--to", "mermaid", "-o", str(trace)),
    ):
        done = kv(*words)
        assert done.code == 2
        assert done.err.startswith("error KV026")
        assert trace.read_bytes() == text
