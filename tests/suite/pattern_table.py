"""What docs/patterns.md has of the models: tables, and the guards that no claim needs.

`python tests/suite/pattern_table.py` writes it anew, and leaves out every guard of every fix to count what is caught.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvproto.engine.outcome import Options
from kvproto.lang.reports import Mechanism
from kvproto.suite.entries import Entry, entries
from kvproto.suite.mutation import Trial, subjects, try_all
from kvproto.suite.mutation_table import mutation_totals
from kvproto.suite.needless import needless
from kvproto.suite.run import usual_workers

PAGE = Path(__file__).parents[2] / "docs" / "patterns.md"
HEAD = ("| model | report | preset | what it is | breaks |", "|---|---|---|---|---|")
GUARDS = """## Guards that no claim needs

A claim that never breaks may be one that cannot. `kvproto suite --mutants` leaves out every guard of every fixed
preset, one part of a condition at a time, and searches again. This is its last line:

```
{totals}
```

- *Caught*: a claim breaks.
- *Without effect*: the same states and the same steps; the other guards imply it.
- *Shortcut*: no state is new, and every new step leads where others lead one after the other. No claim about states
  can tell, and those about runs hold.
- *Needless*: something new is possible, and no claim minds. Each of these has a reason, in
  `models/patterns/needless.toml`; one without a reason, or a reason for what is caught, fails with exit 1. For models
  of your own (`kvproto suite my_model.py --mutants`) a `needless.toml` beside them is read, headed
  `["my_model.py"]`.

{lists}
**Shortcuts.** Found by comparing graphs, so that nobody has to give a reason.

{shortcuts}
"""


def tables() -> str:
    """A section a mechanism."""
    found: dict[str, list[Entry]] = {}
    for entry in entries():
        if entry.reports:
            found.setdefault(entry.model, []).append(entry)
    sections = []
    for mechanism in Mechanism:
        models = sorted(name for name, some in found.items() if some[0].reports[0].mechanism is mechanism)
        title = mechanism.value[:1].upper() + mechanism.value[1:]
        lines = [line for name in models for line in _rows(name, found[name])]
        sections.append("\n".join([f"## {title}", "", *HEAD, *lines]))
    return "\n\n".join(sections) + "\n"


def _rows(name: str, some: list[Entry]) -> list[str]:
    lines = []
    for entry in some:
        first = entry is some[0]
        reports = [f"[{r.where}]({r.url}){'' if r.established else ' (cause not established)'}" for r in entry.reports]
        broken = [f"`{claim}` ({'-' if length is None else length})" for claim, length in entry.expected.items()]
        cells = (f"`{name}`" if first else "", ", ".join(reports) if first else "", f"`{entry.preset}`", entry.doc)
        lines.append(f"| {' | '.join(cells)} | {', '.join(broken) or 'nothing'} |")
    return lines


def needless_lists() -> str:
    """A table a kind of reason."""
    known = needless()
    parts = []
    for kind, meaning in known.kinds.items():
        rows = [
            f"| `{model}` | `{guard}` | {reason.why} |"
            for model, some in known.reasons.items()
            for guard, reason in some.items()
            if reason.kind == kind
        ]
        title = kind[:1].upper() + kind[1:]
        parts.append("\n".join([f"**{title}.** {meaning}", "", "| model | guard | why |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def guards(trials: Sequence[Trial]) -> str:
    """The section on guards."""
    shortcuts = dict.fromkeys(f"- `{t.entry.model}`: `{fate.guard}`" for t in trials for fate in t.of("shortcut"))
    totals = mutation_totals(trials, needless())
    return GUARDS.format(totals=totals, lists=needless_lists(), shortcuts="\n".join(shortcuts))


def all_trials() -> list[Trial]:
    """All fixes without each of their guards, in the order of the entries."""
    chosen = subjects(list(entries()))
    return sorted(try_all(chosen, Options(), usual_workers()), key=lambda trial: chosen.index(trial.entry))


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    tail = tables() + "\n" + guards(all_trials())
    PAGE.write_text(text[: text.index("\n## ") + 1] + tail, encoding="utf-8")
