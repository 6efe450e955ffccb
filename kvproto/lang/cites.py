"""Citations: which code of the real engine an action or a parameter abstracts, and in which releases.

A citation is `[VERSIONS ]SOURCE`.  VERSIONS is `0.5.21` (that release), `0.5.20+` (from it on), `..0.5.20` (up to it)
or `0.5.19..0.5.21`; without it the citation is of every release.  SOURCE is one of

- `srt/disaggregation/decode.py:DecodePreallocQueue.add`: a file of the engine's package, and a name in it, qualified or
  not (`srt/environ.py:SGLANG_...` for an environment variable);
- `srt/server_args.py:--page-size`: an option of its command line;
- `mooncake:transfer/engine.cpp:batchTransferSync`: a file of another project;
- `#36988`: a pull request;
- `note: ` and words, where there is no code to name.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from kvproto.diagnostics import KvError, Loc
from kvproto.lang.source import load

Version = tuple[int, ...]
Cites = str | Sequence[str]
"""What `cites=` takes: one citation, or several."""

VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+")
PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*\.[A-Za-z0-9]+")
NAME = re.compile(r"~?[A-Za-z_]\w*(?:(?:\.|::)~?[A-Za-z_]\w*)*", re.ASCII)
OPTION = re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)*")
PROJECT = re.compile(r"[a-z][a-z0-9_-]*")

FORMS = "a citation is FILE:NAME, FILE:--option, PROJECT:FILE:NAME, #NUMBER or note: words, after a range of releases"


def version(text: str) -> Version:
    """`0.5.21` as numbers, which compare as releases do."""
    return tuple(int(part) for part in text.split("."))


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases from `first` to `last`, both included; None leaves that side open."""

    first: Version | None = None
    last: Version | None = None

    def cover(self, release: Version) -> bool:
        """Whether a release is among them."""
        return (self.first is None or self.first <= release) and (self.last is None or release <= self.last)

    def __str__(self) -> str:
        low, high = (".".join(map(str, v or ())) for v in (self.first, self.last))
        if not (low or high):
            return "every"
        if low == high:
            return low
        return f"{low}..{high}" if high else f"{low}+"


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation, taken apart.  `text` is what was written; `path` and `name` are empty where the kind has none."""

    text: str
    releases: Releases
    kind: Literal["code", "option", "project", "pull", "note"]
    path: str = ""
    name: str = ""
    project: str = ""

    @property
    def source(self) -> str:
        """The citation without its releases."""
        place = f"{self.path}:{self.name}" if self.path else self.name
        prefix = {"project": f"{self.project}:", "pull": "#", "note": "note: "}.get(self.kind, "")
        return prefix + place


class BadCite(ValueError):
    """A citation that does not parse: the stretch of it that is wrong, why, and what to write."""

    def __init__(self, text: str, part: str, why: str, cure: str) -> None:
        super().__init__(f"{part!r} {why}")
        self.text = text
        self.start = max(text.find(part), 0)
        self.end = self.start + len(part)
        self.cure = cure


def parse(text: str) -> Cite:
    """The parts of a citation; raises BadCite.

    >>> parse("0.5.20+ srt/disaggregation/decode.py:DecodePreallocQueue.add").name
    'DecodePreallocQueue.add'
    """
    head, space, rest = text.partition(" ")
    if space and (head[:1].isdigit() or head.startswith("..")):
        return _source(text, rest, releases(head, text))
    return _source(text, text, Releases())


def releases(text: str, whole: str = "") -> Releases:
    """A range of releases; empty text is every release.  Raises BadCite."""
    low, dots, high = text.partition("..")
    open_end = not dots and low.endswith("+")
    low = low.removesuffix("+") if open_end else low
    if not all(VERSION.fullmatch(part) for part in (low, high) if part) or (dots and not high):
        cure = "write 0.5.21, 0.5.20+, ..0.5.20 or 0.5.19..0.5.21"
        raise BadCite(whole or text, text, "is no range of releases", cure)
    first, last = (version(part) if part else None for part in (low, high))
    if first is not None and last is not None and first >= last:
        raise BadCite(whole or text, text, "ends before it begins", "write the earlier release first")
    return Releases(first, last if dots or open_end else first)


def _source(text: str, source: str, span: Releases) -> Cite:
    if source.startswith("note:"):
        words = source.removeprefix("note:").strip()
        if not words:
            raise BadCite(text, source, "says nothing", "write the words after note:")
        return Cite(text, span, "note", name=words)
    if source.startswith("#"):
        if not re.fullmatch("#[0-9]+", source):
            raise BadCite(text, source, "is no pull request", "write its number: #36988")
        return Cite(text, span, "pull", name=source[1:])
    return _located(text, source, span)


def _located(text: str, source: str, span: Releases) -> Cite:
    """A file and a name in it, which stands after the last single colon: C++ has double ones in its names."""
    at = max((found.start() for found in re.finditer(r"(?<!:):(?!:)", source)), default=0)
    place, name = source[:at], source[at + 1 :]
    project, colon, path = place.rpartition(":")
    if not place or " " in source or not PATH.fullmatch(path) or (colon and not PROJECT.fullmatch(project)):
        raise BadCite(text, source, "is no file and a name in it", _hint(source))
    if OPTION.fullmatch(name) and not project:
        return Cite(text, span, "option", path, name)
    if not NAME.fullmatch(name):
        raise BadCite(text, name or source, "is no name of a function, class or constant", _hint(source))
    return Cite(text, span, "project" if project else "code", path, name, project)


def _hint(source: str) -> str:
    """What was probably meant."""
    if source.startswith("--"):
        return f"name the file that declares the option: srt/server_args.py:{source.split()[0]}"
    if re.fullmatch(r"[A-Z][A-Z0-9_]+", source):
        return f"name the file that declares the variable: srt/environ.py:{source}"
    if " " in source:
        return f"write  note: {source}  where there is no code to name"
    return (
        "write the file below the package, a colon and the name: srt/disaggregation/decode.py:DecodePreallocQueue.add"
    )


def checked(cites: Cites) -> tuple[str, ...]:
    """The citations of one declaration, each of which parses; else KV155 at the string in the model's text."""
    texts = (cites,) if isinstance(cites, str) else tuple(cites)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"cites is a string or several, not {cites!r}")
    texts = tuple(text for text in texts if text)
    for text in texts:
        try:
            parse(text)
        except BadCite as problem:
            _refuse(problem)
    return texts


def _refuse(problem: BadCite) -> NoReturn:
    loc, line = _place(problem)
    raise KvError("KV155", f"citation {problem}", reason=FORMS, cure=problem.cure, loc=loc, line=line) from None


def _place(problem: BadCite) -> tuple[Loc | None, str]:
    """Where the string stands: in the file of the nearest caller that is no module of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("kvproto.lang"):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    if not path.is_file():
        return None, ""
    source = load(path)
    strings = [n for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and n.value == problem.text]
    if not strings:
        return None, ""
    loc = source.loc(min(strings, key=lambda node: abs(node.lineno - frame.f_lineno)))
    line = source.lines[loc.line - 1]
    at = line.find(problem.text, loc.col, loc.end_col)
    if at >= 0:  # a plain literal on one line: only the wrong part of it is marked
        loc = Loc(loc.file, loc.line, at + problem.start, at + max(problem.end, problem.start + 1))
    return loc, line
