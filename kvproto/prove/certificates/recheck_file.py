"""Checking a certificate file: the model is loaded, lowered and bound again, and nothing of the file is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kvproto.diagnostics import KvError
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target, find
from kvproto.prove.certificates.codec import Json, Malformed, text
from kvproto.prove.certificates.ground import Refused
from kvproto.prove.certificates.recheck import SCHEMA, Checked, check
from kvproto.prove.certificates.recheck_witness import replay
from kvproto.prove.lowering.system import lower
from kvproto.shipped import ROOT


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What became of a file: what it proves, or why it is refused."""

    path: Path
    target: str
    checked: Checked | None
    refused: str = ""
    witnesses: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def place(text: str) -> Path:
    """The file of that name; where there is none, the certificate that ships for the target of that name."""
    shipped = ROOT / "proofs" / f"{text}.json"
    return shipped if not Path(text).exists() and shipped.is_file() else Path(text)


def recheck(path: Path) -> Rechecked:
    """Check one file; raises KvError (KV306) if it is no certificate at all, or its model cannot be loaded."""
    data = load(path)
    target = data.get("target")
    try:
        return _rechecked(path, data, text(target))
    except (Refused, Malformed) as problem:
        return Rechecked(path, str(target), None, str(problem))
    except (LookupError, TypeError, ValueError) as problem:
        return Rechecked(path, str(target), None, f"it is malformed: {problem}")


def load(path: Path) -> dict[str, Json]:
    """The JSON object in a certificate file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as problem:
        raise _none(path, problem.strerror or str(problem)) from None
    except _Twice as twice:
        raise _none(path, f"it says twice what {twice} is") from None
    except (ValueError, RecursionError):
        raise _none(path, "the file is not JSON") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise _none(path, f"it does not say that its schema is {SCHEMA}")
    return data


class _Twice(ValueError):
    """A name that an object has twice: who reads the file could see the one that is not checked."""


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _rechecked(path: Path, data: Mapping[str, Json], name: str) -> Rechecked:
    target, settings = find(name), dict(data["settings"])
    # Sizes do not matter to the theory; they have to be something.
    chosen = choose(target.model, preset=target.preset, sets=settings)
    claims = tuple(text(claim["name"]) for claim in data["claims"])
    fixed = frozenset(text(number) for number in data["fixed"])
    system = build(target.model, chosen)
    invariants = [claim.name for claim in system.claims if claim.kind == "invariant"]
    if not claims or not set(claims) <= set(invariants):
        raise Refused("its claims are not invariants of the model")
    left_out = tuple(name for name in invariants if name not in claims)
    if data["left_out"] != list(left_out):
        raise Refused(f"it leaves out {', '.join(left_out) or 'nothing'}, and does not say so")
    theory = lower(target.model, chosen, fixed=fixed, properties=claims).theory
    checked = check(data, theory)
    shown = tuple(replay(_instance(target, witness, settings), witness) for witness in data["witnesses"])
    wanted = {claim.name for claim in system.claims if claim.kind == "sometimes"}
    if missing := wanted - set(shown):
        raise Refused(f"no run shows that {min(missing)} can happen: the claims may be about nothing")
    return Rechecked(path, name, checked, "", shown, left_out, theory.assumptions)


def _instance(target: Target, witness: Json, settings: Mapping[str, Json]) -> System:
    """The model in the scope of a witness, under the same switches."""
    scope = text(witness["scope"])
    return build(target.model, choose(target.model, preset=target.preset, scope=scope, sets=settings))


def _none(path: Path, why: str) -> KvError:
    return KvError(
        "KV306",
        f"{path.name} is no certificate: {why}",
        reason=f"a certificate is a JSON object with the schema {SCHEMA}",
        cure="kvproto prove TARGET --certificate FILE writes one",
    )
