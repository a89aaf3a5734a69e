"""A pilot: a random sample of every topic gets many votes, from which vote tables are learned.

The ImageNet way: at least ten votes on each of a random sample of a class's images (Russakovsky et
al. 2015, section 3.1.3). calibrating.py learns the tables, and judging.py goes by them.
"""

import random
from collections.abc import Sequence

from django.db import transaction

from labeling import consensus, policies
from labeling.errors import Conflict, Refusal
from labeling.models import Campaign, Decision, Policy, Question, User
from labeling.seats import lock_questions
from labeling.vote_tables import CALIBRATION_VOTES

State = Question.State
MOST = 10_000
CHUNK = 1_000


def ask_pilot(campaign: Campaign, actor: User, per_topic: int, seed: int) -> int:
    """How many questions of each topic's random sample now want ten votes, settled by majority.

    The sample is of all that is asked about the topic, settled or not, and equal seeds draw equal
    samples from equal questions; settled ones come back for the votes they lack. Left out are
    images that were dropped and what a reviewer decided. Asking again with the same seed adds
    nothing. The pilot has a version of the policy to itself, which never comes in force.
    """
    if not 1 <= per_topic <= MOST:
        raise Refusal(
            f"A pilot asks 1 to {MOST} questions of each topic; {per_topic} came.",
            field="per_topic",
        )
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict("The campaign is closed: nobody could answer the pilot.")
    chosen = _sample(campaign, per_topic, seed)
    with transaction.atomic():
        policy = _policy(campaign)
        locked = [row for ids in _chunks(chosen) for row in lock_questions(ids)]
        moved = [q for q in locked if q.policy_id != policy.pk and _may(q.state)]
        found = consensus.Replayed()
        for start in range(0, len(moved), CHUNK):
            part = moved[start : start + CHUNK]
            Question.objects.filter(pk__in=[q.id for q in part]).update(policy=policy)
            found.add(consensus.replay_locked([q._replace(policy_id=policy.pk) for q in part]))
        # The campaign's row after all questions, as everywhere (seats.py).
        found.give()
        if moved:
            Decision.objects.create(
                campaign=campaign,
                kind=Decision.Kind.POLICY,
                actor=actor,
                content={"pilot": len(moved), "version": policy.version, "seed": seed},
            )
    return len(moved)


def _may(state: str) -> bool:
    return state in (State.OPEN, State.SETTLED, State.REVIEW)


def _sample(campaign: Campaign, per_topic: int, seed: int) -> list[int]:
    """Ids, sorted. Topics draw one after the other from one generator."""
    rows = (
        Question.objects.filter(campaign=campaign, state__in=[s for s in State.values if _may(s)])
        .exclude(settlements__reviewed=True)
        .order_by("topic", "pk")
        .values_list("topic", "pk")
    )
    by_topic: dict[str, list[int]] = {}
    for topic, pk in rows.iterator():
        by_topic.setdefault(topic, []).append(pk)
    chance = random.Random(seed)
    return sorted(
        pk
        for _, pks in sorted(by_topic.items())
        for pk in chance.sample(sorted(pks), min(per_topic, len(pks)))
    )


def _policy(campaign: Campaign) -> Policy:
    """The pilot's version of the policy in force: made once for each."""
    current = policies.of(Campaign.objects.select_related("policy").get(pk=campaign.pk))
    most = max(current["max_votes"], CALIBRATION_VOTES + 5)
    content = current | {"method": "majority", "votes": CALIBRATION_VOTES, "max_votes": most}
    same = campaign.policies.filter(content=content).order_by("version").first()
    if same is not None:
        return same
    last = campaign.policies.latest("version").version
    return Policy.objects.create(campaign=campaign, version=last + 1, content=content)


def _chunks(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
