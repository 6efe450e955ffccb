"""Symmetry reduction: one state for all that differ in the names of elements, and runs in real names again.

`kvproto.passes.symmetry` says which sorts are symmetric; then `closed` takes out those whose elements start
differently, `Canonical` (and canon.h, from the tables of `plan`) gives representatives, `concretize` real runs.
"""

from kvproto.engine.symmetry.canonical import Canonical
from kvproto.engine.symmetry.concrete import Failure, RealRun, canonical_path, concretize
from kvproto.engine.symmetry.plan import Plan, plan
from kvproto.engine.symmetry.starts import closed

__all__ = ["Canonical", "Failure", "Plan", "RealRun", "canonical_path", "closed", "concretize", "plan"]
