"""Gold in the flow, and the standing it gives to annotators."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from labeling import campaigns
from labeling.errors import Conflict, Refusal
from labeling.kinds import KINDS
from labeling.models import (
    Answer,
    Assignment,
    Campaign,
    Decision,
    Gold,
    Question,
    Settlement,
    User,
)

# Two-sided 95 % quantile of the normal distribution.
Z95 = 1.959963984540054


def add_gold(campaign: Campaign, actor: User, rows: Sequence[dict[str, Any]]) -> int:
    """How many gold questions were added or changed.

    rows: {"image": name, "topic": key, "answer": value, "explanation": text, "source": text}, the
    last two where known. A question that people are asked already cannot become gold this way.
    Raises Refusal that names the row (1-based); then nothing is added.
    """
    kind = KINDS[campaign.kind]
    cleaned = []
    for number, row in enumerate(rows, 1):
        try:
            answer = kind.clean(row.get("answer"), campaign.settings)
        except Refusal as refusal:
            raise Refusal(f"Row {number}: {refusal.message}", field="answer") from refusal
        cleaned.append((str(row.get("image", "")), str(row.get("topic", "")), answer, row))
    with transaction.atomic():
        items = _gold_items(campaign, [image for image, *_ in cleaned])
        campaigns.check_topics(campaign, {topic for _, topic, *_ in cleaned})
        for number, (image, topic, answer, row) in enumerate(cleaned, 1):
            question = _gold_question(campaign, items[image], topic, number)
            Gold.objects.update_or_create(
                question=question,
                defaults={
                    "answer": answer,
                    "explanation": str(row.get("explanation", "")),
                    "source": str(row.get("source", "")),
                    "retired_at": None,
                },
            )
        _record(campaign, actor, {"added": len(cleaned)})
    return len(cleaned)


def _gold_items(campaign: Campaign, names: list[str]) -> dict[str, int]:
    items, missing = campaigns.whole_items(campaign, sorted(set(names)))
    if missing:
        raise Refusal(
            f"{len(missing)} images of the gold are not in the dataset, the first is "
            f"{missing[0]!r}. Add them to {campaign.dataset.name!r} first.",
            field="image",
        )
    return items


def _gold_question(campaign: Campaign, item_id: int, topic: str, number: int) -> Question:
    about = Question.objects.filter(campaign=campaign, item_id=item_id, topic=topic)
    question = about.filter(round=0).first()
    if question is None:
        # Retired before: nobody who met it then may be given it again.
        retired = about.order_by("pk").values_list("subject", "pk").first()
        return Question.objects.create(
            campaign=campaign,
            item_id=item_id,
            topic=topic,
            subject=(retired[0] or retired[1]) if retired else None,
            lane=Question.Lane.GOLD,
            ticket=campaigns.take_tickets(campaign, 1),
            seats_free=1,
            state=Question.State.GOLD,
            policy=campaign.policies.latest("version"),
        )
    if question.state != Question.State.GOLD:
        raise Conflict(
            f"Row {number}: this question is being asked already. Gold needs a question of its "
            "own; once this one is settled it can be promoted.",
            field="image",
        )
    return question


def retire_gold(campaign: Campaign, actor: User, question_id: int, reason: str = "") -> Gold:
    """The gold, no longer given to anybody. What it said of people until now stays in force."""
    with transaction.atomic():
        gold = (
            Gold.objects.select_for_update()
            .filter(question_id=question_id, question__campaign=campaign)
            .first()
        )
        if gold is None:
            raise Refusal("There is no such gold in this campaign.", field="question")
        if gold.retired_at is None:
            gold.retired_at = timezone.now()
            gold.save(update_fields=["retired_at"])
            _put_away(Question.objects.get(pk=question_id))
            _record(campaign, actor, {"retired": question_id}, reason)
    return gold


def _put_away(question: Question) -> None:
    """Moves retired gold to a round of its own, so that its image may be asked about after all."""
    rounds = Question.objects.filter(
        campaign_id=question.campaign_id, item_id=question.item_id, topic=question.topic
    )
    lowest = rounds.aggregate(Min("round"))["round__min"]
    # -1 is where promoted gold lives.
    Question.objects.filter(pk=question.pk).update(seats_free=0, round=min(lowest - 1, -2))


def gold_from_settled(campaign: Campaign, actor: User, question_ids: Iterable[int]) -> int:
    """How many settled questions now also serve as gold, as questions of their own.

    The settled question and its answers stay as they are: a gold copy is made in round -1, with
    the same subject, so that nobody who answered the original ever sees it again.
    """
    made = 0
    policy = campaign.policies.latest("version")
    with transaction.atomic():
        for question in Question.objects.filter(
            campaign=campaign, pk__in=list(question_ids), state=Question.State.SETTLED
        ).order_by("pk"):
            settlement = (
                Settlement.objects.filter(question=question).order_by("-pk").values("value").first()
            )
            copy, created = Question.objects.get_or_create(
                campaign=campaign,
                item_id=question.item_id,
                topic=question.topic,
                round=-1,
                defaults={
                    "subject": question.subject or question.pk,
                    "lane": Question.Lane.GOLD,
                    "ticket": campaigns.take_tickets(campaign, 1),
                    "seats_free": 1,
                    "state": Question.State.GOLD,
                    "policy": policy,
                },
            )
            if created and settlement:
                Gold.objects.create(
                    question=copy, answer=settlement["value"], source="settled by the campaign"
                )
                made += 1
        if made:
            _record(campaign, actor, {"promoted": made})
    return made


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """95 % interval of a proportion by Wilson's score; (0, 1) when nothing was seen.

    >>> [round(bound, 4) for bound in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    if not total:
        return 0.0, 1.0
    share = right / total
    scale = 1 + Z95**2 / total
    center = (share + Z95**2 / (2 * total)) / scale
    half = Z95 / scale * math.sqrt(share * (1 - share) / total + Z95**2 / (4 * total**2))
    return max(0.0, center - half), min(1.0, center + half)


def standings(campaign: Campaign, user: User | None = None) -> dict[int, dict[str, Any]]:
    """For every annotator who met gold (or one of them): right, total, accuracy and its interval.

    The latest revision of each gold answer counts. The key is the user's id.
    """
    # From the gold, which is little, to its answers; never through all that the campaign has.
    gold = Question.objects.filter(campaign=campaign, state=Question.State.GOLD).values("pk")
    rows = (
        Answer.objects.filter(
            assignment__question__in=gold, assignment__state=Assignment.State.ANSWERED
        )
        .order_by("assignment_id", "revision")
        .values_list(
            "assignment_id",
            "assignment__annotator_id",
            "value",
            "assignment__question__gold__answer",
        )
    )
    if user is not None:
        rows = rows.filter(assignment__annotator=user)
    latest = {seat: (annotator, value, gold) for seat, annotator, value, gold in rows}
    kind = KINDS[campaign.kind]
    tally: dict[int, list[float]] = {}
    for annotator, value, gold in latest.values():
        right_total = tally.setdefault(annotator, [0, 0])
        right_total[0] += kind.grade(value, gold)
        right_total[1] += 1
    return {
        annotator: _standing(int(right), int(total)) for annotator, (right, total) in tally.items()
    }


def standing(user: User, campaign: Campaign) -> dict[str, Any]:
    """One annotator's accuracy on gold with its 95 % interval; accuracy None before any gold."""
    return standings(campaign, user).get(user.pk) or NO_STANDING


def _standing(right: int, total: int) -> dict[str, Any]:
    return {
        "right": right,
        "total": total,
        "accuracy": right / total if total else None,
        "interval": list(wilson_interval(right, total)),
    }


NO_STANDING = _standing(0, 0)


def _record(campaign: Campaign, actor: User, content: dict[str, Any], reason: str = "") -> None:
    Decision.objects.create(
        campaign=campaign,
        kind=Decision.Kind.GOLD,
        actor=actor,
        content=content,
        reason=reason[:500],
    )
