"""Placeholder."""
from dataclasses import dataclass
@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    text: str
CATALOGUE: dict[str, Entry] = {"KV112": Entry("",""), "KV140": Entry("","")}
