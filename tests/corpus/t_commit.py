"""Transaction commit as it looks from outside: resource managers come to one decision, however they do that."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Machine, Model, Record, Sort, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/transaction_commit/TCommit.cfg"
EXPECTED = [Expect(states=34, depth=7, generated=94, transitions=93, verdicts={"consistent": "holds"})]

Manager = Sort("Manager", size=3, doc="resource managers that take part in the transaction")

managers = Machine("managers", "all resource managers")


class Status(Enum):
    """Where a resource manager is."""

    WORKING = auto()
    PREPARED = auto()
    COMMITTED = auto()
    ABORTED = auto()


class State(Record):
    """Every resource manager."""

    status: Array(Manager, Status)


@action(managers)
def prepare(s, m: Manager):
    """Manager {m} has done its part."""
    require(s.status[m] == Status.WORKING)
    s.status[m] = Status.PREPARED


@action(managers)
def commit(s, m: Manager):
    """Manager {m} commits: nobody is behind."""
    require(s.status[m] == Status.PREPARED)
    require(all(s.status[other] in (Status.PREPARED, Status.COMMITTED) for other in Manager))
    s.status[m] = Status.COMMITTED


@action(managers)
def abort(s, m: Manager):
    """Manager {m} aborts: nobody has committed."""
    require(s.status[m] in (Status.WORKING, Status.PREPARED))
    require(all(s.status[other] != Status.COMMITTED for other in Manager))
    s.status[m] = Status.ABORTED


@invariant("no two managers decide differently")
def consistent(s):
    """That is what a transaction is for."""
    return not any(
        s.status[one] == Status.ABORTED and s.status[other] == Status.COMMITTED for one in Manager for other in Manager
    )


model = Model("t_commit", "transaction commit, seen from outside", state=State, parts=[__name__])
