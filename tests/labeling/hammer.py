"""A crowd that labels one campaign from many threads and processes at once, and the checks after.

Run as a script by test_concurrency.py: `python -m tests.labeling.hammer WORKER SEED SECONDS`, with
DATABASE_URL naming a throwaway database. Workers misbehave on purpose: they send twice, drop pages,
change their minds, let leases run out and die in the middle of a transaction.
"""

import os
import random
import sys
import time
import uuid
from collections import Counter

VOTES = 3
CAMPAIGN = "hammered"


def build(questions: int, people: int, kind: str = "contains") -> None:
    """An open campaign with a little gold, and people who label it; of the kind hierarchy, with
    four questions about an image."""
    from labeling.campaigns import lifecycle
    from labeling.follow_ups import asking, following
    from labeling.graphs import store
    from labeling.models import Dataset, Image, User
    from labeling.quality.gold import add_gold
    from tests import factories
    from tests.labeling import hierarchies

    alice = factories.make_user("alice", is_researcher=True)
    dataset = Dataset.objects.create(owner=alice, name="pond")
    names = [f"{index:05}.png" for index in range(questions + 10)]
    Image.objects.bulk_create(
        [
            Image(
                dataset=dataset,
                name=name,
                sha256=f"{index:064}",
                file="x.png",
                media_type="image/png",
                bytes=1,
                width=1,
                height=1,
            )
            for index, name in enumerate(names)
        ]
    )
    campaign = factories.make_campaign(
        alice,
        dataset,
        CAMPAIGN,
        policy={"votes": VOTES, "max_votes": 9, "gold_share": 0.1, "page_size": 8},
        kind=kind,
        launch=False,
    )
    topics = ["n02018207"]
    if kind == "contains":
        asking.add_questions(campaign, [(name, topics[0]) for name in names[:questions]])
    else:
        topics = hierarchies.ROOTS
        store.define(campaign, alice, hierarchies.GRAPH)
        following.open_images(campaign, names[: questions // len(topics)])
    rows = [
        {"image": name, "topic": topics[index % len(topics)], "answer": "yes"}
        for index, name in enumerate(names[questions:])
    ]
    add_gold(campaign, alice, rows)
    lifecycle.launch(campaign, alice)
    for index in range(people):
        factories.join(User.objects.create(username=f"person{index}"), campaign)


class Died(Exception):
    """Stands for a worker killed in the middle of a transaction."""


def label(person: int, seed: int, seconds: float) -> dict[str, int]:
    """What one person did until nothing was left or time was up; raises on any broken promise."""
    from django.db import transaction

    from labeling.answers import submitting
    from labeling.assignment import claiming
    from labeling.models import Campaign, Seat, User

    chance = random.Random(seed)
    user = User.objects.get(username=f"person{person}")
    campaign = Campaign.objects.get(name=CAMPAIGN)
    count: Counter[str] = Counter()
    end = time.monotonic() + seconds
    idle = 0
    while time.monotonic() < end and idle < 15:
        page = claiming.next_page(user, campaign)
        assert campaign.kind == "contains" or len({seat.topic for seat in page.seats}) <= 1
        count["pages"] += 1
        if not page.seats:
            idle += 1
            time.sleep(0.02)
            continue
        idle = 0
        mood = chance.random()
        if mood < 0.1:
            # Gone for lunch: the leases run out, and somebody's sweep returns the seats.
            Seat.objects.filter(token__in=[seat.token for seat in page.seats]).update(
                leased_until="2020-01-01T00:00:00Z"
            )
            claiming.return_expired()
            count["expired"] += 1
            if mood < 0.05:
                continue
        elif mood < 0.2:
            claiming.return_seat(user, page.seats[0].token)
            count["skipped"] += 1
        sent = [
            submitting.SubmittedAnswer(
                uuid.uuid4(), seat.token, _value(seat.question_id, chance), 900
            )
            for seat in page.seats
        ]
        if chance.random() < 0.1:
            try:
                with transaction.atomic():
                    submitting.submit(user, campaign, sent)
                    raise Died
            except Died:
                count["died"] += 1
        for _ in range(2 if chance.random() < 0.3 else 1):
            results = submitting.submit(user, campaign, sent)
            for result in results:
                count[result.status if result.status == "accepted" else result.code] += 1
        if chance.random() < 0.2:
            again = [
                submitting.SubmittedAnswer(uuid.uuid4(), answer.seat, "no", 5)
                for answer in sent[:2]
            ]
            submitting.submit(user, campaign, again)
            count["revised"] += 1
    return dict(count)


def _value(question_id: int, chance: random.Random) -> str:
    if question_id % 10 == 0:
        return "hard"
    return chance.choice(["yes", "no", "yes", "hard"])


def check(people: int) -> dict[str, int]:
    """Counts of the finished campaign. Raises AssertionError where a promise was broken."""
    from labeling.consensus import settling
    from labeling.db import question_counts
    from labeling.models import Answer, Campaign, Question, Seat, Settlement

    campaign = Campaign.objects.get(name=CAMPAIGN)
    leased = Seat.objects.filter(state="leased").count()
    assert leased == 0, f"{leased} seats still under lease"
    states: Counter[str] = Counter()
    for question in Question.objects.exclude(state="gold").order_by("pk"):
        states[question.state] += 1
        answered = Seat.objects.filter(question=question, state="answered")
        seats = answered.count()
        assert seats == answered.values("annotator").distinct().count()
        if question.state == "open":
            # Open only if it waits for somebody who has not answered yet, and none is left.
            assert question.seats_free > 0
            assert seats == people, f"question {question.pk} starved: {seats} of {people}"
            continue
        assert question.seats_free == 0
        settlements = list(Settlement.objects.filter(question=question))
        assert len(settlements) == 1
        late = Answer.objects.filter(assignment__question=question, revision=0, late=True)
        assert len(settlements[0].answers) == seats - late.count()
        votes = Answer.objects.filter(pk__in=settlements[0].answers)
        _check_needed(question, [vote.value for vote in votes])
    assert list(settling.rebuild(campaign)) == []
    assert question_counts.differences(campaign.pk) == {}
    gold = Seat.objects.filter(question__state="gold", state="answered")
    assert gold.exists()
    for membership in campaign.memberships.all():
        mine = Seat.objects.filter(annotator=membership.user, state="answered")
        assert membership.answered == mine.count()
        ordinals = sorted(mine.values_list("ordinal", flat=True))
        assert ordinals == list(range(1, len(ordinals) + 1))
    return dict(states)


def _check_needed(question, values: list[str]) -> None:
    """Not one vote more than wanted: below VOTES there is no verdict, beyond it only after ties."""
    assert len(values) >= VOTES
    able = [value for value in values if value != "hard"]
    yes, no = able.count("yes"), able.count("no")
    if question.state == "settled":
        assert yes != no
    elif question.state == "dropped":
        assert (len(values) - len(able)) * 5 > len(values) * 3
    else:
        assert len(values) == 9


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()
    person, seed, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    print(label(person, seed, seconds))


if __name__ == "__main__":
    main()
