"""The keys of the page: what the script obeys is what the document says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
NAMES = {"Down": "ArrowDown", "Up": "ArrowUp", "Esc": "Escape"}


def test_every_key_is_documented() -> None:
    source = (ROOT / "viewer" / "src" / "keys.js").read_text()
    obeyed = {
        key
        for keys in re.findall(r'^  \[\[("[^\]]*"|"\]")\], "', source, re.M)
        for key in re.findall(r'"([^"]+)"', keys)
    }
    table = (ROOT / "docs" / "viewer.md").read_text().partition("## Keys")[2].partition("\n## ")[0]
    documented = {
        NAMES.get(key, key) for row in re.findall(r"^\| (`.*?) \|", table, re.M) for key in re.findall(r"`(.+?)`", row)
    }

    assert "[" in obeyed and len(obeyed) > 15
    assert obeyed == documented
