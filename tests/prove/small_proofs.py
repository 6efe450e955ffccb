"""Small models as texts, for tests of proofs: a head, whatever a test adds, and the model."""

from __future__ import annotations

import importlib.util
import sys
from itertools import count
from pathlib import Path
from types import ModuleType

from kvproto.lang.model import Model

HEAD = '''\
from __future__ import annotations
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", size=2, labels="ABCD")
Page = Sort("Page", size=2)

class Phase(Enum):
    NEW = auto()
    OVER = auto()

class Config(Params):
    hold: int = number(2, "how long", least=1)
    safe: bool = flag(True, "a switch")

cfg = Config()
m = Machine("m")
'''

STATE = '''
class State(Record):
    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    held: Array(Req, Set(Page))
    now: Int(0, Config.hold)
    flag: Bool
'''

ACTION = '''
@action(m)
def lend(s, r: Req, p: Page):
    require(s.phase[r] == Phase.NEW and s.owner[p] is None)
    s.owner[p] = r
'''

CLAIM = '''
@invariant("a page that is held has its owner")
def held_by_owner(s):
    return all(s.owner[p] == r for r in Req for p in Page if p in s.held[r])
'''

TAIL = '''
model = Model("small", "a small model", state=State, parts=[__name__], params=Config)
'''

_NUMBERS = count()


def text_of(*, state: str = STATE, action: str = ACTION, claim: str = CLAIM) -> str:
    """A model with some of its parts replaced."""
    return HEAD + state + action + claim + TAIL


def imported(text: str, folder: Path, name: str = "small.py") -> ModuleType:
    """The text as a module, in a file, as the front end reads files."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    module_name = f"small_proof_{next(_NUMBERS)}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module


def model_of(folder: Path, **parts: str) -> Model:
    """The model of a text."""
    found = imported(text_of(**parts), folder).model
    assert isinstance(found, Model)
    return found
