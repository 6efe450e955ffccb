"""A thread looks whether there is work, there comes some, and it goes to sleep.

Readiness and the queue are guarded by one lock, the sleep by another condition.  A response becomes ready between
the look and the sleep; its signal meets nobody who sleeps, and nobody wakes the thread afterwards.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import Int, Machine, Mechanism, Model, Params, Preset, Record, Report, action, flag, leads_to, require


class Config(Params):
    """What look and sleep have in common."""

    one_lock: bool = flag(
        False, "the thread looks and goes to sleep under the lock that guards the queue", kind="mitigation"
    )


cfg = Config()
JOBS = 2


class Thread(Enum):
    """The sender's thread."""

    RUNS = auto()
    LOOKED = auto()
    SLEEPS = auto()


class State(Record):
    """Responses become ready one after the other."""

    thread: Thread
    ready: Int(0, JOBS)  # that wait to be sent
    made: Int(0, JOBS)


sender = Machine("sender", "a thread that sends what is ready")
engine = Machine("engine", "makes responses ready, and signals")


@action(engine)
def make_ready(s):
    """A response is ready, and the thread is woken if it sleeps."""
    require(s.made < JOBS)
    s.made += 1
    s.ready += 1
    if s.thread == Thread.SLEEPS:
        s.thread = Thread.RUNS


@action(sender, fair="weak")
def send(s):
    """The thread sends a response."""
    require(s.thread == Thread.RUNS and s.ready > 0)
    s.ready -= 1


@action(sender, fair="weak")
def look(s):
    """The thread sees that nothing is ready; under one lock it sleeps at once."""
    require(s.thread == Thread.RUNS and s.ready == 0)
    s.thread = Thread.SLEEPS if cfg.one_lock else Thread.LOOKED


@action(sender, fair="weak")
def sleep(s):
    """The thread goes to sleep."""
    require(not cfg.one_lock and s.thread == Thread.LOOKED)
    s.thread = Thread.SLEEPS


@leads_to("what is ready is sent")
def ready_is_sent(s):
    """Generation waits for it."""
    return s.ready > 0, s.ready == 0


model = Model(
    "patterns.lost_wakeup",
    "a signal meets a thread that is about to sleep",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "two locks", expect={"ready_is_sent": None}),
        Preset("fixed", "one lock", expect={}, one_lock=True),
    ],
    reports=[Report("NVIDIA/TensorRT-LLM#15737", "TensorRT-LLM", Mechanism.HANG)],
)
