import random
from importlib import import_module

import pytest
from django.apps import apps

from labeling.assignment import candidates, claiming, gold_mixing
from labeling.campaigns import lifecycle
from labeling.errors import InTraining, Newcomer, NotWorking
from labeling.follow_ups import asking
from labeling.kinds import KINDS
from labeling.models import Gold, Graph, Membership, Question, Seat
from labeling.quality import qualifying
from tests import factories
from tests.labeling.crowd import answer, give, query_count

TOPICS = ("animal", "cat", "dog")


@pytest.fixture(autouse=True)
def _seeded(monkeypatch):
    monkeypatch.setattr(gold_mixing, "chance", random.Random(11))


@pytest.fixture
def by_topic(monkeypatch):
    """A kind that asks about one topic a page."""
    monkeypatch.setattr(KINDS["contains"], "topic_pages", True, raising=False)


@pytest.fixture
def zoo(by_topic, alice, bob, dataset):
    """Ten images, of each asked in turn whether it shows an animal, a cat and a dog; pages of 4."""
    return make_zoo(alice, bob, dataset)


def make_zoo(alice, bob, dataset, images=10, name="zoo", **policy):
    campaign = factories.make_campaign(
        alice,
        dataset,
        name,
        policy={"votes": 2, "page_size": 4, "gold_share": 0} | policy,
        launch=False,
    )
    lifecycle.define_topics(campaign, [{"key": key, "name": key} for key in TOPICS])
    names = [f"{name}/{index:03}.png" for index in range(images)]
    for image in names:
        factories.make_image(dataset, image)
    asking.add_questions(campaign, [(image, topic) for image in names for topic in TOPICS])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


def make_gold(campaign, dataset, topic, count, value="yes", tag=""):
    policy = campaign.policy
    for index in range(count):
        image = factories.make_image(dataset, f"gold/{tag}{topic}/{value}{index}.png")
        [item] = asking.whole_items(campaign, [image.name])[0].values()
        question = Question.objects.create(
            campaign=campaign,
            item_id=item,
            topic=topic,
            lane=2,
            ticket=asking.take_tickets(campaign, 1),
            seats_free=1,
            state="gold",
            policy=policy,
            by_topic=True,
        )
        Gold.objects.create(question=question, answer=value)


def topics_of(page):
    return {seat.topic for seat in page.seats}


def tickets_of(page):
    pks = [seat.question_id for seat in page.seats]
    return sorted(Question.objects.filter(pk__in=pks).values_list("ticket", flat=True))


def test_a_page_is_about_what_comes_first_in_the_queue(zoo, bob):
    page = claiming.next_page(bob, zoo)

    assert page.topic == "animal"
    assert tickets_of(page) == [1, 4, 7, 10]


def test_a_page_stays_with_the_topic_of_the_seats_still_open(zoo, bob):
    page = claiming.next_page(bob, zoo)
    answer(bob, zoo, page.seats[:3])

    again = claiming.next_page(bob, zoo)

    assert topics_of(again) == {"animal"}
    assert len(again.seats) == 4
    assert page.seats[3] in again.seats


def test_a_page_is_short_rather_than_mixed_and_the_next_goes_on(zoo, bob):
    sizes = []
    while (page := claiming.next_page(bob, zoo)).seats:
        assert len(topics_of(page)) == 1
        sizes.append((page.topic, len(page.seats)))
        answer(bob, zoo, page.seats)

    # Animals, cats and dogs come in turn, since the queue has them in turn.
    assert sum(size for _, size in sizes) == 30
    assert sorted(size for topic, size in sizes if topic == "cat") == [2, 4, 4]
    assert Seat.objects.filter(annotator=bob, state="answered").count() == 30


def test_a_cursor_never_passes_a_question_that_was_off_topic(zoo, bob):
    page = claiming.next_page(bob, zoo)

    # The first cat has the second ticket.
    assert Membership.objects.get(user=bob, campaign=zoo).cursor_fresh == 1
    answer(bob, zoo, page.seats)
    page = claiming.next_page(bob, zoo)
    assert page.topic == "cat"
    answer(bob, zoo, page.seats)
    page = claiming.next_page(bob, zoo)
    assert page.topic == "dog"
    # Four of each: the next that nobody was asked is the fifth animal.
    assert Membership.objects.get(user=bob, campaign=zoo).cursor_fresh == 12


def test_returned_questions_come_first_and_fresh_ones_of_the_topic_fill_the_page(zoo, bob):
    dogs = zoo.questions.filter(topic="dog").order_by("-ticket")[:2]
    Question.objects.filter(pk__in=[dog.pk for dog in dogs]).update(lane=0)

    page = claiming.next_page(bob, zoo)

    assert page.topic == "dog"
    pks = [seat.question_id for seat in page.seats]
    lanes_met = Question.objects.filter(pk__in=pks).values_list("lane", flat=True)
    assert sorted(lanes_met) == [0, 0, 1, 1]


def test_every_fourth_page_is_about_the_first_fresh_question(zoo, bob):
    Question.objects.filter(campaign=zoo, topic="dog").update(lane=0)

    met = []
    for _ in range(4):
        page = claiming.next_page(bob, zoo, 1)
        met.append(page.topic)
        answer(bob, zoo, page.seats)

    assert met == ["dog", "dog", "dog", "animal"]


def test_a_topic_that_others_hold_gives_way_to_the_next(zoo, bob, charlie):
    Question.objects.filter(campaign=zoo, topic="animal").update(seats_free=0)

    assert claiming.next_page(bob, zoo).topic == "cat"


def test_a_page_that_others_emptied_is_tried_again(zoo, bob, monkeypatch):
    take, tries = claiming._take_free_seats, []

    def robbed(person, ordinary, count, skip):
        # Somebody takes the whole topic between the reading and the claim, five times over.
        tries.extend({candidate.topic for candidate in ordinary})
        if len(tries) <= 5:
            return set()
        return take(person, ordinary, count, skip)

    monkeypatch.setattr(claiming, "_take_free_seats", robbed)

    assert len(claiming.next_page(bob, zoo).seats) == 4


def test_a_topic_that_others_take_while_it_is_read_gives_way_to_the_next(zoo, bob, monkeypatch):
    of_topic, reads = candidates._candidates_of_topic, []

    def taken_meanwhile(person, size, topic, heads):
        if not reads:
            zoo.questions.filter(topic=topic).update(seats_free=0)
        reads.append(topic)
        return of_topic(person, size, topic, heads)

    monkeypatch.setattr(candidates, "_candidates_of_topic", taken_meanwhile)

    page = claiming.next_page(bob, zoo)

    assert len(page.seats) == 4
    assert page.topic not in (None, reads[0])


def test_a_page_of_one_topic_reads_past_a_window_of_seen_questions(zoo, bob):
    # A page of two reads six questions of its topic at first, all but one of them seen here.
    give(bob, zoo.questions.filter(topic="animal").order_by("ticket")[1:7], ["yes"] * 6)

    page = claiming.next_page(bob, zoo, 2)

    assert topics_of(page) == {"animal"}
    assert tickets_of(page) == [1, 22]


def test_gold_of_a_page_is_about_its_topic(by_topic, alice, bob, dataset):
    zoo = make_zoo(alice, bob, dataset, gold_share=0.5, page_size=8)
    for topic in ("animal", "cat"):
        make_gold(zoo, dataset, topic, 10)

    met = {"animal": 0, "cat": 0, "dog": 0}
    while (page := claiming.next_page(bob, zoo)).seats:
        assert len(topics_of(page)) == 1
        pks = [seat.question_id for seat in page.seats]
        met[page.topic] += Question.objects.filter(pk__in=pks, state="gold").count()
        answer(bob, zoo, page.seats)

    assert met["dog"] == 0
    assert met["animal"] > 3
    assert met["cat"] > 3
    ordinary = Seat.objects.filter(annotator=bob, question__state="open")
    assert ordinary.count() == 30


def test_a_topics_page_costs_one_query_more_whatever_its_size(zoo, bob, charlie, monkeypatch):
    factories.join(charlie, zoo)
    claiming.next_page(bob, zoo, 1)
    answer(bob, zoo, claiming.open_seats(bob, zoo))

    for person, size in ((bob, 2), (charlie, 8)):
        assert query_count(lambda p=person, n=size: claiming.next_page(p, zoo, n)) <= 11


def test_a_lapsed_page_comes_back_when_nothing_else_is_left_and_by_topic(zoo, bob):
    page = claiming.next_page(bob, zoo)
    first = {seat.question_id for seat in page.seats}
    Seat.objects.update(leased_until="2020-01-01T00:00:00Z")
    claiming.return_expired()

    met = []
    while (page := claiming.next_page(bob, zoo)).seats:
        assert len(topics_of(page)) == 1
        met += [seat.question_id for seat in page.seats]
        answer(bob, zoo, page.seats)

    assert len(met) == len(set(met)) == 30
    assert set(met[-4:]) == first


@pytest.mark.parametrize("stage", ["training", "test"])
def test_somebody_in_training_gets_no_page(zoo, bob, stage):
    Membership.objects.filter(user=bob).update(stage=stage)

    with pytest.raises(InTraining) as refused:
        claiming.next_page(bob, zoo)

    assert (refused.value.status, refused.value.code) == (409, "in_training")
    assert not Seat.objects.exists()


@pytest.mark.parametrize(
    ("stage", "code"), [("failed", "not_qualified"), ("paused", "paused"), ("blocked", "blocked")]
)
def test_somebody_whose_work_rests_is_told_so_without_any_item(zoo, bob, stage, code):
    Membership.objects.filter(user=bob).update(stage=stage)

    with pytest.raises(NotWorking) as refused:
        claiming.next_page(bob, zoo)

    assert (refused.value.status, refused.value.code) == (403, code)
    assert not Seat.objects.exists()


def test_a_persons_own_share_of_gold_goes_before_the_policys_unless_that_is_less(zoo, alice, bob):
    assert candidates.reader(bob, zoo).share == 0
    Membership.objects.filter(user=bob).update(gold_share=0.25)

    assert candidates.reader(bob, zoo).share == 0

    lifecycle.change_policy(zoo, alice, zoo.policy.content | {"gold_share": 0.4})

    assert candidates.reader(bob, zoo).share == 0.25


def test_a_newcomer_begins_with_training_where_there_is_one(by_topic, alice, bob, dataset):
    zoo = make_zoo(alice, bob, dataset, training_questions=3)
    make_gold(zoo, dataset, "cat", 5)

    # Whoever forgets to begin the training lets nobody past.
    with pytest.raises(Newcomer):
        claiming.next_page(bob, zoo)
    with pytest.raises(InTraining):
        qualifying.next_page(bob, zoo)

    assert Membership.objects.get(user=bob, campaign=zoo).stage == "training"
    assert qualifying.next_page(alice, zoo).seats


def test_questions_of_a_graph_from_before_are_by_topic_and_others_are_not(zoo, alice, dataset):
    graph = Graph.objects.create(campaign=zoo, version=1, sha256="0" * 64)
    zoo.questions.update(graph=graph, by_topic=False)
    other_campaign = factories.make_campaign(alice, dataset, "other", images=1)
    other_campaign.questions.update(by_topic=False)

    import_module("labeling.migrations.0017_questions_of_graphs_are_by_topic").mark(apps, None)

    assert not zoo.questions.filter(by_topic=False).exists()
    assert not other_campaign.questions.filter(by_topic=True).exists()
