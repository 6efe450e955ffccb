"""What the model takes from the released code, in a form that can be checked against the wheels.

Facts are about orders, defaults and guards; what follows from them is for the model to find out.  `tests/cites` reads
the wheels of the releases and reports every fact that is not true of them.
"""

from __future__ import annotations

from .decode import DECODE_RELEASES, DECODE_TRANSFER
from .intake import INTAKE
from .prefill import EARLY_SEND, PREFILL_RESULTS
from .rooms import ABORTS, ROOMS
from .worker import SENDING, WORKER

FACTS = [
    *INTAKE,
    *PREFILL_RESULTS,
    *EARLY_SEND,
    *ROOMS,
    *WORKER,
    *SENDING,
    *ABORTS,
    *DECODE_TRANSFER,
    *DECODE_RELEASES,
]
"""All recorded facts, in the order in which a request meets them."""
