"""Which gold goes into a page: balanced between answers, about what the page is about.

Gold must look like what it lies among, so its topics follow those of the ordinary questions that
are this person's next, and nothing about its order can be foreseen.
"""

import random
import secrets
from collections import Counter
from collections.abc import Sequence

from labeling.assignment import candidates
from labeling.assignment.candidates import Candidate, Reader, Scan

# How gold is dealt must not be foreseen; tests put a seeded Random here.
chance: random.Random = secrets.SystemRandom()


def slots(count: int, share: float) -> int:
    """How many of `count` seats are gold: binomial, so that no page has a telling number."""
    return sum(chance.random() < share for _ in range(count))


def deal(
    person: Reader,
    scan: Scan,
    golden: Sequence[Candidate],
    ordinary: Sequence[Candidate],
    wanted: int,
) -> list[Candidate]:
    """At most `wanted` of the gold, each chosen for one slot. Fewer where none is about the topics
    of the ordinary questions, since gold about anything else would be seen to be gold.

    golden: unseen gold of the window that `scan` read. ordinary: what the person could be given
    next, this page and some of what follows.
    """
    if not wanted or not ordinary:
        return []
    # What looks like nothing that lies beside it would be seen to be gold.
    looks = Counter(one.look for one in ordinary)
    golden = [one for one in golden if one.look in looks]
    topics = Counter(one.topic for one in ordinary)
    pool = list(golden)
    if not (scan.exhausted or person.by_topic or any(one.topic in topics for one in pool)):
        known = {one.id for one in pool}
        about = {one.subject for one in ordinary}
        pool += [
            one
            for one in candidates.gold_about(person, scan, topics)
            if one.id not in known and one.subject not in about and one.look in looks
        ]
    dealt = scan.dealt.copy()
    chosen = []
    for _ in range(wanted):
        one = _next(pool, looks, topics, dealt)
        if one is not None:
            pool = [other for other in pool if other.subject != one.subject]
            dealt[str(one.answer)] += 1
            chosen.append(one)
    return chosen


def _next(
    pool: Sequence[Candidate], looks: Counter[str], topics: Counter[str], dealt: Counter[str]
) -> Candidate | None:
    """Gold for one slot: of a look as often as ordinary questions have it, of these the answer this
    person was dealt least, then a topic as often as ordinary questions have it, then any."""
    if len(looks) > 1:
        [look] = chance.choices(list(looks), list(looks.values()))
        pool = [one for one in pool if one.look == look]
    if chance.random() >= _newness(topics):
        pool = [one for one in pool if one.topic in topics]
    if not pool:
        return None
    fewest = min(dealt[str(one.answer)] for one in pool)
    answer = chance.choice(
        sorted({str(one.answer) for one in pool if dealt[str(one.answer)] == fewest})
    )
    pool = [one for one in pool if str(one.answer) == answer]
    # A topic that the ordinary ones do not have weighs as one that they have once.
    keys = sorted({one.topic for one in pool})
    [topic] = chance.choices(keys, [topics[key] or 1 for key in keys])
    return chance.choice([one for one in pool if one.topic == topic])


def _newness(topics: Counter[str]) -> float:
    """How likely the next ordinary question is about something not among these: Good and Turing's
    estimate, the share of those that came once.

    >>> _newness(Counter("aaab")), _newness(Counter("abcd")), _newness(Counter("aabb"))
    (0.25, 1.0, 0.0)
    """
    return sum(count == 1 for count in topics.values()) / topics.total()
