"""GitHub: commands that a runner reads back as they were meant, ten at most, and a summary that fits."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ci_results import HOSTILE, judged, model_file
from markdown_it import MarkdownIt

from kvproto.formats.github import KEPT_FREE, SUMMARY_BYTES, command, notices, summary
from kvproto.formats.judged import Judged, cases, unproven
from kvproto.view.verdicts import Row

if TYPE_CHECKING:
    from markdown_it.token import Token

ROOT = Path(__file__).parent.parent.parent
COMMAND = re.compile(r"::(\w+) ([^:]*)::(.*)")


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return judged("sglang@incident", tmp_path_factory.mktemp("traces"))


def parse(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as a runner takes it apart: fields at commas, escapes undone last."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    fields = dict(field.split("=", 1) for field in found[2].split(","))
    for code, char in (("%2C", ","), ("%3A", ":"), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        fields = {name: value.replace(code, char) for name, value in fields.items()}
    text = found[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    return found[1], fields, text


def test_an_annotation_for_each_property_that_does_not_hold(incident: Judged) -> None:
    told = [parse(line) for line in notices([incident])]
    wanted = {case.name: "error" if case.verdict == "violated" else "warning" for case in unproven(incident)}

    assert wanted == {fields["title"].split()[0]: kind for kind, fields, _ in told}
    # Violations come first: what is cut off is never one of them while there is a doubt.
    assert sorted(kind for kind, _, _ in told) == [kind for kind, _, _ in told]
    for case, (_, fields, text) in zip(
        sorted(unproven(incident), key=lambda c: c.verdict != "violated"), told, strict=True
    ):
        lines = (ROOT / fields["file"]).read_text(encoding="utf-8").splitlines()
        marked = lines[int(fields["line"]) - 1][int(fields["col"]) - 1 : int(fields["endColumn"]) - 1]
        assert marked.startswith("def ")
        assert [case.claim, *case.why] == [text.split(": ")[0], *text.split("\n")[1:]]


def test_targets_share_the_annotation_of_a_property(tmp_path: Path) -> None:
    results = [judged(f"blocks.page_pool@{p}", tmp_path) for p in ("reads-leftovers", "reads-early", "right")]
    ((_, fields, text),) = [parse(line) for line in notices(results) if "title=reads_own " in line]

    assert "reads_own violated" == fields["title"]
    first = text.split("\n")[0]
    assert "blocks.page_pool@reads-leftovers (small)" in first and "blocks.page_pool@reads-early (small)" in first
    assert "blocks.page_pool@right" not in first


def many(result: Judged, count: int) -> list[Judged]:
    """The same result under the names of other models: as many problems."""
    found = []
    for number in range(count):
        system = replace(result.row.result.system, model=f"m{number}")
        row = Row(f"m{number}", replace(result.row.result, system=system), result.row.traces)
        found.append(replace(result, row=row))
    return found


@pytest.mark.parametrize(("problems", "shown"), [(1, 1), (10, 10), (11, 10), (40, 10)])
def test_ten_annotations_at_most_and_none_is_lost_without_a_word(problems: int, shown: int, tmp_path: Path) -> None:
    lines = notices(many(judged("blocks.page_pool@leak", tmp_path), problems))

    assert shown == len(lines)
    last = parse(lines[-1])[2]
    assert (f"{problems - 9} more do not hold" in last) == (problems > 10)


def test_nothing_to_say_about_a_proof(tmp_path: Path) -> None:
    assert [] == notices([judged("blocks.page_pool", tmp_path)])


def test_a_file_outside_of_the_repository_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = notices([judged("blocks.page_pool@leak", tmp_path / "traces")])

    assert {"title"} == set(parse(line)[1])


def test_hostile_text_stays_in_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model_file(tmp_path / "a,b:c%0Ad", HOSTILE)
    (line,) = notices([judged("a,b:c%0Ad/model.py", tmp_path / "traces")])
    kind, fields, text = parse(line)

    assert line.isprintable()
    assert ("error", "a,b:c%0Ad/model.py") == (kind, fields["file"])
    # What stands in the model as `%0A` is still `%0A` for the reader, and no line ends there.
    assert text.startswith("a]]>&<b>\"'`|$x$\\n# one%0A::error::\\x1b[2J")


def test_commands_are_read_back() -> None:
    line = command("error", {"file": "a:b,c%.py", "title": "x\r\ny"}, "1%\n::error::2\r,:")

    assert ("error", {"file": "a:b,c%.py", "title": "x\r\ny"}, "1%\n::error::2\r,:") == parse(line)


# --- the summary --------------------------------------------------------------------------------------


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def words(text: str) -> str:
    """What a reader of the page sees in the lines."""
    lines = [token for token in tokens(text) if token.type == "inline"]
    seen = "\n".join("".join(child.content for child in line.children or ()) for line in lines)
    return seen.replace("\u200b", "")


def test_the_summary_has_a_row_for_each_target(incident: Judged, tmp_path: Path) -> None:
    results = [judged("blocks.page_pool", tmp_path), incident]
    text = summary(results)
    rows = text[text.index("| target") :].split("\n\n")[0].splitlines()[2:]

    assert 2 == len(rows)
    assert "`blocks.page_pool (small)` | holds | nothing: 4 hold" in rows[0]
    assert "`sglang@incident (incident)` | VIOLATED | `reads_own_writes` (17 steps)" in rows[1]
    assert 2 + 1 == sum(token.type == "tr_open" for token in tokens(text))


def test_the_summary_tells_why_and_what_to_do(incident: Judged) -> None:
    text = summary([incident])
    seen = words(text)

    for case in cases(incident):
        for sentence in case.why:
            assert sentence in seen
    fences = [token.content for token in tokens(text) if token.type == "fence" and token.info == "sh"]
    drawn = [token.content for token in tokens(text) if token.type == "fence" and token.info == "mermaid"]
    assert len(incident.traces) == len(drawn)
    assert all(picture.startswith("sequenceDiagram") for picture in drawn)
    assert len(unproven(incident)) == len(fences)
    assert f"kvproto show {incident.row.traces['reads_own_writes']}" in fences[0].splitlines()


@pytest.mark.parametrize("room", [SUMMARY_BYTES, 40_000, 9_000, 3_000, KEPT_FREE, 100])
def test_the_summary_fits(room: int, tmp_path: Path) -> None:
    results = many(judged("blocks.page_pool@double-free", tmp_path), 60)
    text = summary(results, room=room)

    assert len(text.encode()) <= room
    told = text.count("\n### ")
    left_out = 0 if told == 60 else 60 - told
    if room >= KEPT_FREE:
        assert (f"{left_out} more do not hold" in text or "too long for a summary" in text) == (left_out > 0)


def test_hostile_text_in_the_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It neither makes a heading, a row, a tag nor a block of its own."""
    monkeypatch.chdir(tmp_path)
    model_file(tmp_path / "a|b`c", HOSTILE)
    text = summary([judged("a|b`c/model.py", tmp_path / "traces")])
    made = tokens(text)

    assert 1 + 1 == sum(token.type == "tr_open" for token in made)
    assert ["h2", "h3"] == [token.tag for token in made if token.type == "heading_open"]
    parts = [part for token in made for part in (token, *(token.children or ()))]
    assert {"<code>", "</code>"} >= {part.content for part in parts if part.type.startswith("html")}
    assert "a]]>&<b>\"'`|$x$\\n# one%0A::error::" in words(text)
