"""A path that breaks a claim, made shorter: steps are left out as long as the claim still breaks."""

from __future__ import annotations

from kvproto.exploring.beside import Beside
from kvproto.exploring.findings import AT_REST
from kvproto.exploring.target import Path, Target

MOST_TRIES = 600


def shorter(target: Target, beside: Beside, path: Path, claim: str, *, model_too: bool) -> Path:
    """The path without steps that are not needed.  `model_too`: the model has to take it and break the claim, too."""
    tries = 0
    size = max(1, len(path) // 2)
    while size:
        at, less = 0, False
        while at < len(path) and tries < MOST_TRIES:
            candidate = path[:at] + path[at + size :]
            tries += 1
            if candidate and _breaks(target, beside, candidate, claim, model_too=model_too):
                path, less = candidate, True
            else:
                at += size
        if size == 1 and not less:
            break
        size = size // 2 or (1 if less else 0)
    return path


def _breaks(target: Target, beside: Beside, path: Path, claim: str, *, model_too: bool) -> bool:
    if claim == AT_REST:
        return False
    if model_too and beside.counterexample(path, claim) is None:
        return False
    did = target.begin(path)
    return not did.refused and claim in did.look.broken
