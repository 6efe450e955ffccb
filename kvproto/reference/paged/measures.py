"""What can be done against reading others' pages, as switches, and the tag that says what a page should hold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from kvproto.reference.paged.prefix import prefix

CANARY = 1e4
"""A word that no key has; pages that still carry it were not written since they were reserved."""


@dataclass(frozen=True, slots=True)
class Measures:
    """All off: what is read is what stands there."""

    page_tags: bool = False  # whoever reads a page compares its tag with the one that the prompt asks for
    checksum: bool = False  # the sum over the reserved pages is compared with the sender's before the first read
    canary: bool = False  # reserved pages are marked, and pages that still carry the mark are not read
    count_check: bool = False  # the number of pages that were sent is compared with the number reserved
    zero_on_release: bool = False  # pages are cleared when they are freed
    zero_on_allocation: bool = False  # pages are cleared when they are reserved
    deferred_release: bool = False  # pages of a failed transfer are kept while a write to them is on its way


def tag_of(text: str, position: int) -> int:
    """The tag of a page of a prompt: 31 bits that depend on all of the prompt up to the page's end.

    Both sides know the prompt, so the tag need not be agreed upon; a page of another prompt, of a placeholder, or of
    another position has another one, and a page that was never written has 0.
    """
    digest = hashlib.blake2b(prefix(text, position).encode(), digest_size=4).digest()
    return max(1, int.from_bytes(digest, "little") >> 1)
