"""The list of gold questions."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labeling.kinds import KINDS, policies
from labeling.models import Answer, Campaign, Gold, Image, Question
from labeling.reports.question_page import AnswerValue, topic_names, value_words


@dataclass(frozen=True)
class GoldRow(AnswerValue):
    """A gold question: its answer, how many people answered it and how many of them failed."""

    question: Question
    image: Image
    gold: Gold
    topic: str
    answered: int
    failed: int


def gold_rows(campaign: Campaign, questions: Sequence[Question]) -> list[GoldRow]:
    kind, policy = KINDS[campaign.kind], policies.for_campaign(campaign)
    words = value_words(campaign)
    latest: dict[tuple[int, int], Any] = {}
    rows = Answer.objects.filter(
        assignment__question__in=[question.pk for question in questions]
    ).order_by("revision")
    for question_id, seat, value in rows.values_list("assignment__question", "assignment", "value"):
        latest[question_id, seat] = value
    answers_by_question: dict[int, list[Any]] = defaultdict(list)
    for (question_id, _), value in latest.items():
        answers_by_question[question_id].append(value)
    names = topic_names(campaign, {question.topic for question in questions})
    gold_question_rows = []
    for question in questions:
        answers = answers_by_question[question.pk]
        right = sum(kind.is_right(value, question.gold.answer, policy) for value in answers)
        name = kind.tally_name(question.gold.answer)
        gold_question_rows.append(
            GoldRow(
                value=name,
                words=words.get(name, name),
                question=question,
                image=question.item.image,
                gold=question.gold,
                topic=names.get(question.topic, question.topic),
                answered=len(answers),
                failed=len(answers) - right,
            )
        )
    return gold_question_rows
