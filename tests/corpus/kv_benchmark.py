"""The benchmark protocol, which ships with kvproto: KV-cache transfer with and without deferred release."""

from __future__ import annotations

from expectations import Expect
from kvproto.shipped.models.kv_transfer import model

__all__ = ["EXPECTED", "SOURCE", "model"]

SOURCE = "counted by four other model checkers: TLC, SPIN, rumur, and a program written for it"
HOLDS = {"own_data": "holds", "no_stray": "holds"}
SIZES = {
    (2, 4, 2): 524,
    (3, 4, 2): 6644,
    (4, 4, 2): 60016,
    (4, 6, 2): 513528,
    (5, 4, 2): 435972,
    (4, 8, 2): 1640192,
    (3, 3, 1): 10430,
    (4, 4, 1): 488544,
}
"""States with so many requests, pages, and pages for each request; nothing else was written down."""

EXPECTED = [
    Expect(preset="safe", scope="S", states=25502, depth=25, transitions=108459, orbits=4284, verdicts=HOLDS),
    Expect(preset="safe", scope="M", states=170320, depth=37, transitions=752876, orbits=7885, verdicts=HOLDS),
    Expect(preset="safe", scope="L", states=1329372, depth=46, transitions=6355095, orbits=15636, verdicts=HOLDS),
    Expect(
        preset="safe",
        scope="XL",
        states=6893402,
        depth=41,
        transitions=36699215,
        orbits=64696,
        verdicts=HOLDS,
        slow=True,
    ),
    Expect(
        preset="vulnerable",
        scope="S",
        states=40899,
        depth=25,
        transitions=166839,
        verdicts={"own_data": "violated", "no_stray": "violated"},
        steps={"own_data": 12, "no_stray": 6},
    ),
    *(
        Expect(preset="safe", sets={"Req": r, "Page": p, "pages_per_request": k}, states=n, depth=None, verdicts=HOLDS)
        for (r, p, k), n in SIZES.items()
    ),
]
