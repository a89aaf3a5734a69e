"""A campaign of candidates for tests, its glossary, and its questions settled at a stroke."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from labeling.campaigns import lifecycle
from labeling.db import question_counts
from labeling.follow_ups import candidate_lists
from labeling.follow_ups.candidate_lists import CandidateRow
from labeling.models import Answer, Campaign, Dataset, Question, Seat, Settlement, User
from tests import factories

CAT, DOG = "n01", "n02"
WORDS = {
    CAT: ("Burmese cat", "a breed of cat"),
    DOG: ("whippet", "a slender dog of greyhound type"),
}


def glossary(keys: Sequence[str], *, siblings: bool = False) -> list[dict[str, Any]]:
    """What a site's glossary says of the two classes here; name it in ASSAY_GLOSSARY."""
    rows = []
    for key in keys:
        if key in WORDS:
            name, definition = WORDS[key]
            row = {"key": key, "name": name, "definition": definition}
            row["url"] = f"https://en.wikipedia.org/wiki/{name.replace(' ', '_')}"
            if siblings:
                row["siblings"] = [{"name": "Siamese cat", "definition": "another breed"}]
            rows.append(row)
    return rows


def rows(
    dataset: Dataset, topic: str = CAT, count: int = 6, query: str = "burmese"
) -> list[CandidateRow]:
    """Candidates of that class, whose images are made where they are missing."""
    names = [f"{topic}/{index:02}.png" for index in range(count)]
    known = set(dataset.images.filter(name__in=names).values_list("name", flat=True))
    for name in names:
        if name not in known:
            factories.make_image(dataset, name)
    return [CandidateRow(name, topic, query, f"Line {line}") for line, name in enumerate(names, 1)]


def make(
    owner: User,
    dataset: Dataset,
    rows: Sequence[CandidateRow],
    *,
    name: str = "verify",
    settings: Mapping[str, object] | None = None,
    **policy: Any,
) -> Campaign:
    """An open campaign about these candidates, without gold unless told otherwise."""
    campaign = candidate_lists.draft(
        owner,
        rows,
        name=name,
        title="Verify",
        kind="candidates",
        dataset=dataset,
        settings=settings or {},
        policy={"gold_share": 0, "target_error": 0.003, "target_rule": "model", **policy},
    )
    return lifecycle.launch(campaign, owner) if rows else campaign


def settle(
    campaign: Campaign, user: User, questions: Sequence[Question], value: str, ms: int = 1_000
) -> None:
    """Settles these questions on one vote of the person, without asking anybody else."""
    now = timezone.now()
    for question in questions:
        seat = Seat.objects.create(
            question=question,
            annotator=user,
            subject=question.pk,
            state=Seat.State.ANSWERED,
            leased_until=now,
            ordinal=1,
        )
        answer = Answer.objects.create(
            id=uuid.uuid4(), assignment=seat, value=value, duration_ms=ms
        )
        Settlement.objects.create(
            question=question,
            policy=campaign.policy,
            value=value,
            probability=0.999,
            answers=[str(answer.pk)],
        )
    pks = [question.pk for question in questions]
    Question.objects.filter(pk__in=pks).update(state=Question.State.SETTLED, seats_free=0)
    question_counts.reconcile(campaign.pk)
