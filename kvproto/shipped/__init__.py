"""What ships with kvproto beside its code: models, properties, recorded traces, certificates of proofs, and the Promela
model of the benchmark.

In a checkout they are top-level folders; in an installed wheel they lie inside this package.  Either way they are
imported as `kvproto.shipped.models`, `kvproto.shipped.properties`.
"""

from pathlib import Path

_here = Path(__file__).resolve().parent
ROOT = _here if (_here / "models").is_dir() else _here.parent.parent
"""Folder that holds `models/`, `properties/`, `traces/`, `benchmarks/` and `proofs/`."""

__path__ = [str(ROOT)]
