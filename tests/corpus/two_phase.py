"""Two-phase commit: a transaction manager collects promises, then tells every resource manager what to do.

A sent message stays sent: one that is read twice or never is a message that was doubled or lost.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Machine, Model, Record, Scope, Set, Sort, action, invariant, require, sometimes

SOURCE = (
    "github.com/tlaplus/Examples: specifications/transaction_commit/TwoPhase.cfg (3 managers; 6 in a comment)",
    "github.com/stateright/stateright: examples/2pc.rs (3 and 5 managers)",
)
HOLDS = {"consistent": "holds", "all_commit": "holds", "all_abort": "holds"}
EXPECTED = [
    Expect(scope="3", states=288, depth=11, generated=1146, transitions=1145, orbits=80, verdicts=HOLDS),
    # Stateright prints 665 with symmetry: its representatives are not unique.
    Expect(scope="5", states=8832, depth=17, generated=58146, transitions=58145, orbits=314, verdicts=HOLDS),
    # The source gives the states only.
    Expect(scope="6", states=50816, depth=20, orbits=553, verdicts=HOLDS),
]

Manager = Sort("Manager", doc="resource managers that take part in the transaction")

coordinator = Machine("coordinator", "the transaction manager")
managers = Machine("managers", "all resource managers")


class Decision(Enum):
    """What becomes of the transaction."""

    COMMIT = auto()
    ABORT = auto()


class Status(Enum):
    """Where a resource manager is, or the coordinator."""

    WORKING = auto()
    PREPARED = auto()
    COMMITTED = auto()
    ABORTED = auto()


class State(Record):
    """Everybody's status and the messages sent so far."""

    status: Array(Manager, Status)
    coordinator: Status
    collected: Set(Manager)  # promises that the coordinator has read
    promised: Set(Manager)  # promises that were sent
    announced: Set(Decision)  # decisions that were sent


@action(managers)
def prepare(s, m: Manager):
    """Manager {m} has done its part and promises to commit when told to."""
    require(s.status[m] == Status.WORKING)
    s.status[m] = Status.PREPARED
    s.promised.add(m)


@action(managers)
def give_up(s, m: Manager):
    """Manager {m} aborts by itself, before it has promised anything."""
    require(s.status[m] == Status.WORKING)
    s.status[m] = Status.ABORTED


@action(coordinator)
def collect(s, m: Manager):
    """The coordinator reads the promise of manager {m}."""
    require(s.coordinator == Status.WORKING and m in s.promised)
    s.collected.add(m)


@action(coordinator)
def decide_commit(s):
    """Everybody has promised: the transaction is committed."""
    require(s.coordinator == Status.WORKING and all(m in s.collected for m in Manager))
    s.coordinator = Status.COMMITTED
    s.announced.add(Decision.COMMIT)


@action(coordinator)
def decide_abort(s):
    """The coordinator does not wait any longer."""
    require(s.coordinator == Status.WORKING)
    s.coordinator = Status.ABORTED
    s.announced.add(Decision.ABORT)


@action(managers)
def obey_commit(s, m: Manager):
    """Manager {m} reads that the transaction is committed."""
    require(Decision.COMMIT in s.announced)
    s.status[m] = Status.COMMITTED


@action(managers)
def obey_abort(s, m: Manager):
    """Manager {m} reads that the transaction is aborted."""
    require(Decision.ABORT in s.announced)
    s.status[m] = Status.ABORTED


@invariant("no two managers decide differently")
def consistent(s):
    """That is what a transaction is for."""
    return not any(
        s.status[one] == Status.ABORTED and s.status[other] == Status.COMMITTED for one in Manager for other in Manager
    )


@sometimes("all managers commit")
def all_commit(s):
    """The protocol is good for something."""
    return all(s.status[m] == Status.COMMITTED for m in Manager)


@sometimes("all managers abort")
def all_abort(s):
    """Nobody is forced to commit."""
    return all(s.status[m] == Status.ABORTED for m in Manager)


model = Model(
    "two_phase",
    "two-phase commit",
    state=State,
    parts=[__name__],
    scopes=[Scope(f"{n}", f"{n} resource managers", Manager=n) for n in (3, 5, 6)],
)
