"""Which gold goes into a page: balanced between answers, with topics like the page's.

Gold must look like the questions around it, so its topics follow those of the person's next
ordinary questions, and its order is unpredictable.
"""

import random
import secrets
from collections import Counter
from collections.abc import Sequence

from labeling.assignment import candidates
from labeling.assignment.candidates import CandidateQuestion, LaneReader, Scan

# The choice of gold must be unpredictable; tests use a seeded Random.
chance: random.Random = secrets.SystemRandom()


def slots(count: int, share: float) -> int:
    """Return how many of `count` seats are gold: binomial, so that the number reveals nothing."""
    return sum(chance.random() < share for _ in range(count))


def deal(
    person: LaneReader,
    scan: Scan,
    golden: Sequence[CandidateQuestion],
    ordinary: Sequence[CandidateQuestion],
    count: int,
) -> list[CandidateQuestion]:
    """Return at most `count` gold questions, each chosen for one slot.

    Fewer if none has a topic of the ordinary questions, since any other topic would reveal gold.

    golden: unseen gold of the window that `scan` read. ordinary: what the person could get next, on
    this page and after it.
    """
    if not count or not ordinary:
        return []
    # Gold that looks like none of its neighbours would be recognised.
    looks = Counter(candidate.look for candidate in ordinary)
    golden = [candidate for candidate in golden if candidate.look in looks]
    topics = Counter(candidate.topic for candidate in ordinary)
    pool = list(golden)
    if not (
        scan.exhausted or person.by_topic or any(candidate.topic in topics for candidate in pool)
    ):
        known = {candidate.id for candidate in pool}
        subjects = {candidate.subject for candidate in ordinary}
        pool += [
            candidate
            for candidate in candidates.gold_of_topics(person, scan, topics)
            if candidate.id not in known
            and candidate.subject not in subjects
            and candidate.look in looks
        ]
    dealt = scan.dealt.copy()
    chosen = []
    for _ in range(count):
        gold = _next(pool, looks, topics, dealt)
        if gold is not None:
            pool = [candidate for candidate in pool if candidate.subject != gold.subject]
            dealt[str(gold.answer)] += 1
            chosen.append(gold)
    return chosen


def _next(
    pool: Sequence[CandidateQuestion],
    looks: Counter[str],
    topics: Counter[str],
    dealt: Counter[str],
) -> CandidateQuestion | None:
    """Return gold for one slot.

    Choose a look as often as ordinary questions have it, then the answer that this person was dealt
    least, then a topic as often as ordinary questions have it, then any.
    """
    if len(looks) > 1:
        [look] = chance.choices(list(looks), list(looks.values()))
        pool = [candidate for candidate in pool if candidate.look == look]
    if chance.random() >= _chance_of_new(topics):
        pool = [candidate for candidate in pool if candidate.topic in topics]
    if not pool:
        return None
    fewest = min(dealt[str(candidate.answer)] for candidate in pool)
    answer = chance.choice(
        sorted(
            {str(candidate.answer) for candidate in pool if dealt[str(candidate.answer)] == fewest}
        )
    )
    pool = [candidate for candidate in pool if str(candidate.answer) == answer]
    # A topic missing among the ordinary questions has the weight of one that occurs once.
    keys = sorted({candidate.topic for candidate in pool})
    [topic] = chance.choices(keys, [topics[key] or 1 for key in keys])
    return chance.choice([candidate for candidate in pool if candidate.topic == topic])


def _chance_of_new(topics: Counter[str]) -> float:
    """Return the probability that the next ordinary question is about something new: the
    Good–Turing estimate, the share of those that came once.

    >>> [_chance_of_new(Counter(text)) for text in ("aaab", "abcd", "aabb")]
    [0.25, 1.0, 0.0]
    """
    return sum(count == 1 for count in topics.values()) / topics.total()
