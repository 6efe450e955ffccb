"""Theories written by hand, for tests that need neither the language nor the lowering.

Each is small, and each mistake is one argument away: `late(deferred=False)` releases pages while writes are underway.
"""

from __future__ import annotations

from kvproto.prove.logic.formula import (
    INT,
    And,
    Apply,
    Atom,
    Choose,
    Compare,
    Formula,
    Not,
    Num,
    Or,
    Plus,
    Same,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    exists,
    forall,
    implies,
    neg,
)
from kvproto.prove.logic.theory import Clause, Obligation, Theory, Transition, Update

REQ, PAGE, TAG, SOURCE = "Req", "Page", "Tag", "Source"
R, R2, X = Var("r", REQ), Var("r2", REQ), Var("x", REQ)
P, P2, Y = Var("p", PAGE), Var("p2", PAGE), Var("y", PAGE)
G, G2, H = Var("g", TAG), Var("g2", TAG), Var("h", TAG)
Q, Q2, Z = Var("q", SOURCE), Var("q2", SOURCE), Var("z", SOURCE)
_FORMALS = {REQ: (X, R2), PAGE: (Y, P2), TAG: (H, G2), SOURCE: (Z, Q2)}


def relation(name: str, *sorts: str, spelled: str = "") -> Symbol:
    return Symbol(name, sorts, spelled=spelled)


def is_(left: Var, right: Var) -> Formula:
    return Same(left, right)


def at(symbol: Symbol, *args: Var) -> Formula:
    return Atom(symbol, args)


def formals(symbol: Symbol) -> tuple[Var, ...]:
    """Variables for the arguments of a symbol, none of them the parameter of a step."""
    seen: dict[str, int] = {}
    found = []
    for sort in symbol.args:
        found.append(_FORMALS[sort][seen.get(sort, 0)])
        seen[sort] = seen.get(sort, 0) + 1
    return tuple(found)


def here(symbol: Symbol, *args: Var) -> Formula:
    """The formals are these arguments."""
    return conj(Same(left, right) for left, right in zip(formals(symbol), args, strict=True))


def add(symbol: Symbol, *args: Var) -> Update:
    """One tuple becomes true."""
    return update(symbol, disj((at(symbol, *formals(symbol)), here(symbol, *args))))


def drop(symbol: Symbol, *args: Var, given: Formula | None = None) -> Update:
    """One tuple becomes false."""
    gone = here(symbol, *args)
    return update(symbol, conj((at(symbol, *formals(symbol)), neg(gone if given is None else conj((gone, given))))))


def update(symbol: Symbol, value: Formula | Term) -> Update:
    return Update(symbol, formals(symbol), value)


def either(test: Formula, then: Formula, other: Formula) -> Formula:
    return Or((And((test, then)), And((neg(test), other))))


def empty(*symbols: Symbol) -> Formula:
    return conj(forall(formals(symbol), Not(at(symbol, *formals(symbol)))) for symbol in symbols)


def theory(model: str, preset: str, **parts: object) -> Theory:
    everything = {"rigid": (), "axioms": (), "typing": (), "switches": {}, **parts}
    return Theory(model=model, preset=preset, **everything)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ late writes

OWN = relation("own", REQ, PAGE, spelled="owner[{1}] == {0}")
INFL = relation("infl", REQ, PAGE, spelled="flying[{0}] has {1}")
WROTE = relation("wrote", REQ, PAGE)
VAL = relation("val", REQ, PAGE, spelled="holds[{1}] == {0}")
COMP = relation("comp", REQ, spelled="done[{0}]")
STARTED = relation("started", REQ)
SET = relation("set", PAGE)
LAST = relation("last")

FREE_PAGES = forall((Y, X), implies(at(SET, Y), Not(at(OWN, X, Y))))
NOTHING_FLIES = forall((Y,), Not(at(INFL, R, Y)))
EVERYTHING_WRITTEN = forall((Y,), implies(at(OWN, R, Y), at(WROTE, R, Y)))
READS_OWN = Clause("reads_own", forall((R, P), implies(conj((at(COMP, R), at(OWN, R, P))), at(VAL, R, P))))


def reserve() -> Transition:
    taken = update(OWN, disj((at(OWN, X, Y), conj((is_(X, R), at(SET, Y))))))
    guard = conj((Not(at(STARTED, R)), FREE_PAGES))
    return Transition("reserve", (R,), (SET,), guard, (taken, add(STARTED, R)))


def post(*more: Formula) -> Transition:
    return Transition("post", (R, P), (), conj((at(OWN, R, P), Not(at(COMP, R)), *more)), (add(INFL, R, P),))


def land() -> Transition:
    """A write lands; another copy of it may still be underway."""
    content = update(VAL, either(is_(Y, P), is_(X, R), at(VAL, X, Y)))
    updates = (drop(INFL, R, P, given=at(LAST)), add(WROTE, R, P), content)
    return Transition("land", (R, P), (LAST,), at(INFL, R, P), updates)


def complete(*more: Formula) -> Transition:
    return Transition("complete", (R,), (), conj((Not(at(COMP, R)), NOTHING_FLIES, *more)), (add(COMP, R),))


def release(*more: Formula) -> Transition:
    given_back = update(OWN, conj((at(OWN, X, Y), Not(is_(X, R)))))
    return Transition("release", (R,), (), conj((at(STARTED, R), *more)), (given_back,))


def late(*, deferred: bool = True) -> Theory:
    """Pages are given back when no write is underway, or at once."""
    return theory(
        "late",
        "deferred" if deferred else "at_once",
        sorts=(REQ, PAGE),
        state=(OWN, INFL, WROTE, VAL, COMP, STARTED),
        init=empty(OWN, INFL, WROTE, COMP, STARTED),
        transitions=(
            reserve(),
            post(),
            land(),
            complete(at(STARTED, R), EVERYTHING_WRITTEN),
            release(*((NOTHING_FLIES,) if deferred else ())),
        ),
        claims=(READS_OWN,),
    )


# ------------------------------------------------------------------------------------------------ placeholders

PLAN = relation("plan", REQ, PAGE)
READY = relation("ready", REQ)
WANTED = relation("wanted", PAGE)


def count(*, checked: bool = True, door: bool = False) -> Theory:
    """Prefill may refuse a prompt and send a placeholder instead; decode compares counts, or prefill refuses early."""
    whole = update(PLAN, disj((at(PLAN, X, Y), conj((is_(X, R), at(OWN, R, Y))))))
    part = update(PLAN, disj((at(PLAN, X, Y), conj((is_(X, R), at(WANTED, Y))))))
    asked = conj((at(STARTED, R), Not(at(READY, R))))
    fits = forall((Y,), implies(at(WANTED, Y), at(OWN, R, Y)))
    reject = Transition("reject", (R,), (WANTED,), conj((asked, fits)), (part, add(READY, R)))
    same = forall((Y,), implies(at(OWN, R, Y), at(PLAN, R, Y)))
    landed = forall((Y,), implies(at(PLAN, R, Y), at(WROTE, R, Y)))
    return theory(
        "count",
        "door" if door else "checked" if checked else "unchecked",
        sorts=(REQ, PAGE),
        state=(OWN, INFL, WROTE, VAL, COMP, STARTED, PLAN, READY),
        init=empty(OWN, INFL, WROTE, COMP, STARTED, PLAN, READY),
        transitions=(
            reserve(),
            Transition("accept", (R,), (), asked, (whole, add(READY, R))),
            *(() if door else (reject,)),
            post(at(PLAN, R, P)),
            land(),
            complete(at(READY, R), landed, *((same,) if checked and not door else ())),
            release(NOTHING_FLIES),
        ),
        claims=(READS_OWN,),
    )


# ------------------------------------------------------------------------------------------------ page tags

OWNER = relation("own", REQ, PAGE, spelled="owner[{1}] == {0}")
EXPECTED = relation("etag", REQ, PAGE, TAG, spelled="expected[{0}][{1}] == {2}")
FOOTER = relation("foot", PAGE, TAG, spelled="footer[{0}] == {1}")
DATA = relation("dat", PAGE, REQ, PAGE, spelled="data[{0}] == ({1}, {2})")
STAMPED = relation("src", SOURCE, REQ, PAGE, TAG, spelled="source[{0}] == ({1}, {2}, {3})")
WRITE = relation("infl", SOURCE, PAGE, spelled="flying[{0}] has {1}")
USED = relation("used", TAG)


def tags(*, fresh: bool = True, carried: bool = True) -> Theory:
    """Any write to any page at any time; a page carries the tag of the write that landed, or the allocator's."""
    issue = (Not(at(USED, G)),) if fresh else ()
    untagged = forall((H,), Not(at(EXPECTED, R, P, H)))
    unowned = forall((X,), Not(at(OWNER, X, P)))
    stamp = disj((conj((at(STAMPED, Z, X, Y, H), Not(is_(Z, Q)))), here(STAMPED, Q, R, P, G)))
    into = Var("into", PAGE)
    content = either(is_(Y, into), conj((is_(X, R), is_(P2, P))), at(DATA, Y, X, P2))
    foot = update(FOOTER, either(is_(Y, into), is_(H, G), at(FOOTER, Y, H)))
    relabel = update(FOOTER, either(is_(Y, P), is_(H, G), at(FOOTER, Y, H)))
    reserve_tag = (add(OWNER, R, P), add(EXPECTED, R, P, G), add(USED, G), *(() if carried else (relabel,)))
    arrives = (drop(WRITE, Q, into, given=at(LAST)), update(DATA, content), *((foot,) if carried else ()))
    only = forall((X, Y), implies(at(DATA, P, X, Y), conj((is_(X, R), is_(Y, P)))))
    read = conj((at(OWNER, R, P), at(EXPECTED, R, P, G), at(FOOTER, P, G)))
    return theory(
        "tags",
        ("carried" if carried else "allocator") + ("" if fresh else "_any"),
        sorts=(REQ, PAGE, SOURCE, TAG),
        state=(OWNER, EXPECTED, FOOTER, DATA, STAMPED, WRITE, USED),
        init=empty(OWNER, EXPECTED, FOOTER, DATA, STAMPED, WRITE, USED),
        transitions=(
            Transition("reserve", (R, P, G), (), conj((untagged, unowned, *issue)), reserve_tag),
            Transition("produce", (Q, R, P, G), (), at(EXPECTED, R, P, G), (update(STAMPED, stamp),)),
            Transition("post", (Q, P), (), And(()), (add(WRITE, Q, P),)),
            Transition(
                "land", (Q, R, P, G, into), (LAST,), conj((at(WRITE, Q, into), at(STAMPED, Q, R, P, G))), arrives
            ),
            Transition(
                "release",
                (R, P),
                (),
                at(OWNER, R, P),
                (drop(OWNER, R, P), update(EXPECTED, conj((at(EXPECTED, X, Y, H), neg(conj((is_(X, R), is_(Y, P)))))))),
            ),
        ),
        claims=(
            Clause("reads_own", forall((R, P, G), implies(read, at(DATA, P, R, P)))),
            Clause("reads_only_own", forall((R, P, G), implies(read, only))),
        ),
    )


# ------------------------------------------------------------------------------------------------ time-outs

FAILED = relation("failed", REQ)
NOW = Symbol("now", (), INT)
SINCE = Symbol("since", (REQ,), INT, spelled="since[{0}]")
DEADLINE = Symbol("deadline", (REQ, PAGE), INT, spelled="deadline[{0}][{1}]")
HOLD, DELAY, LIFE = Symbol("hold", (), INT), Symbol("delay", (), INT), Symbol("life", (), INT)
STEP = Var("d", INT)


def timed(*, enough: bool = True) -> Theory:
    """Pages of a failed request are kept for `hold`; writes start at most `delay` after it and live for `life`."""
    now, since = Apply(NOW), Apply(SINCE, (R,))
    later = Plus(now, STEP)
    in_time = forall((X, Y), implies(at(INFL, X, Y), Compare("<=", later, Apply(DEADLINE, (X, Y)))))
    may_start = disj((Not(at(FAILED, R)), Compare("<=", now, Plus(since, Apply(DELAY)))))
    held = Compare("<", Plus(since, Apply(HOLD)), now)
    newer = Choose(here(DEADLINE, R, P), Plus(now, Apply(LIFE)), Apply(DEADLINE, (X, Y)))
    fail = Choose(is_(X, R), now, Apply(SINCE, (X,)))
    published = conj((at(STARTED, R), at(PLAN, R, P)))
    begin = reserve()
    planned = update(PLAN, disj((at(PLAN, X, Y), conj((is_(X, R), at(SET, Y))))))
    launch = Transition(
        "post",
        (R, P),
        (),
        conj((published, Not(at(COMP, R)), may_start, Not(at(INFL, R, P)))),
        (add(INFL, R, P), update(DEADLINE, newer)),
    )
    axioms = [Clause("nonnegative", conj(Compare("<=", Num(0), Apply(each)) for each in (DELAY, LIFE)))]
    if enough:
        axioms.append(Clause("enough", Compare("<=", Plus(Apply(DELAY), Apply(LIFE)), Apply(HOLD))))
    return theory(
        "timed",
        "enough" if enough else "any_hold",
        sorts=(REQ, PAGE),
        state=(OWN, INFL, WROTE, VAL, COMP, STARTED, PLAN, FAILED, NOW, SINCE, DEADLINE),
        rigid=(HOLD, DELAY, LIFE),
        axioms=tuple(axioms),
        init=empty(OWN, INFL, WROTE, COMP, STARTED, PLAN, FAILED),
        transitions=(
            Transition("reserve", begin.params, begin.chosen, begin.guard, (*begin.updates, planned)),
            launch,
            land(),
            Transition(
                "fail",
                (R,),
                (),
                conj((at(STARTED, R), Not(at(FAILED, R)), Not(at(COMP, R)))),
                (add(FAILED, R), update(SINCE, fail)),
            ),
            Transition("tick", (STEP,), (), conj((Compare("<=", Num(0), STEP), in_time)), (update(NOW, later),)),
            complete(at(STARTED, R), Not(at(FAILED, R)), EVERYTHING_WRITTEN),
            release(disj((at(COMP, R), conj((at(FAILED, R), held))))),
        ),
        claims=(READS_OWN,),
    )


# ------------------------------------------------------------------------------------------------ acknowledgements

QUEUED = relation("queued", REQ, PAGE, spelled="queue has ({0}, {1})")
TAKEN = relation("taken", REQ, PAGE, spelled="worker has ({0}, {1})")
ASKED = relation("asked", REQ, spelled="abort_sent[{0}]")
STOPPED = relation("stopped", REQ, spelled="prefill_failed[{0}]")
ACK = relation("ack", REQ, spelled="acknowledged[{0}]")


def ack(*, drained: bool = True, terminal: bool = True) -> Theory:
    """Decode aborts and waits for an answer; prefill answers once it has failed and nothing of the request is left."""
    quiet = forall((Y,), conj((Not(at(TAKEN, R, Y)), Not(at(INFL, R, Y)))))
    no_rest = forall((Y,), Not(at(QUEUED, R, Y)))
    alive = (Not(at(STOPPED, R)),) if terminal else ()
    begin = reserve()
    return theory(
        "ack",
        "right" if drained and terminal else "before_drain" if terminal else "not_terminal",
        sorts=(REQ, PAGE),
        state=(OWN, INFL, WROTE, VAL, COMP, STARTED, QUEUED, TAKEN, ASKED, STOPPED, ACK),
        init=empty(OWN, INFL, WROTE, COMP, STARTED, QUEUED, TAKEN, ASKED, STOPPED, ACK),
        transitions=(
            begin,
            Transition(
                "enqueue", (R, P), (), conj((at(OWN, R, P), Not(at(ASKED, R)), Not(at(COMP, R)))), (add(QUEUED, R, P),)
            ),
            Transition("dequeue", (R, P), (), conj((at(QUEUED, R, P), *alive)), (drop(QUEUED, R, P), add(TAKEN, R, P))),
            Transition("start", (R, P), (), at(TAKEN, R, P), (drop(TAKEN, R, P), add(INFL, R, P))),
            land(),
            Transition("abort", (R,), (), conj((at(STARTED, R), Not(at(COMP, R)))), (add(ASKED, R),)),
            Transition("stop", (R,), (), at(ASKED, R), (add(STOPPED, R),)),
            Transition("answer", (R,), (), conj((at(STOPPED, R), *((quiet,) if drained else ()))), (add(ACK, R),)),
            complete(
                at(STARTED, R), Not(at(ASKED, R)), EVERYTHING_WRITTEN, no_rest, forall((Y,), Not(at(TAKEN, R, Y)))
            ),
            release(disj((at(COMP, R), at(ACK, R)))),
        ),
        claims=(READS_OWN,),
    )


# ------------------------------------------------------------------------------------------------ duties

COUNTED = Symbol("seen", (REQ,), INT, spelled="seen[{0}]")


def duties(*, wrong: bool = False) -> Theory:
    """A counter that is an assertion's subject: a step that must not happen twice."""
    more = Choose(is_(X, R), Plus(Apply(COUNTED, (X,)), Num(1)), Apply(COUNTED, (X,)))
    once = Compare("<=", Apply(COUNTED, (R,)), Num(0))
    mark = (add(COMP, R),) if not wrong else ()
    zero = forall((X,), conj((Compare("==", Apply(COUNTED, (X,)), Num(0)), Not(at(COMP, X)))))
    duty = Obligation("once", "seen[r] <= 0", once)
    return theory(
        "duties",
        "wrong" if wrong else "right",
        sorts=(REQ,),
        state=(COMP, COUNTED),
        init=zero,
        transitions=(Transition("see", (R,), (), Not(at(COMP, R)), (*mark, update(COUNTED, more)), (duty,)),),
        claims=(Clause("at_most_once", forall((R,), Compare("<=", Apply(COUNTED, (R,)), Num(1)))),),
    )


def some_started() -> Formula:
    """Not universal: there is a request that has started."""
    return exists((X,), at(STARTED, X))
