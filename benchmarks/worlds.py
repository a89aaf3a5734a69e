"""Make test data in a throwaway database, written in bulk through the models.

Imported in a process with Django set up: by an action of own_process.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from labeling.answers.submitted_answers import uuid7
from labeling.campaigns import lifecycle
from labeling.db import question_counts
from labeling.models import (
    Answer,
    Campaign,
    Dataset,
    Image,
    Item,
    Membership,
    Question,
    Seat,
    Settlement,
    User,
)

CHUNK = 2_000
# Who voted on a question, for what, and whether it came late.
Votes = Iterable[tuple[int, str, bool]]


def begin() -> tuple[User, Dataset]:
    """Migrate the database; return a dataset and its owner, who owns all that follows."""
    call_command("migrate", verbosity=0)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous = OFF")
    owner = User.objects.create(username="alice", is_researcher=True, tutorials=["contains"])
    return owner, Dataset.objects.create(owner=owner, name="pond")


def add_images(
    dataset: Dataset, count: int, size: tuple[int, int] = (500, 375), first: int = 0
) -> list[str]:
    """Return the names of `count` new images, which have items but no files."""
    rows = (
        Image(
            dataset=dataset,
            name=f"{n:08}.jpg",
            sha256=f"{n:064x}",
            file=f"images/{n}.jpg",
            media_type="image/jpeg",
            bytes=1,
            width=size[0],
            height=size[1],
        )
        for n in range(first, first + count)
    )
    made = Image.objects.bulk_create(rows, batch_size=500)
    Item.objects.bulk_create((Item(image=image) for image in made), batch_size=CHUNK)
    return [image.name for image in made]


def add_people(count: int, *campaigns: Campaign) -> list[int]:
    """Return the ids of `count` new annotators of the campaigns."""
    rows = (User(username=f"person{n}", tutorials=["contains"]) for n in range(count))
    made = User.objects.bulk_create(rows, batch_size=CHUNK)
    members = [Membership(user=user, campaign=target) for target in campaigns for user in made]
    Membership.objects.bulk_create(members, batch_size=CHUNK)
    return [user.pk for user in made]


def campaign(owner: User, dataset: Dataset, name: str, kind: str, **policy: Any) -> Campaign:
    """Return a campaign that asks nothing yet."""
    return lifecycle.create(
        owner,
        name=name,
        title=name,
        kind=kind,
        dataset=dataset,
        policy={"gold_share": 0, **policy},
    )


def fill(
    target: Campaign,
    count: int,
    fields: Callable[[int], dict[str, Any]],
    votes: Callable[[int], Votes],
) -> None:
    """Add questions 1 to count with seats and answers; those not open get the settlement yes.

    fields(n): fields of the question with ticket n; "item": the place of its item, n if missing.
    """
    items = Item.objects.filter(image__dataset=target.dataset_id).order_by("pk")
    ids = list(items.values_list("pk", flat=True))
    for start in range(1, count + 1, CHUNK):
        numbers = range(start, min(start + CHUNK, count + 1))
        made = Question.objects.bulk_create(_question(target, ids, n, fields(n)) for n in numbers)
        _answer(made, [votes(n) for n in numbers])
    target.last_ticket = 2 * count
    target.save()
    Campaign.objects.filter(pk=target.pk).update(state="open")
    question_counts.reconcile(target.pk)


def _question(target: Campaign, items: list[int], n: int, fields: dict[str, Any]) -> Question:
    item = items[fields.pop("item", n) % len(items)]
    known = {"campaign": target, "policy_id": target.policy_id, "item_id": item, "ticket": n}
    return Question(**(known | fields))


def _answer(questions: list[Question], votes: list[Votes]) -> None:
    now = timezone.now()
    answers: dict[Question, list[Answer]] = {}
    for question, question_answers in zip(questions, votes, strict=True):
        answers[question] = [
            Answer(
                id=uuid7(),
                assignment=Seat(
                    question=question,
                    annotator_id=person,
                    subject=question.pk,
                    state="answered",
                    leased_until=now,
                    ordinal=question.ticket,
                ),
                value=value,
                duration_ms=900,
                late=late,
            )
            for person, value, late in question_answers
        ]
    every = [answer for question_answers in answers.values() for answer in question_answers]
    Seat.objects.bulk_create((answer.assignment for answer in every), batch_size=CHUNK)
    Answer.objects.bulk_create(every, batch_size=CHUNK)
    settle(
        (question, [str(answer.pk) for answer in question_answers if not answer.late])
        for question, question_answers in answers.items()
        if question.state in ("settled", "dropped", "review")
    )


def settle(settled: Iterable[tuple[Question, list[str]]], value: str = "yes") -> None:
    """Settle the questions by these answers."""
    rows: Iterator[Settlement] = (
        Settlement(
            question=question,
            policy_id=question.policy_id,
            value=value,
            probability=1.0,
            answers=sorted(answers),
        )
        for question, answers in settled
    )
    Settlement.objects.bulk_create(rows, batch_size=CHUNK)


def end() -> None:
    """Update the database's statistics, and measure as a site runs: each commit on disk."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    connection.close()
