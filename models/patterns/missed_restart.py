"""A replacement behind a stable name is never noticed, since the name has always answered.

Decode asks a name for the addresses of prefill's ranks, and keeps them.  A heartbeat asks whether the name answers;
it does, while the process behind it is another one.  The kept addresses lead nowhere.  The opposite mistake is
there as well: after one failure a healthy peer counts as dead.
"""

from __future__ import annotations

from kvproto.lang import (
    Bool,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Sort,
    action,
    flag,
    leads_to,
    require,
)

Life = Sort("Life", doc="processes behind one name, one after the other")


class Config(Params):
    """What a heartbeat asks for."""

    names_process: bool = flag(False, "a heartbeat's answer names the process", kind="mitigation")
    sticky: bool = flag(False, "a peer that has failed once counts as dead until it registers again")


cfg = Config()


class State(Record):
    """Decode with one name, and requests one after the other."""

    life: Life
    kept: Life  # the process whose addresses decode keeps
    down: Bool  # the process is gone, its replacement not there yet
    dead: Bool  # decode takes the peer for dead
    waiting: Bool  # a request waits for prefill


prefill = Machine("prefill", "is replaced")
decode = Machine("decode", "keeps addresses, asks the name at every tick")


@action(prefill)
def replace(s, f: Life):
    """Prefill's process is gone, and process {f} will take its place."""
    require(int(f) == int(s.life) + 1 and not s.down)
    s.life = f
    s.down = True


@action(prefill, fair="weak")
def come_up(s):
    """The replacement is there."""
    require(s.down)
    s.down = False


@action(decode, fair="weak")
def heartbeat(s):
    """A tick: the name does not answer, or answers; then, named or after an outage, addresses are asked for anew."""
    believed = not s.down and not (cfg.sticky and s.dead)
    fresh = believed and s.kept != s.life and (cfg.names_process or s.dead)
    require((s.down and not s.dead) or fresh or (believed and s.dead))
    if s.down:
        s.dead = True
    else:
        s.dead = False
        if fresh:
            s.kept = s.life


@action(decode, fair="weak")
def arrive(s):
    """A request for prefill arrives."""
    require(not s.waiting)
    s.waiting = True


@action(decode, fair="weak")
def serve(s):
    """The request goes to the process whose addresses decode keeps; of one that is gone nothing comes back."""
    require(s.waiting and not s.down and not s.dead)
    if s.kept == s.life:
        s.waiting = False


@leads_to("a request is served in the end")
def gets_served(s):
    """Every request goes to ranks that are gone, and expires."""
    return s.waiting, not s.waiting


model = Model(
    "patterns.missed_restart",
    "a restart between two heartbeats is never noticed",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "does the name answer?", expect={"gets_served": None}),
        Preset("fixed", "who answers?", expect={}, names_process=True),
        Preset("sticky", "and once dead always dead", expect={"gets_served": None}, names_process=True, sticky=True),
    ],
    scopes=[Scope("small", "2 processes", Life=2)],
    reports=[Report("sgl-project/sglang#34289", "SGLang", Mechanism.RESTART)],
)
