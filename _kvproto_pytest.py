"""The pytest plugin of kvproto: a test for every property of a model.

It lies outside of the package, so that pytest sessions without such tests load nothing of kvproto.  A function that is
decorated with `@kvproto.property_test(...)` becomes one item a property; `-k`, `--lf` and xdist take them like any
other.  A violated property fails with the explanation of the shortest run; a search that decides nothing is an error,
never a pass and never a skip.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kvproto.engine.outcome import Finding, Result
    from kvproto.ir.nodes import System
    from kvproto.lang.bind import Chosen
    from kvproto.lang.load import Target
    from kvproto.testing import Kept, Tested
    from kvproto.whatif.again import Again

TRACES = "kvproto_trace"
"""Name under which a test tells the file of its trace; it goes into JUnit files, too."""

ARGUMENT = "kvproto_property"


class Violated(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """A property is violated: what a test of a known bug is to fail with, `xfail(raises=kvproto.Violated)`."""


@contextmanager
def _short_errors(kind: Callable[[str], BaseException]) -> Iterator[None]:
    """An error of kvproto as its own text, without the plugin's frames."""
    try:
        yield
    except Exception as problem:
        diagnostic = getattr(problem, "diagnostic", None)
        if diagnostic is None:
            raise
        raise kind(diagnostic.render()) from None


def _in_setup(text: str) -> BaseException:
    return pytest.fail.Exception(text, pytrace=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Budgets and places; the same words as on the command line."""
    group = parser.getgroup("kvproto", "properties of protocol models (kvproto)")
    group.addoption("--kvproto-scope", metavar="NAME", help="search every model in this scope")
    group.addoption("--kvproto-time-limit", type=float, metavar="SECONDS", help="of each search; inconclusive after it")
    group.addoption("--kvproto-workers", type=int, default=1, metavar="N", help="threads of each search")
    group.addoption("--kvproto-reuse", action="store_true", help="first take the runs that are there again")
    group.addoption("--kvproto-trace-dir", metavar="DIR", help="where traces are written (default: .kvproto/traces)")


def pytest_pycollect_makeitem(obj: Any) -> None:
    """Every function that tests properties gets the verdict before it runs, whether it names the fixture or not."""
    if _tested(obj) is not None:
        pytest.mark.usefixtures("kvproto_finding")(obj)
    if _kept(obj) is not None:
        pytest.mark.usefixtures("kvproto_again")(obj)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """An item for every property."""
    tested, kept = _tested(metafunc.function), _kept(metafunc.function)
    if tested is not None:
        with _short_errors(pytest.Collector.CollectError):
            names = _names(tested)
        metafunc.parametrize(ARGUMENT, names)
    if kept is not None:
        files = sorted(metafunc.config.rootpath.glob(kept.pattern))
        if not files:
            raise pytest.UsageError(f"no trace fits {kept.pattern!r} in {metafunc.config.rootpath}")
        metafunc.parametrize("kvproto_file", files, ids=[file.name.removesuffix(".trace.json") for file in files])


def _tested(function: Any) -> Tested | None:
    """What a function tests, if it does; nothing of kvproto is loaded to find out."""
    module = sys.modules.get("kvproto.testing")
    return getattr(function, module.MARK, None) if module is not None else None


def _kept(function: Any) -> Kept | None:
    """Which traces a function takes again, if it does."""
    module = sys.modules.get("kvproto.testing")
    return getattr(function, module.KEPT, None) if module is not None else None


def _names(tested: Tested) -> list[str]:
    """Properties in order of declaration."""
    return list(tested.properties) or [claim.name for claim in _system(tested, None).claims]


def _target(tested: Tested) -> Target:
    from kvproto.lang.load import Target, find

    if tested.model is not None:
        return Target(tested.target, tested.model, tested.preset)
    target = find(tested.target)
    return Target(target.text, target.model, tested.preset or target.preset)


def _chosen(tested: Tested, scope: str | None) -> Chosen:
    from kvproto.lang.bind import choose

    target = _target(tested)
    return choose(target.model, preset=target.preset, scope=scope or tested.scope, sets=tested.sets)


def _system(tested: Tested, scope: str | None) -> System:
    from kvproto.lang.frontend.build import build

    return build(_target(tested).model, _chosen(tested, scope))


class _Searches:
    """Searches of this session: one for all properties of a function that are asked for here."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.done: dict[int, tuple[Result, dict[str, str]]] = {}
        self.stale: list[str] = []
        """What to say of kept runs that are no use any more."""

    def of(self, item: pytest.Function, tested: Tested) -> tuple[Result, dict[str, str]]:
        """The result for a function and the traces by property."""
        key = id(tested)
        if key not in self.done:
            wanted = [
                str(other.callspec.params[ARGUMENT])
                for other in item.session.items
                if isinstance(other, pytest.Function) and _tested(other.function) is tested
            ]
            self.done[key] = self._search(tested, tuple(dict.fromkeys(wanted)))
        return self.done[key]

    def _search(self, tested: Tested, names: tuple[str, ...]) -> tuple[Result, dict[str, str]]:
        from kvproto.cli.check import TRACES as USUAL
        from kvproto.cli.traces import TraceFolder, variant
        from kvproto.engine.outcome import Options
        from kvproto.engine.search import search
        from kvproto.trace import codec

        option = self.config.getoption
        scope = option("--kvproto-scope")
        system = _system(tested, scope)
        limits = Options(
            properties=names, time_limit=option("--kvproto-time-limit"), workers=option("--kvproto-workers")
        )
        folder = Path(option("--kvproto-trace-dir") or self.config.rootpath / USUAL)
        codec.prepare(folder)
        traces = TraceFolder(folder, system, variant(_target(tested), _chosen(tested, scope)))

        def searched(asked: Options) -> Result:
            result = search(system, asked)
            traces.keep(result)
            return result

        if not option("--kvproto-reuse"):
            return searched(limits), traces.written
        from kvproto.cli.kept import with_kept

        return with_kept(traces, limits, searched, self.stale.append), traces.written


SEARCHES = pytest.StashKey[_Searches]()


@pytest.fixture
def kvproto_property() -> str:
    """The property of this test; every item of a decorated function has its own."""
    raise pytest.UsageError("this fixture is for functions decorated with @kvproto.property_test(...)")


@pytest.fixture
def kvproto_finding(request: pytest.FixtureRequest, kvproto_property: str, record_property: Any) -> Finding:
    """The verdict on the property of this test.  Errors where there is none."""
    tested = _tested(request.function)
    assert tested is not None
    searches = request.config.stash.setdefault(SEARCHES, _Searches(request.config))
    with _short_errors(_in_setup):
        result, traces = searches.of(request.node, tested)
    name = kvproto_property
    finding = next(f for f in result.findings if f.claim.name == name)
    record_property("kvproto_states", result.states)
    record_property("kvproto_depth", result.depth)
    record_property("kvproto_strength", finding.strength)
    if name in traces:
        record_property(TRACES, traces[name])
    if finding.verdict == "inconclusive" or (finding.verdict == "holds" and not result.complete):
        pytest.fail(f"{name} is undecided: {finding.reason or result.stopped}", pytrace=False)
    gap = next((gap for gap in result.vacuous if gap.owner == name), None)
    if finding.verdict == "holds" and gap is not None:
        pytest.fail(f"{name} holds vacuously: {gap.text} is never true ({gap.loc})", pytrace=False)
    return finding


@pytest.fixture
def kvproto_file() -> Path:
    """The trace file of this test."""
    raise pytest.UsageError("this fixture is for functions decorated with @kvproto.trace_test(...)")


@pytest.fixture
def kvproto_again(request: pytest.FixtureRequest, kvproto_file: Path) -> Again:
    """What has become of the trace.  Errors where the model has nothing of the kind any more."""
    from kvproto.lang.load import find
    from kvproto.trace import codec
    from kvproto.whatif.again import again

    kept = _kept(request.function)
    assert kept is not None
    with _short_errors(_in_setup):
        trace = codec.read(str(kvproto_file))
        found = again(trace, find(kept.target or trace.model))
    if found.end == "gone":
        pytest.fail(f"{kvproto_file.name} cannot be taken again: {found.reason}", pytrace=False)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A violated property fails before the body of its test runs."""
    finding: Any = pyfuncitem.funcargs.get("kvproto_finding")
    if finding is not None and finding.verdict == "violated":
        _fail(pyfuncitem, finding)
    taken: Any = pyfuncitem.funcargs.get("kvproto_again")
    kept = _kept(pyfuncitem.function)
    if taken is not None and kept is not None and taken.end != kept.still:
        pytest.fail(_other_end(taken, kept.still), pytrace=False)
    judged = finding is not None or taken is not None
    if not judged:
        return (yield)
    from kvproto.testing import RUNNING

    token = RUNNING.set(True)
    try:
        return (yield)
    finally:
        RUNNING.reset(token)


def _fail(item: pytest.Function, finding: Finding) -> None:
    """Fail with the explanation that stands in the trace."""
    file = dict(item.user_properties).get(TRACES)
    kept = " (a kept run, nothing was searched for it)" if finding.kept else ""
    lines = [f"{finding.claim.name} is violated: {finding.claim.text}{kept}"]
    if file is not None:
        from kvproto.trace import codec

        lines += [f"  {number}. {text}" for number, text in enumerate(codec.read(str(file)).why, 1)]
        lines += [f"  kvproto show {file}"]
    raise Violated("\n".join(lines), pytrace=False)


ENDS = {
    "violated": "they break {claim}, in {step} steps",
    "refused": "step {step} of them cannot happen: {reason}",
    "holds": "they all happen, and {claim} holds",
}


def _other_end(taken: Again, still: str) -> str:
    """What has become of a trace that was to end otherwise."""
    trace = taken.trace
    words = {end: text.format(claim=trace.property, step=taken.step, reason=taken.reason) for end, text in ENDS.items()}
    wanted = {"violated": f"that they still break {trace.property}", "refused": "that one of them is refused"}
    return f"the steps were kept to see {wanted.get(still, f'that {trace.property} holds')}; now {words[taken.end]}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The trace files of this session, each with its test, and kept runs that were no use."""
    found = {
        str(value): report.nodeid
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == TRACES
    }
    if found:
        terminalreporter.section("kvproto traces")
        for file, test in found.items():
            terminalreporter.line(f"{file}  ({test})")
    searches = terminalreporter.config.stash.get(SEARCHES, None)
    for line in searches.stale if searches is not None else ():
        terminalreporter.line(line)
