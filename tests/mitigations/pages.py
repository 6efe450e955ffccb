"""A small protocol with measures that help, help only together, do nothing, and do harm."""

from __future__ import annotations

from kvproto.lang import (
    Bool,
    Int,
    Machine,
    Model,
    Params,
    Preset,
    Record,
    Scope,
    action,
    flag,
    invariant,
    leads_to,
    number,
    require,
    sometimes,
    weak,
)

decode = Machine("decode", "owns a page")
network = Machine("network", "lands writes")


class Config(Params):
    """Measures, what the world may do, and a size."""

    most: int = number(2, "writes under way at most", least=1, most=3)
    aborts: bool = flag(True, "a client may leave", kind="environment")
    verbose: bool = flag(False, "neither a measure nor the environment: it is only counted")
    drain: bool = flag(False, "wait for writes before a page is given back", kind="mitigation")
    bounded: bool = flag(False, "no write outlives the wait", kind="mitigation")
    tagged: bool = flag(False, "a page is checked before it is read", kind="mitigation")
    retry: bool = flag(False, "a page that fails its check is read again, without one", kind="mitigation")
    rotate: bool = flag(False, "pages are given out in turn: changes nothing here", kind="mitigation")


cfg = Config()


class State(Record):
    """One page, its writes under way, and what was read."""

    flying: Int(0, 3)
    owned: Bool
    dirty: Bool
    read: Bool
    wrong: Bool
    stray: Bool
    refused: Bool
    ticks: Int(0, 2)


@action(decode)
def take(s):
    """Decode takes the page."""
    require(not s.owned and not s.read)
    s.owned = True


@action(network)
def post(s):
    """A write toward the page is posted."""
    require(s.owned and not s.read and s.flying < cfg.most)
    s.flying += 1


@action(network)
def land(s):
    """A write lands, whoever owns the page."""
    require(s.flying > 0)
    s.flying -= 1
    if not s.owned:
        s.stray = True
        s.dirty = True


@action(decode)
def give_back(s):
    """The client is gone; decode gives the page back."""
    require(cfg.aborts and s.owned and not s.read)
    require(not cfg.drain or s.flying == 0)
    s.owned = False


@action(decode)
def give_up(s):
    """The wait is over; the page is given back anyway."""
    require(cfg.drain and cfg.aborts and s.owned and not s.read)
    require(not (cfg.bounded and s.flying > 0))
    s.owned = False


@action(decode)
def attend(s):
    """Decode reads the page."""
    require(s.owned and not s.read and not s.refused)
    if cfg.tagged and s.dirty:
        s.refused = True
    else:
        s.read = True
        s.wrong = s.dirty


@action(decode)
def again(s):
    """A read that was refused is tried once more, and nobody looks at the tag."""
    require(cfg.retry and s.refused and s.owned and not s.read)
    s.read = True
    s.wrong = s.dirty


@action(decode)
def tick(s):
    """Somebody counts."""
    require(cfg.verbose and s.ticks < 2)
    s.ticks += 1


@invariant("what is read is what was written for it")
def reads_clean(s):
    """The claim that the tag protects, and draining too."""
    return not s.wrong


@invariant("no write lands in a page that was given back")
def no_stray(s):
    """Only draining helps."""
    return not s.stray


@invariant("a page is read at most once")
def one_read(s):
    """Holds whatever is on."""
    return not s.refused or cfg.tagged


@sometimes("a page is read")
def can_read(s):
    """A measure that forbids everything would be no measure."""
    return s.read


@leads_to("a page that is taken is read or given back")
def served(s):
    """Needs no measure either."""
    return s.owned, s.read or not s.owned or s.refused


model = Model(
    "pages",
    "a page, late writes, and measures",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bare", "nothing is on"),
        Preset("careful", "draining with a bound, and more than is needed", drain=True, bounded=True, rotate=True),
        Preset("quiet", "nobody leaves", aborts=False),
    ],
    scopes=[Scope("one", "a write at a time", most=1), Scope("two", "two writes", most=2)],
    fairness=[weak(attend)],
)
