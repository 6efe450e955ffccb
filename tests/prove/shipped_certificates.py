"""The certificates in `proofs/`, and how they are made again: `python tests/prove/shipped_certificates.py [TARGET...]`.

Those that still prove their model are left as they are.  Where only the wording of clauses has changed, the wording is
written anew; everything else is proved again, which takes up to a minute each.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from kvproto.lang.load import find, proofs
from kvproto.prove.certificates.certificate import write
from kvproto.prove.certificates.codec import Reader
from kvproto.prove.certificates.recheck_file import load, recheck
from kvproto.prove.logic.formula import Symbol
from kvproto.prove.logic.readable import reading

FOLDER = Path(__file__).parents[2] / "proofs"


def targets() -> list[str]:
    """Presets of the shipped proofs that nothing is expected to break."""
    models = [(name, find(name).model) for name in proofs()]
    return [f"{name}@{preset.name}" for name, model in models for preset in model.presets if not preset.expect]


def refresh(target: str) -> str:
    """Make one certificate good again; says what was done."""
    path = FOLDER / f"{target}.json"
    if path.exists():
        if not recheck(path).refused:
            return "is as it was"
        write(path, reworded(load(path)))
        if not recheck(path).refused:
            return "reads otherwise"
    path.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "kvproto", "prove", target, "-q", "--certificate", str(path)], check=False)
    return "was proved again" if path.exists() else "HAS NO PROOF"


def reworded(data: dict[str, Any]) -> dict[str, Any]:
    """The same certificate with its clauses as they read today."""
    symbols = [Symbol(name, tuple(args), result, spelled) for name, args, result, spelled in data["symbols"]]
    reader = Reader(symbols, {})
    for entry in data["clauses"]:
        entry["text"] = reading(reader.formula(entry["formula"]))
    return data


if __name__ == "__main__":
    for wanted in sys.argv[1:] or targets():
        print(f"{wanted} {refresh(wanted)}", flush=True)
