"""Where the results of `kvproto check` go beside the terminal: files for other tools, and what GitHub shows."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvproto.cli.options import check_json_file, refuse_places, unwritable, write_json, write_text
from kvproto.diagnostics import Diagnostic, KvError
from kvproto.ir.nodes import System
from kvproto.lang.source import shown_name
from kvproto.trace import codec
from kvproto.view.verdicts import Row, as_json

if TYPE_CHECKING:
    from kvproto.formats.judged import Judged

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable that names the file of the summary, to which every command of a step appends."""

WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Variables in which CI systems name the root of the repository."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where results are asked for; `-` is standard output, `summary` the file of GitHub's summary."""

    json: str | None = None
    sarif: str | None = None
    junit: str | None = None
    github: bool = False
    summary: str | None = None

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Outputs:
        """What the options and the environment ask for."""
        github = given["github"]
        if github is None:
            github = os.environ.get("GITHUB_ACTIONS") == "true"
        summary = os.environ.get(SUMMARY) or None
        return cls(given["json_file"], given["sarif"], given["junit"], github, summary if github else None)

    @property
    def on_stdout(self) -> bool:
        """Whether standard output belongs to a file format."""
        return "-" in (self.json, self.sarif, self.junit)

    def refuse(self, taken: Sequence[Path]) -> None:
        """Find out before a long search that results would have no place to go, or the same place (KV021, KV026).

        `taken` are files that the search itself writes.
        """
        refuse_places({"--json": self.json, "--sarif": self.sarif, "--junit": self.junit}, taken)
        check_json_file(self.summary)

    def write(self, told: Told) -> None:
        """Write everything that is asked for."""
        if self.json is not None:
            results = [as_json(row) for row in told.rows]
            write_json(self.json, results if len(told.asked) > 1 else results[0])
        if self.sarif is None and self.junit is None and not self.github:
            return
        # Imported where it is wanted: most checks are read by people.
        from kvproto.formats import github
        from kvproto.formats.junit import junit
        from kvproto.formats.sarif import sarif

        judged = with_guards(told.judged())
        if self.sarif is not None:
            write_text(self.sarif, sarif(judged, told.code))
        if self.junit is not None:
            write_text(self.junit, junit(judged, told.skipped))
        if self.github:
            # GitHub reads commands from both streams, and standard output may be a file.
            for line in github.notices(judged):
                click.echo(line, err=True)
        if self.summary is not None:
            _append(self.summary, judged)

    def write_refusal(self, error: Diagnostic, targets: Sequence[str]) -> None:
        """Say where results are looked for why there are none; what an earlier check left there is out of date."""
        if self.sarif is None and self.junit is None and not self.github:
            return
        from kvproto.formats.github import refusal_notice
        from kvproto.formats.judged import Refusal
        from kvproto.formats.junit import junit_refusal
        from kvproto.formats.sarif import sarif_refusal

        refusal = Refusal(error, None if error.loc is None else _file(error.loc.file, repository(), targets))
        if self.sarif is not None:
            write_text(self.sarif, sarif_refusal(refusal))
        if self.junit is not None:
            write_text(self.junit, junit_refusal(refusal))
        if self.github:
            click.echo(refusal_notice(refusal), err=True)


@dataclass(frozen=True, slots=True)
class Told:
    """The results of a check: rows and the exit code, and all targets asked for with commands that search them."""

    rows: Sequence[Row]
    code: int
    asked: Sequence[tuple[str, str]]

    @property
    def skipped(self) -> tuple[str, ...]:
        """Targets that an interrupted check did not come to."""
        return tuple(target for target, _ in self.asked[len(self.rows) :])

    def judged(self) -> list[Judged]:
        """The results with their traces and the places of their files in the repository."""
        from kvproto.formats.judged import Judged

        root = repository()
        found = []
        for row, (_, command) in zip(self.rows, self.asked, strict=False):
            traces = {name: codec.read(path) for name, path in row.traces.items()}
            written = {path: place for path in row.traces.values() if (place := _within(root, path))}
            found.append(Judged(row, traces, {**_sources(row.result.system, root), **written}, command))
        return found


def with_guards(results: list[Judged]) -> list[Judged]:
    """The results with the guards that were missing, in the runs that are told first.

    That takes up to a second for a run of the largest model, so only as many are asked as GitHub shows.  The traces
    in their folder stay as they are.
    """
    from kvproto.formats.github import MOST_ANNOTATIONS, problems
    from kvproto.trace.analysis import Analysis
    from kvproto.whatif.guards import guards
    from kvproto.whatif.subject import subject

    traces = [dict(judged.traces) for judged in results]
    for problem in problems(results)[:MOST_ANNOTATIONS]:
        judged, case = problem.where[0]
        if case.trace is None or case.verdict != "violated":
            continue
        try:
            found = guards(subject(case.trace, judged.row.target), None)
        except KvError:
            continue  # The model has changed meanwhile: the result stands without.
        at = next(number for number, other in enumerate(results) if other is judged)
        traces[at][case.name] = replace(case.trace, analysis=Analysis(guards=found))
    return [replace(judged, traces=known) for judged, known in zip(results, traces, strict=True)]


def again(target: str, sets: Mapping[str, str], scope: str | None) -> str:
    """The command that searches a target again, for a shell."""
    words = ["kvproto", "check", target]
    for name, value in sets.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join([*words, *(["--scope", scope] if scope else [])])


def repository() -> Path:
    """The folder that paths in results start from: what the CI system says, the git repository, or this folder."""
    here = Path.cwd()
    named = [Path(os.environ[name]).resolve() for name in WORKSPACES if os.environ.get(name)]
    known = [folder for folder in named if here.is_relative_to(folder)]
    known += [folder for folder in (here, *here.parents) if (folder / ".git").exists()]
    return known[0] if known else here


def _sources(system: System, root: Path) -> dict[str, str]:
    """Where in the repository the source files are that messages name.

    A name is only the last part of a path for files that do not ship with kvproto, so the text decides between two.
    """
    found = {}
    for name, file in _modules():
        if name in system.sources and _text(Path(file)) == system.sources[name] and (place := _within(root, file)):
            found[name] = place
    return found


def _file(name: str, root: Path, targets: Sequence[str]) -> str | None:
    """Where in the repository the file of an error is; None if nothing of that name, or more than one, lies there.

    A file that could not be imported is no module, but a target that was asked for.
    """
    asked = ["".join(target.rpartition(".py")[:2]) for target in targets]
    named = [*_modules(), *((shown_name(Path(path)), path) for path in asked if path)]
    places = {_within(root, file) for shown, file in named if shown == name} - {""}
    return places.pop() if len(places) == 1 else None


def _modules() -> Iterator[tuple[str, str]]:
    """The files of all modules, by their names in messages."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            yield shown_name(Path(file)), file


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _within(root: Path, path: str) -> str:
    """The path as seen from the root; "" if it does not lie there."""
    full = Path(path).resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else ""


def _append(file: str, results: Sequence[Judged]) -> None:
    """Add to the summary of the step what still fits."""
    from kvproto.formats.github import SUMMARY_BYTES, summary

    path = Path(file)
    try:
        room = SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0)
        with path.open("a", encoding="utf-8") as out:
            out.write(summary(results, room=room))
    except (OSError, ValueError) as problem:
        raise unwritable(file, problem) from None
