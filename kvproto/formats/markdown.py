"""A trace as Markdown for an issue thread: verdict, why, diagram, steps, pages, and what to run.

What a reader needs first stands first; tables are folded.  GitHub takes 65,536 characters, so a long trace is
shortened, the steps that the verdict does not rest on first, and the text says what is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.formats.markup import block, code, inner, plain
from kvproto.formats.mermaid import mermaid
from kvproto.report.report import Cell, Pool, Report, Row, Sentence

MOST_CHARACTERS = 60_000
"""Leaves room for what somebody writes around it."""

_DIAGRAM, _STEPS, _PAGES = 20_000, 24_000, 10_000
"""Characters that the large parts may take."""

_SENTENCES, _CHANGES, _COLUMNS = 12, 6, 16
"""The most sentences of a kind, changes of a step, pages beside each other."""


def markdown(report: Report) -> str:
    """The text, at most `MOST_CHARACTERS` long."""
    head = [*_header(report), *_sentences("Why", report.why), *_sentences("What would have been", report.whatif)]
    tail = [*_settings(report), *_commands(report)]
    parts: list[str] = []
    room = MOST_CHARACTERS - sum(len(part) + 2 for part in [*head, *tail])
    for part in (_diagram(report), _steps(report), _pages(report)):
        if part and len(part) + 2 <= room:
            parts.append(part)
            room -= len(part) + 2
    return "\n\n".join([*head, *parts, *tail]) + "\n"


def _header(report: Report) -> Iterator[str]:
    trace = report.trace
    target = trace.model + (f"@{trace.preset}" if trace.preset else "")
    scope = f", scope {code(trace.scope, 60)}" if trace.scope else ""
    count = len(trace.steps)
    yield f"### {plain(trace.verdict.upper(), 20)}: {code(trace.property, 120)}"
    yield f"{plain(trace.claim)}  \n{code(target, 120)}{scope}, {count} step{'' if count == 1 else 's'}"


def _sentences(title: str, sentences: Sequence[Sentence]) -> Iterator[str]:
    if not sentences:
        return
    lines = [f"{at}. {_sentence(sentence)}" for at, sentence in enumerate(sentences[:_SENTENCES], 1)]
    if len(sentences) > _SENTENCES:
        lines.append(f"\n({len(sentences) - _SENTENCES} more sentences are left out.)")
    yield f"**{title}**\n\n" + "\n".join(lines)


def _sentence(sentence: Sentence) -> str:
    return "".join(f"<b>{inner(s.text, 40)}</b>" if s.step is not None else inner(s.text, 300) for s in sentence[:24])


def _diagram(report: Report) -> str:
    return block(mermaid(report, characters=_DIAGRAM), "mermaid")


# --- steps ------------------------------------------------------------------------------------------------


def _steps(report: Report) -> str:
    if not report.rows:
        return ""
    marked = not all(row.guilty for row in report.rows)
    lines: dict[int, str] = {}
    room = _STEPS
    wanted = sorted(report.rows, key=lambda row: (row.guilty or bool(row.notes), row.number), reverse=True)
    for row in wanted:
        line = _row(row, marked)
        room -= len(line) + 1
        if room < 0:
            break
        lines[row.number] = line
    left = len(report.rows) - len(lines)
    table = ["| step | lane | action | what changes |", "|---:|---|---|---|", *(lines[n] for n in sorted(lines))]
    notes = ["Steps with a star are those that the verdict rests on."] if marked and lines else []
    if report.ending:
        notes.append(f"At the end: {plain(report.ending)}.")
    if left:
        notes.append(f"{left} of {len(report.rows)} steps are left out.")
    return _folded(f"Steps ({len(report.rows)})", "\n".join(table), " ".join(notes))


def _row(row: Row, marked: bool) -> str:
    lines = [f"{code(c.path, 80)} {inner(c.old, 80)} &#8594; {inner(c.new, 80)}" for c in row.changes[:_CHANGES]]
    if len(row.changes) > _CHANGES:
        lines.append(f"and {len(row.changes) - _CHANGES} more")
    notes = [f"<b>{inner(note.text, 160)}</b>" for note in row.notes[:_CHANGES]]
    star = "&#42;" if marked and row.guilty else ""
    return f"| {row.number}{star} | {plain(row.lane, 40)} | {code(row.full, 160)} | {'<br>'.join([*notes, *lines])} |"


# --- pages ------------------------------------------------------------------------------------------------


def _pages(report: Report) -> str:
    tables = [table for pool in report.pools if (table := _pool(report, pool))]
    if not tables:
        return ""
    legend = (
        "A page is <code>B</code> if B owns and wrote it, <code>B&#60;A</code> if B owns it and A wrote it last; "
        "a point stands for nobody. Behind a <code>+</code>: whose writes may still land."
    )
    return _folded("Pages", "\n\n".join(tables), legend)


def _pool(report: Report, pool: Pool) -> str:
    """The pages that ever change, in the states after the steps that changed one."""
    columns = [at for at, history in enumerate(pool.cells) if len(history) > 1 or _text(history[0]) != "."]
    left, columns = columns[_COLUMNS:], columns[:_COLUMNS]
    states = sorted({cell.since for at in columns for cell in pool.cells[at]})
    if not columns:
        return ""
    lines = [f"| {plain(pool.name, 40)} | {' | '.join(plain(pool.pages[at], 20) for at in columns)} |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    room = _PAGES // max(len(report.pools), 1) - sum(map(len, lines))
    shown: list[str] = []
    for state in reversed(states):
        cells = (pool.at(pool.pages[at], state) for at in columns)
        what = code(report.row(state).call, 60) if state else "at the start"
        line = f"| {f'{state} ' if state else ''}{what} | {' | '.join(code(_text(cell), 40) for cell in cells)} |"
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    out = [f"\n{len(left)} pages that change are left out."] if left else []
    if len(shown) < len(states):
        out.append(f"\n{len(states) - len(shown)} earlier rows are left out.")
    return "\n".join([*lines, *reversed(shown), *out])


def _text(cell: Cell) -> str:
    """`B`, `B<A`, `.`: owner and last writers as the terminal shows them."""
    owner = cell.owner if cell.owner is not None else "."
    writers = ["." if content is None else content for content in cell.contents]
    same = all(writer == owner for writer in writers)
    first = writers[:1] if len(set(writers)) == 1 else writers
    coming = f" +{','.join(cell.coming)}" if cell.coming else ""
    return (owner if same else f"{owner}<{'/'.join(first)}") + coming


# --- the rest ---------------------------------------------------------------------------------------------


def _settings(report: Report) -> Iterator[str]:
    facts = [(name, text) for name, text in report.facts if name not in ("claim", "model")]
    lines = [f"- {plain(name, 20)}: {code(text, 1500)}" for name, text in facts]
    yield _folded("Settings", "\n".join(lines), "")


def _commands(report: Report) -> Iterator[str]:
    if report.commands:
        lines = [f"{command[:1000]}  # {what}" for command, what in report.commands]
        yield block("\n".join(lines), "sh")


def _folded(title: str, body: str, after: str) -> str:
    """Folded until somebody wants to see it.  Markdown inside of HTML needs empty lines around it."""
    end = f"\n\n{after}" if after else ""
    return f"<details><summary>{title}</summary>\n\n{body}{end}\n\n</details>"
