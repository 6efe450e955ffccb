"""Random small models in the language of proofs, as texts: everything that the lowering has a rule for."""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """
from __future__ import annotations
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", size=2)
Page = Sort("Page", size=2)

class Phase(Enum):
    A = auto()
    B = auto()
    C = auto()

class Config(Params):
    limit: int = number(2, "a number", least=0)

cfg = Config()

class Cell(Record):
    of: Opt(Req)
    mark: Bool

class State(Record):
    flag: Bool
    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    last: Array(Page, Req)
    note: Array(Req, Opt(Phase))
    sets: Array(Req, Set(Page))
    kinds: Array(Req, Set(Phase))
    count: Array(Req, Int(0, 3))
    until: Array(Req, Opt(Int(0, 2)))
    grid: Array(Phase, Array(Req, Bool))
    cell: Array(Page, Cell)

m = Machine("m")
"""

TAIL = """
@invariant("something")
def claimed(s):
    return {claim}

model = Model("random", "random", state=State, parts=[__name__], params=Config)
"""

Names = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of requests and of pages that are in scope."""


class Text:
    """Draws pieces of text; `fresh` numbers names."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def fresh(self, stem: str) -> str:
        """A new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def one(self, *options: str) -> str:
        """One of several words."""
        return self.draw(st.sampled_from(options))

    def phase(self) -> str:
        """A member."""
        return f"Phase.{self.one('A', 'B', 'C')}"

    def truth(self, names: Names, depth: int = 2) -> str:
        """A condition."""
        reqs, pages = names
        r, q, p = self.one(*reqs), self.one(*reqs), self.one(*pages)
        atoms = [
            "s.flag",
            f"s.phase[{r}] == {self.phase()}",
            f"s.phase[{r}] == s.phase[{q}]",
            f"s.phase[{r}] in ({self.phase()}, {self.phase()})",
            f"s.owner[{p}] == {r}",
            f"s.owner[{p}] is None",
            f"s.owner[{p}] == s.cell[{self.one(*pages)}].of",
            f"s.last[{p}] == {r}",
            f"s.last[{p}] == s.last[{self.one(*pages)}]",
            f"s.note[{r}] is None",
            f"s.note[{r}] == {self.phase()}",
            f"{p} in s.sets[{r}]",
            f"not s.sets[{r}]",
            f"len(s.sets[{r}]) > 0",
            f"s.sets[{r}] <= s.sets[{q}]",
            f"{self.phase()} in s.kinds[{r}]",
            f"s.phase[{r}] in s.kinds[{q}]",
            f"s.count[{r}] < s.count[{q}]",
            f"s.count[{r}] + 1 <= cfg.limit",
            f"s.until[{r}] is None",
            f"s.grid[{self.phase()}][{r}]",
            f"s.grid[s.phase[{r}]][{q}]",
            f"s.cell[{p}].mark",
            f"s.phase[s.last[{p}]] == {self.phase()}",
            f"(s.owner[{p}] is not None and s.phase[s.owner[{p}]] == {self.phase()})",
            f"{r} == {q}",
            f"{r} < {q}",
        ]
        if depth > 0:
            x = self.fresh("x")
            over_req = ((*reqs, x), pages)
            over_page = (reqs, (*pages, x))
            kind = self.one("atom", "atom", "not", "and", "or", "any", "all", "allif", "anyp", "ifelse")
            if kind == "not":
                return f"not ({self.truth(names, depth - 1)})"
            if kind in ("and", "or"):
                return f"({self.truth(names, depth - 1)} {kind} {self.truth(names, depth - 1)})"
            if kind in ("any", "all"):
                return f"{kind}({self.truth(over_req, depth - 1)} for {x} in Req)"
            if kind == "allif":
                return f"all({self.truth(over_page, depth - 1)} for {x} in Page if {self.truth(over_page, 0)})"
            if kind == "anyp":
                return f"any({self.truth(over_page, depth - 1)} for {x} in s.sets[{r}])"
            if kind == "ifelse":
                return f"({self.truth(names, 0)} if {self.truth(names, 0)} else {self.truth(names, 0)})"
        return self.draw(st.sampled_from(atoms))

    def number(self, names: Names) -> str:
        """A number."""
        r = self.one(*names[0])
        return self.one(
            "0",
            "1",
            f"s.count[{r}]",
            f"s.count[{r}] + 1",
            f"min(s.count[{r}], cfg.limit)",
            f"(1 if {self.truth(names, 0)} else 2)",
            f"int({self.truth(names, 0)})",
        )

    def maybe_req(self, names: Names) -> str:
        """A request or None."""
        reqs, pages = names
        r, p = self.one(*reqs), self.one(*pages)
        return self.one(
            "None",
            r,
            f"s.owner[{p}]",
            f"s.cell[{p}].of",
            f"({r} if {self.truth(names, 0)} else None)",
            f"s.last[{p}]",
        )

    def pages_of(self, names: Names) -> str:
        """A set of pages."""
        reqs, pages = names
        r, q, x = self.one(*reqs), self.one(*reqs), self.fresh("x")
        inner = (reqs, (*pages, x))
        return self.one(
            f"s.sets[{r}]",
            f"s.sets[{r}] | s.sets[{q}]",
            f"s.sets[{r}] - s.sets[{q}]",
            f"s.sets[{r}] & s.sets[{q}]",
            f"{{{x} for {x} in Page if {self.truth(inner, 1)}}}",
            f"{{{self.one(*pages)}}}",
            f"s.sets[{r}] | {{{self.one(*pages)}}}",
        )

    def statement(self, names: Names, depth: int, pad: str) -> list[str]:
        """A statement."""
        reqs, pages = names
        r, p = self.one(*reqs), self.one(*pages)
        kind = (
            self.one("store", "store", "store", "store", "if", "loop", "look", "local", "require") if depth else "store"
        )
        if kind == "require":
            return [f"{pad}require({self.truth(names)})"]
        if kind == "if":
            lines = [f"{pad}if {self.truth(names, 1)}:", *self.block(names, depth - 1, pad + "    ")]
            return (
                [*lines, f"{pad}else:", *self.block(names, depth - 1, pad + "    ")]
                if self.draw(st.booleans())
                else lines
            )
        if kind == "loop":
            x, sort = self.fresh("x"), self.one("Req", "Page", "Phase")
            inner = ((*reqs, x), pages) if sort == "Req" else (reqs, (*pages, x)) if sort == "Page" else names
            if sort == "Phase":
                body = [f"{pad}    s.grid[{x}][{r}] = {self.truth(names, 1)}"]
            else:
                body = self._own(x, sort, inner, pad + "    ")
            return [f"{pad}for {x} in {sort}:", *body]
        if kind == "look":
            v = self.fresh("v")
            return [
                f"{pad}{v} = s.owner[{p}]",
                f"{pad}if {v} is not None:",
                f"{pad}    s.{self.one(f'phase[{v}] = {self.phase()}', f'count[{v}] = 1', f'sets[{v}].add({p})')}",
            ]
        if kind == "local":
            v = self.fresh("v")
            return [f"{pad}{v} = {self.truth(names)}", f"{pad}s.flag = {v} or {self.truth(names, 0)}"]
        return [pad + self.store(names)]

    def _own(self, x: str, sort: str, names: Names, pad: str) -> list[str]:
        """The body of a loop that keeps to the cells of its own element."""
        if sort == "Req":
            stores = [
                f"s.phase[{x}] = {self.phase()}",
                f"s.note[{x}] = {self.phase()}",
                f"s.sets[{x}].add({names[1][0]})",
                f"s.grid[{self.phase()}][{x}] = False",
                "s.flag = True",
                f"s.sets[{x}] = s.sets[{x}] & s.sets[{x}]",
            ]
        else:
            stores = [
                f"s.owner[{x}] = {names[0][0]}",
                f"s.owner[{x}] = None",
                f"s.last[{x}] = {names[0][0]}",
                f"s.sets[{names[0][0]}].discard({x})",
                "s.flag = True",
                f"s.cell[{x}].mark = s.owner[{x}] is None",
                f"s.sets[{names[0][0]}].add({x})",
                f"s.phase[{names[0][0]}] = Phase.C",
            ]
        test = self.truth(names, 0)
        return [f"{pad}if {test}:", f"{pad}    {self.one(*stores)}"]

    def store(self, names: Names) -> str:
        """An assignment."""
        reqs, pages = names
        r, p = self.one(*reqs), self.one(*pages)
        return self.one(
            f"s.flag = {self.truth(names)}",
            f"s.phase[{r}] = {self.phase()}",
            f"s.phase[{r}] = s.phase[{self.one(*reqs)}]",
            f"s.owner[{p}] = {self.maybe_req(names)}",
            f"s.cell[{p}].of = {self.maybe_req(names)}",
            f"s.last[{p}] = {r}",
            f"s.last[{p}] = s.last[{self.one(*pages)}]",
            f"s.note[{r}] = {self.one('None', self.phase())}",
            f"s.sets[{r}] = {self.pages_of(names)}",
            f"s.sets[{r}].add({p})",
            f"s.sets[{r}].discard({p})",
            f"s.kinds[{r}].add({self.phase()})",
            f"s.kinds[{r}].discard(s.phase[{self.one(*reqs)}])",
            f"s.count[{r}] = {self.number(names)}",
            f"s.until[{r}] = {self.one('None', '1', f's.count[{r}]')}",
            f"s.grid[{self.phase()}][{r}] = {self.truth(names, 1)}",
            f"s.grid[s.phase[{r}]][{self.one(*reqs)}] = True",
            f"s.cell[{p}].mark = {self.truth(names, 1)}",
            f"s.cell[{p}] = s.cell[{self.one(*pages)}]",
            f"s.phase[s.last[{p}]] = {self.phase()}",
        )

    def block(self, names: Names, depth: int, pad: str) -> list[str]:
        """A few statements."""
        count = self.draw(st.integers(1, 2))
        return [line for _ in range(count) for line in self.statement(names, depth, pad)]


@st.composite
def model_texts(draw: st.DrawFn) -> str:
    """The text of a model with three actions."""
    text = Text(draw)
    parts = [HEAD]
    heads = ("r: Req, p: Page", "r: Req, q: Req, p: Page, again: Bool", "r: Req, p: Page, wanted: Set(Page)")
    for number, head in enumerate(heads):
        names: Names = (("r", "q") if "q:" in head else ("r",), ("p",))
        body = text.block(names, 2, "    ")
        if "wanted" in head:
            body.append("    for w in Page:\n        if w in wanted:\n            s.owner[w] = r")
        if "again" in head:
            body.insert(0, f"    if again:\n        {text.store(names)}")
        parts.append(f"@action(m)\ndef act{number}(s, {head}):\n" + "\n".join(body) + "\n")
    claim = f"all({text.truth((('a',), ('b',)))} for a in Req for b in Page)"
    return "\n".join([*parts, TAIL.format(claim=claim)])
