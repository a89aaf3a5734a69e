"""A campaign of boxes, and five people who label in it as they are told."""

import uuid
from collections.abc import Callable
from typing import Any

from labeling.answers import submitting
from labeling.answers.sent import Sent
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.follow_ups import asking, following
from labeling.models import Assignment, Campaign, Dataset, Question, User
from tests import factories

DOG, CAT = "n02084071", "n02121620"
A, B = [2.0, 2.0, 22.0, 22.0], [30.0, 10.0, 50.0, 40.0]


def make(
    owner: User,
    dataset: Dataset,
    *,
    images: int = 1,
    topics: tuple[str, ...] = (DOG,),
    policy: dict[str, Any] | None = None,
    **more: Any,
) -> Campaign:
    """A campaign of boxes that is open, asking about so many images of 64 × 48 pixels."""
    rules = {"second_looks": 0, "gold_share": 0} | (policy or {})
    campaign = lifecycle.create(
        owner, name="boxes", title="Boxes", kind="boxes", dataset=dataset, policy=rules
    )
    lifecycle.define_topics(campaign, [{"key": key, "name": key} for key in topics])
    names = [factories.make_image(dataset, f"{number}.png").name for number in range(images)]
    pairs = [(name, topic) for name in names for topic in topics]
    if pairs:
        asking.add_questions(campaign, pairs, **more)
        lifecycle.launch(campaign, owner)
    return campaign


def people(campaign: Campaign, count: int = 5) -> list[User]:
    found = [factories.make_user(f"boxer-{number}") for number in range(count)]
    for person in found:
        factories.join(person, campaign)
    return found


def box(sides: list[float], *flags: str) -> dict[str, object]:
    return {"box": sides, "how": "drag", "flags": list(flags)}


def answer(person: User, seat: claiming.Seat, value: object) -> submitting.Result:
    question = Question.objects.get(pk=seat.question_id)
    sent = [Sent(uuid.uuid4(), seat.token, value, 1_000)]
    return submitting.submit(person, question.campaign, sent)[0]


def work(
    campaign: Campaign, crowd: list[User], says: Callable[[Question, User], object]
) -> list[tuple[str, str]]:
    """Everybody answers what they are given, in turn, until nobody is given anything: (step, user)
    in the order of the answers. says: the answer to a question."""
    done = []
    idle = 0
    while idle < len(crowd):
        for person in crowd:
            page = claiming.next_page(person, campaign, 1)
            if not page.seats:
                idle += 1
                continue
            idle = 0
            for seat in page.seats:
                question = Question.objects.get(pk=seat.question_id)
                result = answer(person, seat, says(question, person))
                assert result.status == "accepted", result.message
                done.append((question.step, person.username))
            following.advance(campaign)
    return done


def settle(campaign: Campaign, crowd: list[User], *values: object) -> None:
    """The one open question is answered so, by whoever may, as often as it needs; one value a
    question."""
    for value in values:
        [question] = campaign.questions.filter(state="open")
        for person in crowd:
            question.refresh_from_db()
            if not question.seats_free:
                break
            page = claiming.next_page(person, campaign, 1)
            for seat in page.seats:
                result = answer(person, seat, value)
                assert result.status == "accepted", result.message
        following.advance(campaign)


def steps(campaign: Campaign) -> list[tuple[str, str]]:
    return list(campaign.questions.order_by("pk").values_list("step", "state"))


def seats_of(person: User) -> list[str]:
    return list(Assignment.objects.filter(annotator=person).values_list("state", flat=True))
