"""A report as JSON values, for the page's script: what is drawn at a cursor, without what the static page says."""

from __future__ import annotations

from dataclasses import asdict

from kvproto.explain import Page
from kvproto.report.report import Cell, Excerpt, Pool, Replayed, Report, Row
from kvproto.trace.printable import shown

Json = dict[str, object]


def as_json(report: Report) -> Json:
    """Everything by the names of `Report`; pages are `pool/label`, states are the initial one and the deltas.

    Values of variables are texts, as people read them.
    """
    trace = report.trace
    return {
        "title": report.title,
        "property": trace.property,
        "lanes": list(report.lanes),
        "requests": list(report.requests),
        "init": {path: shown(value) for path, value in trace.init.items()},
        "steps": [_row(report, row) for row in report.rows],
        "messages": [asdict(message) for message in report.messages],
        "flights": [
            {
                "name": f.name,
                "request": f.request,
                "posted": f.posted,
                "landed": f.landed,
                "ended": f.ended,
                "target": _page(f.target),
                "source": _page(f.source),
                "late": f.late,
            }
            for f in report.flights
        ],
        "causes": sorted({(edge.source, edge.step) for edge in report.causes}),
        "pools": [_pool(pool) for pool in report.pools],
        "loop": trace.loop,
        "ending": report.ending,
        "shape": report.shape,
        "excerpts": {name: _excerpt(excerpt) for name, excerpt in report.excerpts.items()},
        "cites": {name: [asdict(link) for link in links] for name, links in report.cites.items()},
        "replayed": _replayed(report.replayed) if report.replayed is not None else None,
    }


def _row(report: Report, row: Row) -> Json:
    step = report.trace.steps[row.number - 1]
    return {
        "lane": row.lane,
        "call": row.call,
        "full": row.full,
        "action": row.action,
        "text": row.text,
        "loc": row.loc,
        "guilty": row.guilty,
        "local": row.local,
        "requests": list(row.requests),
        "pages": [_page(page) for page in row.pages],
        "delta": {path: shown(new) for path, (_, new) in step.delta.items()},
        "changes": [[c.path, c.old, c.new] for c in row.changes],
        "notes": [[note.kind, note.text] for note in row.notes],
    }


def _page(page: Page | None) -> str | None:
    return None if page is None else f"{page.pool}/{page.label}"


def _pool(pool: Pool) -> Json:
    return {
        "name": pool.name,
        "pages": list(pool.pages),
        "slices": list(pool.slices),
        "cells": [[_cell(cell) for cell in history] for history in pool.cells],
    }


def _cell(cell: Cell) -> Json:
    return {
        "since": cell.since,
        "owner": cell.owner,
        "contents": list(cell.contents),
        "coming": list(cell.coming),
        "stale": cell.stale,
        "words": cell.words,
    }


def _excerpt(excerpt: Excerpt) -> Json:
    return {
        "file": excerpt.file,
        "first": excerpt.first,
        "at": excerpt.at,
        "lines": list(excerpt.lines),
        "guards": list(excerpt.guards),
    }


def _replayed(replayed: Replayed) -> Json:
    """Pages only where they differ from those of the state before."""
    states: list[dict[str, list[object]]] = []
    before: dict[str, list[object]] = {}
    for seen in replayed.pages:
        now: dict[str, list[object]] = {f"{s.page.pool}/{s.page.label}": [s.text, s.agrees] for s in seen}
        states.append({page: value for page, value in now.items() if before.get(page) != value})
        before = now
    return {
        "implementation": replayed.implementation,
        "performed": replayed.performed,
        "diverged": replayed.diverged,
        "difference": replayed.difference,
        "pages": states,
        "answers": list(replayed.answers),
    }
