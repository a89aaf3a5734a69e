"""A campaign of boxes, and five people who label in it as they are told."""

import contextlib
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from labeling.answers import submitting
from labeling.answers.submitted_answers import SubmittedAnswer
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.errors import InTraining
from labeling.exchange import box_campaigns
from labeling.follow_ups import asking, following, opening
from labeling.models import Campaign, Dataset, Question, Seat, Settlement, User
from labeling.quality import qualifying
from labeling.question_graph import replaying
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


def people(campaign: Campaign, count: int = 5, name: str = "boxer") -> list[User]:
    users = [factories.make_user(f"{name}-{number}") for number in range(count)]
    for person in users:
        factories.join(person, campaign)
    return users


def box(sides: list[float], *flags: str) -> dict[str, object]:
    return {"box": sides, "how": "drag", "flags": list(flags)}


def answer(person: User, seat: claiming.SeatView, value: object) -> submitting.Result:
    question = Question.objects.get(pk=seat.question_id)
    sent = [SubmittedAnswer(uuid.uuid4(), seat.token, value, 1_000)]
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
    return list(Seat.objects.filter(annotator=person).values_list("state", flat=True))


def proposals(campaign: Campaign, rows: dict[tuple[str, str], list[list[float]]]) -> Any:
    """Asks about these pairs with these proposed boxes."""
    proposed = box_campaigns.ProposedBoxes(
        {pair: [tuple(box) for box in boxes] for pair, boxes in rows.items()}
    )
    opening.define_asked(campaign, list(rows))
    return box_campaigns.ask(campaign, list(rows), proposed)


def claim(person: User, campaign: Campaign, size: int = 1) -> list[claiming.SeatView]:
    return claiming.next_page(person, campaign, size).seats


def labeled(
    owner: User, dataset: Dataset, kind: str, labels: dict[tuple[str, str], str]
) -> Campaign:
    """A campaign of another kind in which these labels of (image, class) were settled."""
    if kind == "contains":
        made = lifecycle.create(owner, name="labels", title="Labels", kind=kind, dataset=dataset)
        opening.ask(made, list(labels))
    else:
        nodes = [{"id": key, "wnid": key, "question": f"Is there a {key}?"} for key in (DOG, CAT)]
        made, _ = opening.draft_graph(
            owner,
            replaying.build({"nodes": nodes}),
            names=sorted({image for image, _ in labels}),
            name="labels",
            title="Labels",
            dataset=dataset,
        )
    for (image, topic), value in labels.items():
        question = made.questions.get(item__image__name=image, topic=topic)
        Settlement.objects.create(question=question, policy=question.policy, value=value)
        factories.put(made, [question.pk], state="settled", seats_free=0)
    return made


def train(person: User, campaign: Campaign) -> list[claiming.SeatView]:
    """The next question of somebody in training."""
    with contextlib.suppress(InTraining):
        qualifying.next_page(person, campaign, 1)
    return qualifying.next_gold(person, campaign, 1).seats


def right(question: Question) -> object:
    """The known answer of a gold question, as somebody would give it."""
    known = question.gold.answer
    if question.step == "draw" and known != "none":
        return box(known["boxes"][0])
    if question.step == "cover" and known != "complete":
        return {"missing": [[(x0 + x1) / 2, (y0 + y1) / 2] for x0, y0, x1, y1 in known["missing"]]}
    return "loose" if known == "bad" else known


def seat_all_gold(person: User, campaign: Campaign) -> list[Seat]:
    """Seats of this person on a gold question of each pair, of every step in turn, as if they had
    been dealt them."""
    pairs: dict[int, list[Question]] = {}
    for question in campaign.questions.filter(state="gold").order_by("pk"):
        pairs.setdefault(question.subject or question.pk, []).append(question)
    subjects = {pk: rows[index % len(rows)] for index, (pk, rows) in enumerate(pairs.items())}
    return [
        Seat.objects.create(
            question=question,
            annotator=person,
            subject=subject,
            leased_until=timezone.now() + timedelta(hours=1),
        )
        for subject, question in subjects.items()
    ]


def answer_seat(person: User, seat: Seat, value: object) -> None:
    sent = [SubmittedAnswer(uuid.uuid4(), seat.token, value, 1_000)]
    [result] = submitting.submit(person, seat.question.campaign, sent)
    assert result.status == "accepted", result.message
