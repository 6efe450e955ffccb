"""Every part of every guard of proved models: left out, a run breaks a claim, or the rest is proved all the same.

Presets whose proofs take longer are tried by `python tests/prove/mutant_proofs.py TARGET...`.
"""

from __future__ import annotations

import pytest
from mutant_proofs import Part, fate, parts
from proof_table import PAGE

pytest.importorskip("z3", reason="z3-solver is not installed: pip install 'kvproto[prove]'")

NEEDLESS = {
    "proofs.late@deferred": {
        "reserve: any(p in wanted for p in Page)": "a request without pages reads nothing",
        "complete: s.phase[r] == Phase.SENDING": "whoever has nothing under way and has written all its pages may read",
        "abort: s.phase[r] == Phase.SENDING": "a request may be aborted before it has pages, and while it reads",
        "release: s.phase[r] == Phase.ABORTED": "pages to which nothing is under way may be freed at any time",
    },
    "proofs.incident@door-deferred": {
        "reserve: s.phase[r] == Phase.NEW": "more memory may be reserved; all of it is sent before it is read",
        "reserve: any(k in wanted and k in s.starts for k in Slot)": "where pages begin only matters to page counts",
        "send: s.phase[r] == Phase.RESERVED": "all of it may be sent again, while the request has it",
        "reject: s.phase[r] == Phase.RESERVED": "a request may be refused at any time; its memory is held",
        "abort: s.phase[r] == Phase.RESERVED or s.phase[r] == Phase.SENDING": "so it may be aborted at any time",
        "release: s.phase[r] == Phase.FAILED": "memory to which nothing is under way may be freed at any time",
    },
    "proofs.core@drained": {
        "reserve: s.phase[r] == Phase.NEW": "more pages may be reserved; all of them are sent before they are read",
        "reserve: any(p in wanted for p in Page)": "a request without pages reads nothing",
        "send: s.phase[r] == Phase.RESERVED": "all of it may be sent again, while the request has it",
        "reject: s.phase[r] == Phase.RESERVED": "a request may be refused at any time; its pages are held",
        "abort: s.phase[r] == Phase.RESERVED or s.phase[r] == Phase.SENDING": "so it may be aborted at any time",
        "release: s.phase[r] == Phase.FAILED": "pages to which nothing is under way may be freed at any time",
    },
    "proofs.prefix@right": {
        "hit: s.phase[r] == Phase.ASKS": "a request may look again and read another page of its prefix",
        "miss: s.phase[r] == Phase.ASKS": "a request may have another page filled and forget the first",
        "miss: s.wants[r] == k": "a page that is lent for another prefix is verified for the right one",
        "miss: s.entry[k] is None": "a second page of a prefix is filled, and does not enter the index",
        "fill: s.phase[r] == Phase.FILLS": "a page that is not verified yet may be filled again",
        "fill: s.wants[r] == k": "bytes of another prefix are wrong bytes, which are filled anyway",
        "verify: s.phase[r] == Phase.FILLED": "a page may hold the right bytes from before",
        "verify: s.wants[r] == k": "a page may enter the index under the prefix that it holds",
        "end: s.phase[r] not in (Phase.NEW, Phase.OVER)": "a request may end before it has begun",
        "evict: s.entry[k] is not None": "nothing to evict changes nothing",
    },
    "proofs.tags@five-rules": {
        "reserve: s.owner[p] is None": "a page may be lent although another request has it: the other one fails",
        "compute: s.told[r][p] is not None": "a block without a tag is accepted by nobody",
        "land: s.source[a].of is not None": "a landing that nobody posted brings a block without a tag",
        "read: s.look[p] == (Look.CHECKED if cfg.checks_first else Look.NOT)": "a page may be read again",
        "release: s.owner[p] is not None": "a free page may be freed again",
    },
}
"""Guards that no claim needs, and why: what would be new is proved not to matter.  All others are needed."""

ALL = [part for target in NEEDLESS for part in parts(target)]


def needless(part: Part) -> bool:
    return part.guard in NEEDLESS[part.target]


def test_reasons_are_of_guards() -> None:
    known = {(part.target, part.guard) for part in ALL}

    assert known >= {(target, guard) for target, some in NEEDLESS.items() for guard in some}


@pytest.mark.parametrize("target", NEEDLESS)
def test_the_page_counts_them(target: str) -> None:
    mine = [part for part in ALL if part.target == target]
    free = len([part for part in mine if needless(part)])

    assert f"| `{target}` | {len(mine)} | {len(mine) - free} | {free} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("part", [part for part in ALL if not needless(part)], ids=str)
def test_a_run_breaks_a_claim(part: Part) -> None:
    found = fate(part)

    assert "refuted" == found.kind
    assert found.by


@pytest.mark.parametrize("part", [part for part in ALL if needless(part)], ids=str)
def test_the_rest_is_proved(part: Part) -> None:
    """For any number of elements: that no small world breaks would not be enough."""
    assert "proved" == fate(part).kind
