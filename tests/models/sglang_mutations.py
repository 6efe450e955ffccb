"""Changes of the model of SGLang that break what no preset breaks."""

from __future__ import annotations

MUTATED: dict[str, tuple[str, str, str, str, str]] = {
    "pages_conserved": (
        "decode.py",
        "            s.d_owner[d][page] = None\n",
        "            s.d_owner[d][page] = None if int(page) == 0 else r\n",
        "0.5.20",
        "small",
    ),
    "lives_are_separate": (
        "decode.py",
        "q.decode == Decode.RUNNING and not q.retracted",
        "q.decode == Decode.TRANSFER and not q.retracted",
        "0.5.23",
        "small",
    ),
}
"""Property -> file, text, its replacement, preset, scope."""
