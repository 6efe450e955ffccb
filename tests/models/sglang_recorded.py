"""Which searches the recorded counterexamples of `sglang` come from; run as a program, it records them again.

python tests/models/sglang_recorded.py

Then it finds out about every recorded trace, those of `outline` too, what would have prevented it (minutes).
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TRACES = Path(__file__).parent.parent.parent / "traces"


@dataclass(frozen=True)
class Recorded:
    """One search: of all properties, or of one."""

    preset: str
    scope: str | None = None
    sets: tuple[tuple[str, bool], ...] = ()
    claim: str | None = None

    @property
    def command(self) -> list[str]:
        """The arguments of `kvproto`."""
        more = [f"--set={name}={'on' if value else 'off'}" for name, value in self.sets]
        more += [f"--scope={self.scope}"] if self.scope else []
        more += [f"--property={self.claim}"] if self.claim else []
        return ["check", f"sglang@{self.preset}", "--quiet", f"--trace-dir={TRACES}", *more]


RECORDED = [
    Recorded("incident"),
    Recorded("0.5.19"),
    Recorded("0.5.23"),
    Recorded("0.5.21", claim="acknowledged_is_quiet"),
    Recorded("0.5.22", "fan-out", claim="ranks_agree"),
    Recorded("0.5.23", sets=(("unequal_lengths", True),), claim="reads_own_writes"),
    Recorded(
        "0.5.23",
        "pages",
        (("bounded_batch", True), ("prompt_abort", True)),
        claim="writes_spare_other_requests",
    ),
    Recorded("0.5.23", sets=(("aux_loss", True), ("transfer_failures", False)), claim="answered"),
    Recorded("0.5.23", sets=(("timeouts", False),), claim="answered"),
    Recorded("0.5.23", "pages", (("worker_crash", True), ("timeouts", False)), claim="answered"),
    Recorded(
        "0.5.21",
        "chunks",
        (("early_send", True), ("transfer_failures", False), ("client_disconnects", False)),
        claim="reads_no_foreign_data",
    ),
]


if __name__ == "__main__":
    for recorded in RECORDED:
        subprocess.run([sys.executable, "-m", "kvproto", *recorded.command], check=False)
    for trace in sorted(TRACES.glob("*.trace.json")):
        # An exit code of `check` says that something is violated, one of `explain` that something is wrong.
        subprocess.run([sys.executable, "-m", "kvproto", "explain", str(trace), "--save"], check=True)
