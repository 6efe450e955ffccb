"""Ranks that serve one request together: who sends to whom, and what they have to agree on.

Every prefill rank sends to every decode rank: with one and two, a fan-out; with two and one, decode waits for both.
Decode ranks allocate in step, so that a page number means the same on each: what one frees, all have to free.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Model,
    Params,
    Preset,
    Record,
    Scope,
    Set,
    Sort,
    action,
    choice,
    flag,
    invariant,
    leads_to,
    require,
)

PRank = Sort("PRank", doc="prefill ranks; each has pages of its own")
DRank = Sort("DRank", doc="decode ranks; each has pages of its own")

VERDICT = "srt/disaggregation/utils.py:poll_and_all_reduce"
STATUS = "0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager.apply_prefill_status"
NOTIFY = "0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager._room_notify_targets"
AGREE = "0.5.23+ srt/disaggregation/utils.py:all_reduce_flags"


class Agreed(Enum):
    """How one answer comes of those of all decode ranks."""

    ALL = auto()  # yes if every rank says yes: MIN
    SOME = auto()  # yes if one rank does: MAX
    ALONE = auto()  # each goes by its own


class Config(Params):
    """What a preset fixes."""

    agrees: bool = flag(True, "decode ranks go on only if all of them can", cites=VERDICT, kind="mitigation")
    stages_agree: bool = flag(True, "prefill ranks end well only if all of them do", cites=VERDICT, kind="mitigation")
    hold: Agreed = choice(Agreed.SOME, "whether decode holds the pages of a failed transfer", cites=AGREE)
    release: Agreed = choice(Agreed.ALL, "whether decode frees the pages that it holds", cites=AGREE)
    needs_all: bool = flag(
        True,
        "a decode rank waits for the success of every prefill rank",
        cites=STATUS,
        kind="mitigation",
    )
    failure_to_all: bool = flag(
        True,
        "every decode rank is told of a failure, not only the one it hit",
        cites=NOTIFY,
        kind="mitigation",
    )
    source_waits: bool = flag(
        True,
        "a prefill rank gives up its pages only when it sends nothing any more",
        kind="mitigation",
    )
    gives_up: bool = flag(True, "a decode rank may lose patience by itself", kind="environment")


cfg = Config()


class Link(Enum):
    """What one prefill rank sends to one decode rank."""

    WAITS = auto()
    WRITES = auto()
    LANDED = auto()
    FAILED = auto()


class Report(Enum):
    """What a prefill rank has told decode."""

    NONE = auto()
    SUCCESS = auto()
    FAILURE = auto()


class End(Enum):
    """How the request ends on a prefill rank."""

    OPEN = auto()
    WELL = auto()
    BADLY = auto()


class Fate(Enum):
    """What a decode rank makes of the request."""

    WAITS = auto()
    GOES_ON = auto()
    HELD = auto()  # failed; its pages are kept
    FREED = auto()  # failed; its pages are free


class State(Record):
    """One request on all ranks of both sides."""

    link: Array(PRank, Array(DRank, Link))
    report: Array(PRank, Report)
    end: Array(PRank, End)
    gone: Array(PRank, Bool)  # the source pages have been given up
    heard: Array(DRank, Set(PRank))  # whose success has arrived
    bad: Array(DRank, Bool)  # a failure has arrived, or the rank has lost patience
    fate: Array(DRank, Fate)
    freed_early: Bool


prefill = Machine("prefill", "ranks that send")
network = Machine("network", "lands what they send")
decode = Machine("decode", "ranks that wait, hold and free")


def quiet(s, d):
    """Whether nobody writes to rank `d`, nor will."""
    return all(
        s.link[p][d] != Link.WRITES
        and (s.link[p][d] != Link.WAITS or s.report[p] != Report.NONE or s.end[p] != End.OPEN)
        for p in PRank
    )


def can_go_on(s, d):
    """Whether rank `d` has heard what it waits for."""
    return len(s.heard[d]) == len(PRank) if cfg.needs_all else len(s.heard[d]) > 0


def free(s, d):
    """Rank `d` frees its pages."""
    if not quiet(s, d):
        s.freed_early = True
    s.fate[d] = Fate.FREED


@action(prefill, fair="weak")
def begin(s, p: PRank, d: DRank):
    """Rank {p} of prefill begins to write to rank {d} of decode."""
    require(s.link[p][d] == Link.WAITS and s.report[p] == Report.NONE and s.end[p] == End.OPEN)
    s.link[p][d] = Link.WRITES


@action(network, fair="weak")
def land(s, p: PRank, d: DRank):
    """What rank {p} of prefill writes to rank {d} of decode has landed."""
    require(s.link[p][d] == Link.WRITES)
    s.link[p][d] = Link.LANDED


@action(network)
def fail(s, p: PRank, d: DRank):
    """What rank {p} of prefill writes to rank {d} of decode fails."""
    require(s.link[p][d] == Link.WRITES)
    s.link[p][d] = Link.FAILED


@action(prefill, cites=NOTIFY, fair="weak")
def tell(s, p: PRank):
    """Rank {p} of prefill has sent everything, or has failed, and says so."""
    require(s.report[p] == Report.NONE and s.end[p] == End.OPEN)
    failed = any(s.link[p][d] == Link.FAILED for d in DRank)
    require(failed or all(s.link[p][d] == Link.LANDED for d in DRank))
    s.report[p] = Report.FAILURE if failed else Report.SUCCESS
    for d in DRank:
        if not failed:
            s.heard[d].add(p)
        elif cfg.failure_to_all or s.link[p][d] == Link.FAILED:
            s.bad[d] = True


@action(prefill, fair="weak")
def stop(s, p: PRank):
    """A decode rank has failed; rank {p} of prefill is told, and passes it on."""
    require(s.report[p] == Report.NONE and any(s.bad[d] for d in DRank))
    s.report[p] = Report.FAILURE
    if cfg.failure_to_all:
        for d in DRank:
            s.bad[d] = True


@action(prefill, cites=VERDICT, fair="weak")
def end_together(s):
    """The prefill ranks agree how the request ends: badly as soon as it does on one of them."""
    require(cfg.stages_agree and any(s.end[p] == End.OPEN for p in PRank))
    badly = any(s.report[p] == Report.FAILURE for p in PRank)
    require(badly or all(s.report[p] == Report.SUCCESS for p in PRank))
    for p in PRank:
        s.end[p] = End.BADLY if badly else End.WELL


@action(prefill, fair="weak")
def end_alone(s, p: PRank):
    """Rank {p} of prefill ends the request by its own report."""
    require(not cfg.stages_agree and s.end[p] == End.OPEN and s.report[p] != Report.NONE)
    s.end[p] = End.WELL if s.report[p] == Report.SUCCESS else End.BADLY


@action(prefill)
def give_up_source(s, p: PRank):
    """Rank {p} of prefill gives up its source pages."""
    require(s.end[p] != End.OPEN and not s.gone[p])
    require(not cfg.source_waits or all(s.link[p][d] != Link.WRITES for d in DRank))
    s.gone[p] = True


@action(decode)
def lose_patience(s, d: DRank):
    """Rank {d} of decode has waited long enough."""
    require(cfg.gives_up and s.fate[d] == Fate.WAITS and not s.bad[d])
    s.bad[d] = True


@action(decode, cites=VERDICT, fair="weak")
def decide_together(s):
    """The decode ranks go on together, or fail together and hold their pages if need be."""
    require(cfg.agrees and any(s.fate[d] == Fate.WAITS for d in DRank))
    failed = any(s.bad[d] for d in DRank)
    require(failed or all(can_go_on(s, d) for d in DRank))
    some = any(not quiet(s, d) for d in DRank)
    every = all(not quiet(s, d) for d in DRank)
    for d in DRank:
        if not failed:
            s.fate[d] = Fate.GOES_ON
        elif every or (cfg.hold == Agreed.SOME and some) or (cfg.hold == Agreed.ALONE and not quiet(s, d)):
            s.fate[d] = Fate.HELD
        else:
            free(s, d)


@action(decode, fair="weak")
def decide_alone(s, d: DRank):
    """Rank {d} of decode goes on or fails as it sees fit."""
    require(not cfg.agrees and s.fate[d] == Fate.WAITS and (s.bad[d] or can_go_on(s, d)))
    s.fate[d] = Fate.HELD if s.bad[d] else Fate.GOES_ON


@action(decode, cites=AGREE, fair="weak")
def release_together(s):
    """The decode ranks free what they hold, in one step."""
    require(cfg.release != Agreed.ALONE and all(s.fate[d] != Fate.WAITS for d in DRank))
    require(any(s.fate[d] == Fate.HELD for d in DRank))
    ready = all(quiet(s, d) for d in DRank)
    require(ready or (cfg.release == Agreed.SOME and any(quiet(s, d) for d in DRank)))
    for d in DRank:
        if s.fate[d] == Fate.HELD:
            free(s, d)


@action(decode, fair="weak")
def release_alone(s, d: DRank):
    """Rank {d} of decode frees what it holds."""
    require(cfg.release == Agreed.ALONE and s.fate[d] == Fate.HELD and quiet(s, d))
    free(s, d)


@invariant("a decode rank goes on only with everything that was to come")
def goes_on_complete(s):
    """Each prefill rank brings a part of every page."""
    return all(s.link[p][d] == Link.LANDED for d in DRank if s.fate[d] == Fate.GOES_ON for p in PRank)


@invariant("no decode rank goes on while another one fails")
def same_fate(s):
    """The ranks compute one layer together: one that goes on alone waits for ever, or computes nonsense."""
    return all(s.fate[d] != Fate.GOES_ON or s.fate[e] not in (Fate.HELD, Fate.FREED) for d in DRank for e in DRank)


@invariant("decode ranks have the same pages free")
def frees_in_step(s):
    """Each rank draws the next page from its own list, and they have to draw the same."""
    return all(s.fate[d] != Fate.FREED or s.fate[e] != Fate.HELD for d in DRank for e in DRank)


@invariant("a decode rank frees nothing that is still written to")
def frees_when_quiet(s):
    """The answer of one rank says nothing of the writes to another."""
    return not s.freed_early


@invariant("a prefill rank keeps what it still sends")
def source_stays(s):
    """A write reads its source when it is carried out, whoever has the page by then."""
    return all(s.link[p][d] != Link.WRITES for p in PRank if s.gone[p] for d in DRank)


@invariant("the request ends alike on all prefill ranks")
def ends_alike(s):
    """The stages of a pipeline share one prefix tree and one answer to the client."""
    return all(s.end[p] != End.WELL or s.end[q] != End.BADLY for p in PRank for q in PRank)


@leads_to("every decode rank comes to a verdict")
def decides(s, d: DRank):
    """A rank that nobody tells waits for its time limit, if it has one."""
    return s.fate[d] == Fate.WAITS, s.fate[d] != Fate.WAITS


model = Model(
    "blocks.ranks",
    "ranks that serve one request: verdicts, holds, releases, agreed or not",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset(
            "first-success",
            "one success is enough where two were to come: goes_on_complete",
            scope="2-1",
            needs_all=False,
        ),
        Preset("alone", "each decode rank decides by itself: same_fate", agrees=False),
        Preset("released-alone", "each decode rank frees when it is drained: frees_in_step", release=Agreed.ALONE),
        Preset("held-alone", "each decode rank holds if it has to: frees_in_step", hold=Agreed.ALONE),
        Preset("held-if-all", "held only if every rank has to: frees_when_quiet", hold=Agreed.ALL),
        Preset("released-if-some", "one drained rank frees for all: frees_when_quiet", release=Agreed.SOME),
        Preset("source-at-once", "a failure elsewhere ends a rank that still sends: source_stays", source_waits=False),
        Preset("stages-alone", "each stage goes by its own report: ends_alike", scope="2-1", stages_agree=False),
        Preset(
            "told-to-one",
            "a failure is told to the rank it hit, and the others are not asked: decides",
            agrees=False,
            failure_to_all=False,
            gives_up=False,
        ),
        Preset(
            "agreement-tells",
            "a failure is told to the rank it hit, and the agreement spreads it: all hold",
            scope="2-2",
            failure_to_all=False,
            gives_up=False,
        ),
    ],
    scopes=[
        Scope("1-2", "1 prefill rank that serves 2 decode ranks", PRank=1, DRank=2),
        Scope("2-1", "2 prefill ranks, or stages, that serve 1 decode rank", PRank=2, DRank=1),
        Scope("2-2", "2 prefill ranks, each of which serves 2 decode ranks", PRank=2, DRank=2),
    ],
)
