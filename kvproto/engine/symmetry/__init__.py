"""Symmetry reduction: one state for all that differ in the names of elements, and runs in real names again.

`kvproto.passes.symmetry` says which sorts are symmetric, `closed` which of them start symmetrically.  `Canonical` (and
canon.h, from the same tables) gives representatives, `concretize` real runs.
"""

from kvproto.engine.symmetry.canonical import Canonical
from kvproto.engine.symmetry.concrete import Failure, NotConcrete, RealRun, canonical_path, concretize
from kvproto.engine.symmetry.starts import closed
from kvproto.engine.symmetry.tables import Plan, plan

__all__ = ["Canonical", "Failure", "NotConcrete", "Plan", "RealRun", "canonical_path", "closed", "concretize", "plan"]
