"""The two prompts: one full of a secret, and a long one that ends with a mark of its own.

A tokenizer makes at least one token of every word, and at most one of every character, so the first prompt certainly
fits where it has to.  The second is of common words only, and how many tokens those cost is measured first.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

ALPHABET = "bcdfghjkmnpqrstvwxz23456789"
"""Letters and digits of secrets: without vowels, so that no word of any language comes out."""

GROUPS, LETTERS = 8, 6
"""A secret is so many groups; a single group turns up by chance once in 300 million texts of its length."""

FILLER = ("north", "river", "stone", "apple", "green", "light", "paper", "house", "seven", "chair")


@dataclass(frozen=True, slots=True)
class Secret:
    """Groups that nobody else has written."""

    groups: tuple[str, ...]

    @classmethod
    def fresh(cls) -> Secret:
        """A new one, from the system's randomness."""
        return cls(tuple("".join(secrets.choice(ALPHABET) for _ in range(LETTERS)) for _ in range(GROUPS)))

    def __str__(self) -> str:
        return " ".join(self.groups)

    def found(self, text: str) -> tuple[str, ...]:
        """The groups that occur in a text, however it is spaced and whatever its case."""
        folded = "".join(text.lower().split())
        return tuple(group for group in self.groups if group in folded)


def canary(secret: Secret, tokens: int) -> str:
    """A prompt of at most `tokens` tokens, in which every line repeats the secret; it is there once in any case."""
    line, last = f"the note says {secret} and ", "now write the note again"
    return line * max(1, (tokens - len(last)) // len(line)) + last


def filler(words: int) -> str:
    """So many common words."""
    return " ".join(FILLER[at % len(FILLER)] for at in range(words))


def long_prompt(mark: Secret, words: int) -> str:
    """A prompt of at least `words` words, which quotes its own mark at the end and nowhere else."""
    return f"{filler(words)}\nthe last line says {mark}\nnow write the last line again"
