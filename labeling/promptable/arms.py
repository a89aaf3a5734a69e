"""Who draws with the model and who without, by hashes alone.

A question asks so many people; its hash says which of their places draws without the model, so that
one drawing of each does. On gold, which many people get, each person's own hash decides with the
same chance: neither a page nor a run of pages tells one from the other.
"""

import hashlib


def _share(text: str) -> float:
    """In [0, 1), by the hash of a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def unassisted_place(question: int, people: int) -> int:
    """Return which of the question's places, from 0, draws without the model. people: how many it
    asks.
    """
    return int(_share(f"unassisted place {question}") * people)


def is_assisted(question: int, people: int, before: int, unassisted_before: int) -> bool:
    """Return whether the next person on a question draws with the model.

    before: people who hold a place or have answered; unassisted_before: those of them without the
    model. Where the unassisted one has left, the next one takes that place.

    >>> [is_assisted(7, 1, before, 0) for before in range(2)]
    [False, False]
    """
    seat = unassisted_place(question, people)
    if before <= seat or not unassisted_before:
        return before < seat
    # Further people, who are asked where these disagree, have the same chance.
    return before < people or _share(f"more {question} {before}") >= 1 / people


def is_assisted_on_gold(question: int, person: int, people: int) -> bool:
    """Return the same on gold: with the chance that a place of any question has."""
    return _share(f"gold {question} {person}") >= 1 / people
