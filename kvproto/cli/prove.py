"""`kvproto prove`: proofs for any number of requests and pages, and what stands in their way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvproto import __version__
from kvproto.cli.options import check_json_file, on_terminal, say, seconds, setting, write_json
from kvproto.diagnostics import KvError
from kvproto.lang.load import find, proofs

if TYPE_CHECKING:
    from kvproto.prove.prover import Answer, Wanted

TRACES = ".kvproto/traces"
CERTIFICATES = ".kvproto/proofs"


@dataclass(frozen=True, slots=True)
class Places:
    """Where results go; None: nowhere."""

    traces: Path
    certificate: Path | None
    folder: Path | None
    smtlib: Path | None


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a switch or a number; numbers are open.")
@click.option("--scope", metavar="NAME", help="The small world to begin with; by default all scopes.")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Prove only this property (repeatable).")
@click.option(
    "--clause",
    "clauses",
    multiple=True,
    metavar="TEXT",
    help='Propose a clause, "r, p: s.owner[p] == r or ..."; it is checked, never trusted.',
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    callback=seconds,
    metavar="SECONDS",
    help="Of the search of each small world, and of the search for clauses.",
)
@click.option(
    "--exact/--no-exact", default=None, help="Ask whether assumptions about numbers could be weaker; on for one target."
)
@click.option("--trace-dir", default=TRACES, show_default=True, metavar="DIR", help="Where runs are written.")
@click.option("--certificate", metavar="FILE", help=f"Where the certificate goes, instead of {CERTIFICATES}.")
@click.option("--no-certificate", is_flag=True, help="Write no certificates.")
@click.option("--smtlib", metavar="DIR", help="Write the conditions of the proof as SMT-LIB, for other solvers.")
@click.option("--recheck", "files", multiple=True, metavar="FILE", help="Check a certificate, or a shipped target's.")
@click.option("--json", "json_file", metavar="FILE", help="Write kvproto.result/1 (- for standard output).")
@click.option("--quiet", "-q", is_flag=True, help="Print only what is not proved.")
def prove(targets: tuple[str, ...], **given: Any) -> int:
    """Prove invariants of TARGETs for worlds of any size.

    Small worlds are searched first; what no run breaks is proved by an inductive invariant that is found, checked and
    printed. Without a TARGET: every preset of the shipped proofs, a line each, compared with what it is expected to be.

    Exit codes: 0 proved, 1 violated, or nothing that the claims are about can happen, 3 undecided, or outside of what
    proofs are about.
    """
    if given["files"]:
        _refuse_beside_recheck(given)
        return _recheck(given["files"], targets)
    _refuse_contradictions(targets, given)
    check_json_file(given["json_file"])
    if len(targets) == 1 and targets[0].partition("@")[0] == "sglang":
        return _leaks(targets[0], given)
    return _prove(list(targets) or _shipped(), given, targeted=bool(targets))


def _prove(names: list[str], given: dict[str, Any], *, targeted: bool) -> int:
    from kvproto.prove.prover import Wanted, answer  # loads the engine; the messages above do without

    places, in_table = _places(given), len(names) > 1
    told: list[tuple[Answer, dict[str, str], str | None]] = []
    for name in names:
        wanted = Wanted(
            find(name),
            dict(setting(text) for text in given["sets"]),
            given["scope"],
            tuple(given["properties"]),
            tuple(given["clauses"]),
            given["time_limit"],
            not in_table if given["exact"] is None else given["exact"],
        )
        found = answer(wanted, _progress(given))
        _clear(given)
        traces = _write_traces(found, places)
        certificate = _write_proof(found, wanted, places)
        told.append((found, traces, certificate))
        _print(found, traces, certificate, given, in_table=in_table)
    if given["json_file"]:
        from kvproto.prove.saying.report import as_json

        values = [as_json(*one) for one in told]
        write_json(given["json_file"], values[0] if len(values) == 1 else values)
    codes = [one.exit_code if given["sets"] or targeted else _unexpected(one) for one, _, _ in told]
    return 1 if 1 in codes else max(codes)


def _print(
    found: Answer, traces: dict[str, str], certificate: str | None, given: dict[str, Any], *, in_table: bool
) -> None:
    from kvproto.prove.saying.report import describe, row

    if given["json_file"] == "-":
        return
    if in_table:
        if not given["quiet"] or found.exit_code:
            say(row(found))
        return
    if given["quiet"] and not found.exit_code:
        return
    for line in describe(found, traces, quiet=given["quiet"]):
        say(line)
    if certificate and not given["quiet"]:
        say(f"  certificate {certificate}")


def _unexpected(found: Answer) -> int:
    """0 where exactly those claims are violated that the preset says, and all others are proved."""
    target = found.wanted.target
    preset = next(preset for preset in target.model.presets if preset.name == target.preset)
    expected = set(preset.expect or {})
    if found.exit_code == 3 or set(found.violated) != expected:
        return found.exit_code or 1
    return 1 if "vacuous" in found.verdicts.values() or found.open else 0


def _shipped() -> list[str]:
    """Every preset of the shipped proofs."""
    return [f"{name}@{preset.name}" for name in proofs() for preset in find(name).model.presets]


def _progress(given: dict[str, Any]) -> Callable[[str], None]:
    def show(text: str) -> None:
        if on_terminal() and not given["quiet"]:
            click.echo(f"\r{text}\033[K", nl=False, err=True)

    return show


def _clear(given: dict[str, Any]) -> None:
    if on_terminal() and not given["quiet"]:
        click.echo("\r\033[K", nl=False, err=True)


# --- files --------------------------------------------------------------------------------------------


def _places(given: dict[str, Any]) -> Places:
    file = None if given["certificate"] is None else Path(given["certificate"])
    folder = None if given["no_certificate"] or file else Path(CERTIFICATES)
    return Places(Path(given["trace_dir"]), file, folder, None if given["smtlib"] is None else Path(given["smtlib"]))


def _write_traces(found: Answer, places: Places) -> dict[str, str]:
    """A trace for every run, named as `check` names it."""
    from kvproto.cli.traces import trace_of, variant
    from kvproto.trace import codec

    written = {}
    for name, (world, run) in found.runs.items():
        finding = world.result.finding(name)
        trace = trace_of(world.instance.system, world.result, finding, run)
        label = variant(found.wanted.target, world.instance.chosen)
        written[name] = str(codec.write(trace, places.traces, variant=label))
    if found.induction is not None and found.open:
        written |= _write_induction(found, places)
    return written


def _write_induction(found: Answer, places: Places) -> dict[str, str]:
    """The counterexample to induction, which says of itself that it is no run from the start."""
    from dataclasses import replace

    from kvproto.cli.traces import variant
    from kvproto.prove.saying.report import INDUCTION
    from kvproto.trace import codec
    from kvproto.trace.build import build_trace

    shown = found.induction
    assert shown is not None
    why = [
        "This is no run from the start, but a counterexample to induction: every clause of the attempt at a proof "
        "holds in the first state, and the claim not in the last."
    ]
    if found.reached is not None:
        why.append(f"Is the first state real? {found.reached.why[:1].upper()}{found.reached.why[1:]}.")
    told = build_trace(shown.instance.system, shown.run)
    trace = replace(told, verdict="inconclusive", strength="induction", why=tuple(why))
    label = "-".join(filter(None, [variant(found.wanted.target, shown.instance.chosen), "induction"]))
    return {INDUCTION: str(codec.write(trace, places.traces, variant=label))}


def _write_proof(found: Answer, wanted: Wanted, places: Places) -> str | None:
    """The certificate and the conditions of a proof, where they are asked for."""
    from kvproto.cli.options import unwritable
    from kvproto.prove.proof import Proof

    if not isinstance(found.result, Proof):
        return None
    if places.smtlib is not None:
        from kvproto.prove.certificates.smtlib import write

        try:
            write(places.smtlib, found.result.conditions)
        except OSError as problem:
            raise unwritable(str(places.smtlib), problem) from None
    place = places.certificate
    if place is None and places.folder is not None:
        place = places.folder / f"{wanted.target.text.replace('/', '-').replace(':', '-')}.json"
    asserts = {claim.name for claim in found.claims if claim.kind == "assert"}
    if place is None or found.unasked or asserts & set(found.violated):
        return None  # a checker reads the model's assertions from its text, so none can be left out
    return _write_certificate(found, found.result, wanted, place)


def _write_certificate(found: Answer, proof: Any, wanted: Wanted, place: Path) -> str | None:
    from kvproto.cli.options import unwritable
    from kvproto.prove.certificates.certificate import Origin, certificate, write
    from kvproto.prove.certificates.ground import Refused
    from kvproto.prove.certificates.refutation import NotRefuted

    theory = found.theory
    assert theory is not None
    try:
        data = certificate(theory, proof.clauses, proof.cores, _origin(found, wanted, Origin))
    except (NotRefuted, Refused) as problem:
        click.echo(f"no certificate: {problem}", err=True)
        return None
    try:
        write(place, data)
    except (OSError, ValueError) as problem:
        raise unwritable(str(place), problem) from None
    return str(place)


def _origin(found: Answer, wanted: Wanted, kind: type[Any]) -> Any:
    from kvproto.prove.certificates.witness import witnesses

    shown: dict[str, Any] = {}
    for scope in dict.fromkeys(world.instance.scope for world in found.worlds):
        for run in witnesses(wanted.target, dict(wanted.sets), scope or None):
            shown.setdefault(run["claim"], run)
    lowered = found.lowered
    assert lowered is not None
    model_claims = [claim.name for claim in lowered.source.system.claims if claim.kind == "invariant"]
    theory = found.theory
    assert theory is not None
    proved = {claim.name for claim in theory.claims}
    left_out = tuple(name for name in model_claims if name not in proved)
    return kind(wanted.target.text, dict(wanted.sets), tuple(wanted.sets), left_out, tuple(shown.values()))


def _recheck(files: tuple[str, ...], targets: tuple[str, ...]) -> int:
    from kvproto.prove.certificates.recheck_file import place, recheck

    if targets:
        raise KvError(
            "KV026",
            "--recheck and a TARGET",
            reason="a certificate names its own target",
            cure="leave the target out",
        )
    code = 0
    for file in files:
        found = recheck(place(file))
        if found.checked is None:
            code = 1
            say(f"REFUSED    {file}: {found.refused}")
        else:
            steps = f"{found.checked.conditions} conditions, {found.checked.steps} steps"
            say(f"CHECKED    {file}: {found.target} proves {', '.join(found.checked.claims)}  {steps}")
    return code


# --- prompts that leak --------------------------------------------------------------------------------


def _leaks(target: str, given: dict[str, Any]) -> int:
    """The model of a release is outside of proofs; which prompts leak is decided for all sizes."""
    from kvproto.prove.leak import findings

    _refuse_unused(target, given)
    name = target.partition("@")[2] or find("sglang").model.presets[0].name
    numbers = dict(setting(text) for text in given["sets"])
    found = findings(name, {key: _size(value) for key, value in numbers.items()})
    if given["json_file"]:
        write_json(given["json_file"], _leaks_as_json(target, name, found))
    if given["json_file"] == "-":
        return 3
    say(f"{target}  which prompts leak, for contexts, pools and pages of any size")
    for finding in found:
        for line in finding.lines():
            say(f"  {line}")
    lacking = [key for key in ("pool", "context", "page") if numbers and key not in numbers]
    if lacking:
        say(f"  for lengths in numbers give {' and '.join(lacking)} as well: --set {lacking[0]}=...")
    say(f"  the rest of the model is about sizes of a scope: kvproto check {target}")
    return 3


def _size(text: str) -> int | str:
    """A number of tokens; what is none is refused with its text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else text


def _refuse_unused(target: str, given: dict[str, Any]) -> None:
    """Options that are about claims of a model, where the answer is about prompts."""
    options = ("scope", "properties", "clauses", "time_limit", "exact", "certificate", "smtlib")
    for option in options:
        if given[option] not in (None, ()):
            shown = {"properties": "property", "clauses": "clause", "time_limit": "time-limit"}.get(option, option)
            raise KvError(
                "KV026",
                f"--{shown} with {target}",
                reason="of this model only the lengths of prompts that leak are decided for every size",
                cure=f"leave it out; kvproto check {target} searches properties, and proofs.core is for any size",
            )


def _leaks_as_json(target: str, preset: str, findings: list[Any]) -> dict[str, object]:
    """The statements about prompts, as results are written; the model's own properties are not decided."""
    return {
        "schema": "kvproto.result/1",
        "kvproto": __version__,
        "target": target,
        "model": "sglang",
        "preset": preset,
        "engine": "prove",
        "method": "quantifier elimination",
        "complete": False,
        "properties": [],
        "findings": [
            {
                "name": finding.name,
                "text": finding.what,
                "statements": [{"text": each.text, "proved": each.proved} for each in finding.statements],
                "numbers": list(finding.numbers),
            }
            for finding in findings
        ],
    }


def _refuse_beside_recheck(given: dict[str, Any]) -> None:
    """Options that would be passed over in silence."""
    words = {"sets": "set", "properties": "property", "clauses": "clause", "json_file": "json"}
    usual = (None, (), TRACES)
    for name, value in given.items():
        option = f"--{words.get(name, name).replace('_', '-')}"
        if name not in ("files", "quiet", "no_certificate") and value not in usual:
            raise KvError(
                "KV026",
                f"--recheck with {option}",
                reason="a certificate says by itself what it proves, and of what",
                cure=f"leave {option} out",
            )


def _refuse_contradictions(targets: tuple[str, ...], given: dict[str, Any]) -> None:
    alone = {"--certificate": given["certificate"], "--smtlib": given["smtlib"], "--clause": given["clauses"]}
    for option, value in alone.items():
        if value and len(targets) != 1:
            raise KvError(
                "KV026",
                f"{option} with {len(targets) or 'no'} targets",
                reason="it belongs to one proof",
                cure="name one target",
            )
    if given["certificate"] and given["no_certificate"]:
        raise KvError(
            "KV026",
            "--certificate with --no-certificate",
            reason="one asks for what the other forbids",
            cure="leave out one of the two",
        )
