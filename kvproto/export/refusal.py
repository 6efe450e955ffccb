"""What an exporter says about a line that its format cannot express."""

from __future__ import annotations

from kvproto.diagnostics import KvError, Loc
from kvproto.ir.nodes import System


def refusal(system: System, target: str, message: str, reason: str, cure: str, loc: Loc | None = None) -> KvError:
    """KV031, pointing at the line of the model."""
    lines = system.sources.get(loc.file, "").splitlines() if loc is not None else []
    text = lines[loc.line - 1] if loc is not None and 0 < loc.line <= len(lines) else ""
    return KvError("KV031", f"{message}, which {target} cannot express", reason=reason, cure=cure, loc=loc, line=text)
