"""A load fails for one component, nobody marks the pages, and the client gets an answer.

For models with several kinds of state the report of failed blocks is switched off.  A receive that fails marks
nothing, the policy that would end the request has nothing to act on, and decode goes on with what is in the pages;
the client sees success.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
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
    eventually,
    flag,
    invariant,
    require,
)

Req = Sort("Req", labels="AB", doc="requests, one after the other in the same pages")


class Config(Params):
    """What a failure reaches."""

    marked: bool = flag(False, "a failed receive marks the pages of every component", kind="mitigation")


cfg = Config()


class Part(Enum):
    """Kinds of state, a page each."""

    ATTENTION = auto()
    RECURRENT = auto()


class Client(Enum):
    """What the client has seen."""

    WAITS = auto()
    SUCCESS = auto()
    ERROR = auto()


class Load(Enum):
    """A component's load."""

    NONE = auto()
    FLIES = auto()
    LANDED = auto()
    FAILED = auto()


class State(Record):
    """The pages belong to one request at a time."""

    holder: Opt(Req)
    load: Array(Req, Array(Part, Load))
    content: Array(Part, Opt(Req))
    client: Array(Req, Client)
    wrong_success: Bool


decode = Machine("decode", "loads, runs, answers")
network = Machine("network", "lands or fails")


@action(decode, fair="weak")
def load(s, r: Req):
    """The loads of all components of request {r} begin."""
    require(s.holder is None and s.load[r][Part.ATTENTION] == Load.NONE)
    s.holder = r
    for part in Part:
        s.load[r][part] = Load.FLIES


@action(network, fair="weak")
def land(s, r: Req, part: Part):
    """The {part} state of request {r} lands."""
    require(s.load[r][part] == Load.FLIES)
    s.load[r][part] = Load.LANDED
    s.content[part] = r


@action(network)
def fail(s, r: Req, part: Part):
    """The {part} state of request {r} does not come."""
    require(s.load[r][part] == Load.FLIES)
    s.load[r][part] = Load.FAILED


@action(decode, fair="weak")
def answer(s, r: Req):
    """No load of request {r} is under way: it runs, or ends with an error if a page is marked."""
    require(s.holder == r and all(s.load[r][part] in (Load.LANDED, Load.FAILED) for part in Part))
    s.holder = None
    if cfg.marked and any(s.load[r][part] == Load.FAILED for part in Part):
        s.client[r] = Client.ERROR
    else:
        s.client[r] = Client.SUCCESS
        if any(s.content[part] != r for part in Part):
            s.wrong_success = True


@invariant("success means that everything that was read was the request's own")
def success_is_true(s):
    """HTTP 200 with the answer to the prompt before."""
    return not s.wrong_success


@eventually("every client gets an answer")
def all_answered(s):
    """An error is one, too."""
    return all(s.client[r] != Client.WAITS for r in Req)


model = Model(
    "patterns.failed_load_answered",
    "a failed load is answered with success",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "nothing is marked", expect={"success_is_true": 4}),
        Preset("fixed", "pages are marked", expect={}, marked=True),
    ],
    scopes=[Scope("small", "2 requests", Req=2)],
    reports=[Report("vllm-project/vllm#52234", "vLLM", Mechanism.STATUS)],
)
