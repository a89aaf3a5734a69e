"""Gold: questions whose answer is known, given to people unannounced."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from labeling import campaigns
from labeling.errors import Conflict, Refusal
from labeling.kinds import KINDS
from labeling.models import Campaign, Decision, Gold, Question, Settlement, User


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


def _record(campaign: Campaign, actor: User, content: dict[str, Any], reason: str = "") -> None:
    Decision.objects.create(
        campaign=campaign,
        kind=Decision.Kind.GOLD,
        actor=actor,
        content=content,
        reason=reason[:500],
    )
