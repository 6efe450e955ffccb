"""Decode restarts under its old address, and prefill goes on with what it remembers of the process before.

Prefill keeps endpoint and memory registration of a peer by its network name.  The process behind the name is
another one now, with other memory; every transfer through the old registration fails.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Bool,
    Machine,
    Mechanism,
    Model,
    Opt,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Sort,
    action,
    flag,
    invariant,
    leads_to,
    require,
)

Life = Sort("Life", doc="processes behind one address, one after the other")


class Config(Params):
    """What notices that a peer is another one."""

    incarnations: bool = flag(
        False, "a peer says which process it is, and a registration of another one is dropped", kind="mitigation"
    )
    drops_on_failure: bool = flag(False, "a transfer that fails drops the registration", kind="mitigation")


cfg = Config()


class Transfer(Enum):
    """The request that is to be sent."""

    NONE = auto()
    WANTED = auto()
    SENT = auto()
    FAILED = auto()


class State(Record):
    """Prefill, one decode address, requests one after the other."""

    life: Life
    known: Opt(Life)  # whose registration prefill has
    transfer: Transfer
    wrong_memory: Bool  # a transfer went to an address of the process before


decode = Machine("decode", "restarts")
prefill = Machine("prefill", "registers peers, sends")


@action(decode)
def restart(s, f: Life):
    """Decode's process is replaced by process {f}, under the same address."""
    require(int(f) == int(s.life) + 1)
    s.life = f


@action(prefill, fair="weak")
def request(s):
    """There is a request for decode."""
    require(s.transfer in (Transfer.NONE, Transfer.SENT))
    s.transfer = Transfer.WANTED


@action(prefill, fair="weak")
def connect(s):
    """Prefill has no registration of the peer, or one of another process: it registers."""
    require(s.transfer == Transfer.WANTED and (s.known is None or (cfg.incarnations and s.known != s.life)))
    s.known = s.life


@action(prefill, fair="weak")
def send(s):
    """Prefill sends with the registration that it has."""
    require(s.transfer == Transfer.WANTED and s.known is not None and not (cfg.incarnations and s.known != s.life))
    if s.known == s.life:
        s.transfer = Transfer.SENT
    else:
        s.transfer = Transfer.FAILED
        s.wrong_memory = True


@action(prefill, fair="weak")
def retry(s):
    """The request is tried again."""
    require(not cfg.incarnations and s.transfer == Transfer.FAILED)
    s.transfer = Transfer.WANTED
    if cfg.drops_on_failure:
        s.known = None


@invariant("nothing is sent to memory of a process that is gone")
def sends_to_the_living(s):
    """The address may mean other memory of the new process."""
    return not s.wrong_memory


@leads_to("a request is sent in the end")
def gets_through(s):
    """Only restarting prefill helps, says the report."""
    return s.transfer == Transfer.WANTED, s.transfer == Transfer.SENT


model = Model(
    "patterns.stale_registration",
    "a peer restarts under its address, and its old registration is used",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "registrations stay", expect={"sends_to_the_living": 4, "gets_through": None}),
        Preset(
            "drops",
            "a failure drops the registration: one transfer goes wrong",
            expect={"sends_to_the_living": 4},
            drops_on_failure=True,
        ),
        Preset("fixed", "a registration names its process", expect={}, incarnations=True),
    ],
    scopes=[Scope("small", "2 processes", Life=2)],
    reports=[Report("smg-project/smg#2382", "vLLM", Mechanism.RESTART)],
)
