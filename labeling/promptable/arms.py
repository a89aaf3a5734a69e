"""Assigns people to draw with or without the model, by hashes alone.

For each question, a hash chooses one of its seats to draw without the model. On gold, which many
people get, each person's hash decides with the same probability, so pages do not reveal gold.
"""

import hashlib


def _share(text: str) -> float:
    """Return a number in [0, 1) from the hash of a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def unassisted_place(question: int, people: int) -> int:
    """Return the index of the question's seat without the model. people: how many seats it has."""
    return int(_share(f"unassisted place {question}") * people)


def is_assisted(question: int, people: int, before: int, unassisted_before: int) -> bool:
    """Return whether the next person on a question draws with the model.

    before: people with a seat or an answer; unassisted_before: those without the model. If the
    unassisted person has left, the next one replaces them.

    >>> [is_assisted(7, 1, before, 0) for before in range(2)]
    [False, False]
    """
    seat = unassisted_place(question, people)
    if before <= seat or not unassisted_before:
        return before < seat
    # Further people, asked after disagreement, have the same probability.
    return before < people or _share(f"more {question} {before}") >= 1 / people


def is_assisted_on_gold(question: int, person: int, people: int) -> bool:
    """Return whether the person draws gold with the model, with the probability of other
    questions.
    """
    return _share(f"gold {question} {person}") >= 1 / people
