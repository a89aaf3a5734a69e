"""People at work, for tests: whole campaigns answered, through pages or straight into the rows."""

import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from django.db import connection, connections
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.models import Answer, Campaign, Membership, Question, Seat, User
from labeling.quality.gold import add_gold
from tests import factories

COOT = "n02018207"


def send(
    user: User, campaign: Campaign, seats: Iterable[Any], value: Any = "yes", ms: int = 900
) -> list[submitting.Result]:
    """Sends one value for all of these seats, or what `value` gives for each."""
    value_of = value if callable(value) else lambda _: value
    sent = [
        submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value_of(seat), ms) for seat in seats
    ]
    return submitting.submit(user, campaign, sent)


def answer(*values: Any, **more: Any) -> list[submitting.Result]:
    """As send, and all of it is accepted."""
    results = send(*values, **more)
    assert {result.status for result in results} <= {"accepted"}
    return results


def vote(
    user: User, campaign: Campaign, value: Any = "yes", size: int | None = None, ms: int = 900
) -> list[submitting.Result]:
    """Answers the person's next page: one value for all, or by question id."""
    seats = claiming.next_page(user, campaign, size).seats[:size]
    by_question = isinstance(value, dict) and not value.keys().isdisjoint(
        seat.question_id for seat in seats
    )
    value_of = (lambda seat: value[seat.question_id]) if by_question else value
    return answer(user, campaign, seats, value_of, ms)


def answer_all(user: User, campaign: Campaign, value: Any) -> None:
    """Answers pages until none comes; gold included."""
    while vote(user, campaign, value):
        pass


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """What these return, in threads that begin together; of one that raises, its exception."""
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=20)
            return action()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def query_count(action: Callable[[], Any]) -> int:
    """How many queries the action makes."""
    with CaptureQueriesContext(connection) as queries:
        action()
    return len(queries)


def answer_pages(user: User, campaign: Campaign, value: Any, pages: int = 1) -> int:
    """The user answers so many pages with the value; how many questions."""
    return sum(len(vote(user, campaign, value, ms=2000)) for _ in range(pages))


def crowd(campaign: Campaign, values: Sequence[str], pages: int = 1) -> list[User]:
    """A person for each value who gives it to every question they get."""
    members = []
    for number, value in enumerate(values):
        person = factories.make_user(f"crowd{number}", pseudonym=f"annotator-{number}{value}")
        factories.join(person, campaign)
        answer_pages(person, campaign, value, pages)
        members.append(person)
    return members


def make_gold(
    campaign: Campaign,
    actor: User,
    answers: Sequence[Any],
    *,
    topic: str = COOT,
    name: str = "gold",
) -> list[Question]:
    """Gold with these answers, an image each, in their order."""
    names = [f"{name}/{topic}/{index:03}.png" for index in range(len(answers))]
    for image in names:
        factories.make_image(campaign.dataset, image)
    add_gold(
        campaign,
        actor,
        [
            {"image": image, "topic": topic, "answer": answer, "explanation": f"Look at {image}."}
            for image, answer in zip(names, answers, strict=True)
        ],
    )
    rows = campaign.questions.filter(state="gold", item__image__name__in=names)
    return sorted(rows.select_related("item__image"), key=lambda row: row.item.image.name)


def give(
    user: User,
    questions: Iterable[Question],
    values: Iterable[Any],
    *,
    ms: int | None = 2000,
    at: datetime | None = None,
) -> list[Seat]:
    """Answers straight into the rows, as the pages would have written them, but nothing settles."""
    pairs = list(zip(questions, values, strict=True))
    if not pairs:
        return []
    at = at or timezone.now()
    campaign_id = pairs[0][0].campaign_id
    member = Membership.objects.get(user=user, campaign_id=campaign_id)
    seats = Seat.objects.bulk_create(
        [
            Seat(
                question=question,
                annotator=user,
                subject=question.subject or question.pk,
                state="answered",
                leased_until=at,
                created_at=at,
                ordinal=member.answered + ticket,
            )
            for ticket, (question, _) in enumerate(pairs, 1)
        ]
    )
    Answer.objects.bulk_create(
        [
            Answer(id=uuid.uuid4(), assignment=seat, value=value, duration_ms=ms, created_at=at)
            for seat, (_, value) in zip(seats, pairs, strict=True)
        ]
    )
    Membership.objects.filter(pk=member.pk).update(answered=F("answered") + len(pairs))
    return seats


def people(campaign: Campaign, count: int, name: str = "person") -> list[User]:
    """So many annotators of the campaign."""
    users = [factories.make_user(f"{name}{index}") for index in range(count)]
    for user in users:
        factories.join(user, campaign)
    return users
