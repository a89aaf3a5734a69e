"""Images that show parts of one thing: nobody ever gets two of them."""

import random
from datetime import timedelta
from functools import partial

import pytest
from django.urls import reverse
from django.utils import timezone

from labeling.assignment import claiming as assigning
from labeling.assignment import gold_mixing
from labeling.campaigns import lifecycle, subjects
from labeling.datasets import objects
from labeling.errors import NotAllowed
from labeling.follow_ups import asking, opening
from labeling.models import Item, Question, Seat
from labeling.quality import auditing, gold, qualifying
from tests import factories
from tests.labeling import crowd, parted
from tests.labeling.crowd import send

CLASSES = [{"key": "n02121620", "name": "cat"}, {"key": "n01887787", "name": "cow"}]
CAT = {"key": "n02121620"}
POLICY = {"votes": 2, "max_votes": 2, "page_size": 10, "gold_share": 0}


@pytest.fixture(autouse=True)
def _seeded(monkeypatch):
    monkeypatch.setattr(gold_mixing, "chance", random.Random(7))


@pytest.fixture
def cats(dataset):
    """Two cats, each an item of its photograph."""
    parted.objects_in(dataset, 2)
    return list(objects.in_dataset(dataset))


def frames_of(dataset, cats, count=3):
    """The names of so many images that show parts of each of these things, one after the other."""
    names = []
    for thing in cats:
        for number in range(count):
            name = f"frames/{thing.pk}/{number}.png"
            image = factories.make_image(dataset, name)
            subjects.derive({image.pk: thing.pk})
            names.append(name)
    return names


def ask(owner, dataset, names, name="what", **fields):
    fields = {"policy": POLICY, "launch": True} | fields
    campaign = opening.draft(
        owner,
        name=name,
        title="What is it?",
        kind="naming",
        dataset=dataset,
        vocabulary=CLASSES,
        policy=fields["policy"],
        pairs=opening.naming_pairs(dataset, names),
    )
    if fields["launch"]:
        lifecycle.launch(campaign, owner)
    return campaign


def seated_subjects(user):
    """Of which things this person ever held a seat on how many images."""
    seats = Seat.objects.filter(annotator=user, question__item__derived_from__isnull=False)
    seats = seats.filter(question__item__region__isnull=True)
    return sorted(seats.values_list("question__item__derived_from", flat=True))


def say(user, campaign, seats, value=CAT):
    return [result.status for result in send(user, campaign, seats, value)]


def expire():
    expired = timezone.now() - timedelta(seconds=1)
    Seat.objects.filter(state="leased").update(leased_until=expired)
    assigning.return_expired()


@pytest.fixture
def frames(alice, bob, dataset, cats):
    campaign = ask(alice, dataset, frames_of(dataset, cats))
    factories.join(bob, campaign)
    return campaign


def test_questions_about_parts_of_a_thing_carry_its_subject(frames, cats, dataset):
    pairs = set(frames.questions.values_list("item__derived_from", "subject"))

    assert pairs == {(thing.pk, -thing.pk) for thing in cats}
    # An object is itself derived from its photograph, and a question about it is its own subject.
    assert subjects.of_items([thing.pk for thing in cats]) == {}


def test_saying_again_what_an_image_shows_changes_nothing(dataset, cats):
    image = factories.make_image(dataset, "frames/one.png")
    Item.objects.create(image=image)

    subjects.derive({image.pk: cats[0].pk})
    subjects.derive({image.pk: cats[1].pk})

    assert [item.derived_from for item in Item.objects.filter(image=image)] == [cats[0]]


def test_a_page_has_one_image_of_a_thing_and_no_other_follows(frames, bob, cats):
    page = assigning.next_page(bob, frames)

    assert len(page.seats) == len(cats) == page.left
    assert say(bob, frames, page.seats) == ["accepted"] * 2
    assert assigning.next_page(bob, frames).seats == []
    assert seated_subjects(bob) == [thing.pk for thing in cats]


def test_who_saw_all_objects_is_told_why_other_images_are_not_theirs(frames, bob, client):
    client.force_login(bob)
    say(bob, frames, assigning.next_page(bob, frames).seats)

    page = client.get(reverse("label", args=[frames.name])).content.decode()

    assert "Nothing left for you here" in page
    assert "or show something that you have already seen here" in page


def test_others_get_the_other_images_until_all_have_their_votes(frames, bob, cats):
    people = [bob, *crowd.people(frames, 5)]
    for person in people:
        say(person, frames, assigning.next_page(person, frames).seats)

    assert set(frames.questions.values_list("state", flat=True)) == {"settled"}
    assert all(seated_subjects(person) == [thing.pk for thing in cats] for person in people)


def test_what_was_skipped_comes_back_as_the_same_image_or_not_at_all(frames, bob):
    first = assigning.next_page(bob, frames, 1).seats[0]
    assigning.return_seat(bob, first.token)

    again = assigning.next_page(bob, frames, 10).seats

    images = {seat.image_name for seat in again}
    assert first.image_name in images or len(images) == 1
    assert len(seated_subjects(bob)) == len(set(seated_subjects(bob)))
    # The other thing was to be had, so what was skipped waits until the end.
    for seat in again:
        say(bob, frames, [seat])
    last = assigning.next_page(bob, frames, 10).seats
    assert {seat.image_name for seat in [*again, *last]} >= {first.image_name}


def test_a_lease_that_ran_out_gives_no_other_image_of_the_thing(frames, bob, cats):
    held = {seat.image_name for seat in assigning.next_page(bob, frames).seats}
    expire()
    # The images that bob held are full by the time he is back.
    Question.objects.filter(item__image__name__in=held).update(seats_free=0)

    assert assigning.next_page(bob, frames).seats == []
    assert seated_subjects(bob) == [thing.pk for thing in cats]


def test_a_question_closed_under_ones_hands_gives_no_other_image(frames, alice, bob, cats):
    held = assigning.next_page(bob, frames).seats
    asking.withdraw_questions(frames, [seat.question_id for seat in held], alice, "")

    assert set(Seat.objects.values_list("state", flat=True)) == {"closed"}
    assert assigning.next_page(bob, frames).seats == []


def test_a_second_campaign_on_the_same_things_gives_no_second_image(alice, bob, dataset, cats):
    names = frames_of(dataset, cats)
    first = ask(alice, dataset, names[::3], "first")
    second = ask(alice, dataset, [*names[1::3], *names[2::3]], "second")
    for campaign in (first, second):
        factories.join(bob, campaign)

    assert len(assigning.next_page(bob, first).seats) == 2
    assert assigning.next_page(bob, second).seats == []


def test_any_kind_of_campaign_keeps_to_it(alice, bob, dataset, cats):
    names = frames_of(dataset, cats)
    campaign = factories.make_campaign(alice, dataset, "contains", policy=POLICY, launch=False)
    asking.add_questions(campaign, [(name, "n02018207") for name in names])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)

    assert len(assigning.next_page(bob, campaign).seats) == 2


def test_gold_is_no_second_image_of_a_thing(alice, bob, dataset, cats):
    names = frames_of(dataset, cats)
    campaign = ask(alice, dataset, names[::3], policy=POLICY | {"gold_share": 0.5})
    rows = [{"image": name, "topic": "label", "answer": CAT} for name in names if name[-5] != "0"]
    assert gold.add_gold(campaign, alice, rows) == 4
    factories.join(bob, campaign)

    for _ in range(8):
        page = assigning.next_page(bob, campaign)
        say(bob, campaign, page.seats)

    assert seated_subjects(bob) == [thing.pk for thing in cats]


def test_several_gold_images_of_a_thing_on_one_page_are_one(alice, bob, dataset, cats):
    names = frames_of(dataset, cats, 4)
    plain = [factories.make_image(dataset, f"plain/{number}.png").name for number in range(30)]
    campaign = ask(alice, dataset, plain, policy=POLICY | {"gold_share": 0.5, "page_size": 30})
    rows = [{"image": name, "topic": "label", "answer": CAT} for name in names]
    gold.add_gold(campaign, alice, rows)
    factories.join(bob, campaign)

    page = assigning.next_page(bob, campaign)

    assert len(page.seats) >= 20
    assert seated_subjects(bob) == [thing.pk for thing in cats]


def test_training_and_test_show_one_image_of_a_thing(alice, bob, dataset, cats):
    names = frames_of(dataset, cats)
    plain = factories.make_image(dataset, "plain.png").name
    policy = POLICY | {"training_questions": 5, "test_questions": 0}
    campaign = ask(alice, dataset, [plain], policy=policy)
    gold.add_gold(
        campaign, alice, [{"image": name, "topic": "label", "answer": CAT} for name in names]
    )
    member = factories.join(bob, campaign)
    qualifying.begin(member)

    pages = []
    for _ in range(6):
        page = qualifying.next_gold(bob, campaign).seats
        pages.append({seat.image_name for seat in page})
        for seat in page:
            assigning.return_seat(bob, seat.token)

    # The same two again and again.
    assert len(pages[0]) == len(cats)
    assert pages == [pages[0]] * 6


def test_promoted_gold_goes_to_nobody_who_saw_the_thing(frames, alice, bob):
    for person in (bob, *crowd.people(frames, 5)):
        say(person, frames, assigning.next_page(person, frames).seats)
    settled = list(frames.questions.values_list("pk", flat=True))

    assert gold.gold_from_settled(frames, alice, settled) == len(settled)
    golden = frames.questions.filter(state="gold")
    assert set(golden.values_list("subject", flat=True)) == set(
        frames.questions.values_list("subject", flat=True)
    )


def test_an_audit_shows_an_auditor_one_image_of_a_thing(frames, alice, bob, cats):
    for person in (bob, *crowd.people(frames, 5)):
        say(person, frames, assigning.next_page(person, frames).seats)
    auditing.draw(frames, alice, 6, seed=1)

    seen = []
    while (audit := auditing.next_for(alice, frames)) is not None:
        assert auditing.next_for(alice, frames) == audit
        seen.append(audit.question.item.derived_from_id)
        auditing.answer(audit, alice, CAT)

    assert sorted(seen) == [thing.pk for thing in cats]


def test_an_auditor_who_has_answered_is_shown_nothing_more_of_the_thing(frames, bob, cats):
    for person in (bob, *crowd.people(frames, 5)):
        say(person, frames, assigning.next_page(person, frames).seats)
    frames.memberships.filter(user=bob).update(role="reviewer")
    auditing.draw(frames, bob, 6, seed=1)

    assert auditing.next_for(bob, frames) is None


def test_an_auditor_who_skipped_an_image_audits_that_one_or_none(frames, bob, cats):
    skipped = assigning.next_page(bob, frames).seats
    for seat in skipped:
        assigning.return_seat(bob, seat.token)
    for person in crowd.people(frames, 6):
        say(person, frames, assigning.next_page(person, frames).seats)
    frames.memberships.filter(user=bob).update(role="reviewer")
    auditing.draw(frames, bob, 6, seed=1)
    met = {seat.question_id for seat in skipped}

    second = frames.audits.exclude(question__in=met).first()
    with pytest.raises(NotAllowed):
        auditing.answer(second, bob, CAT)

    assert auditing.next_for(bob, frames).question_id in met


def test_who_saw_the_photograph_gets_no_part_of_it(alice, bob, charlie, dataset, cats):
    drawing = parted.part_campaigns.draft(
        alice, dataset, name="cats", title="Cats", policy={"gold_share": 0}
    )
    lifecycle.launch(drawing, alice)
    for person in (bob, charlie):
        factories.join(person, drawing)
    drawn = assigning.next_page(bob, drawing, 1).seats[0]
    campaign = ask(alice, dataset, frames_of(dataset, cats))
    for person in (bob, charlie):
        factories.join(person, campaign)

    subjects.bar_earlier_annotators([thing.pk for thing in cats])
    subjects.bar_earlier_annotators([thing.pk for thing in cats])

    drawn_item = drawing.questions.get(pk=drawn.question_id).item
    same_thing = next(thing for thing in cats if thing.image_id != drawn_item.image_id)
    (seat,) = assigning.next_page(bob, campaign).seats
    assert campaign.questions.get(pk=seat.question_id).item.derived_from == same_thing
    assert len(assigning.next_page(charlie, campaign).seats) == 2
    # What bob draws goes on.
    assert [seat.token for seat in assigning.open_seats(bob, drawing)] == [drawn.token]


def test_what_is_left_counts_things_and_not_images(frames, bob):
    from labeling.assignment import counters

    assert counters.recount(frames.pk) == (2, 6)


def test_a_seat_given_back_between_reading_and_claiming_stays_where_it_is(
    alice, bob, dataset, cats, monkeypatch
):
    names = frames_of(dataset, cats)
    first = ask(alice, dataset, names[::3], "first")
    second = ask(alice, dataset, names[1::3], "second")
    for campaign in (first, second):
        factories.join(bob, campaign)
    claiming, seen = assigning.writing, []

    def late():
        if not seen:
            seen.append(True)
            seen.extend(assigning.next_page(bob, first).seats)
            for seat in seen[1:]:
                assigning.return_seat(bob, seat.token)
        return claiming()

    monkeypatch.setattr(assigning, "writing", late)

    assert assigning.next_page(bob, second).seats == []
    assert len(seen) == 3
    assert seated_subjects(bob) == [thing.pk for thing in cats]
    assert {seat.question.campaign for seat in Seat.objects.all()} == {first}


def test_tabs_and_campaigns_at_once_give_one_image_of_a_thing(throwaway):
    """Four tabs in two campaigns race; the unique seat decides."""
    alice, bob = factories.make_user("alice"), factories.make_user("bob")
    dataset = factories.make_dataset(alice)
    parted.objects_in(dataset, 2)
    cats = list(objects.in_dataset(dataset))
    names = frames_of(dataset, cats, 4)
    first = ask(alice, dataset, names[::2], "first")
    second = ask(alice, dataset, names[1::2], "second")
    for campaign in (first, second):
        factories.join(bob, campaign)

    pages = crowd.at_once(*(partial(assigning.next_page, bob, row) for row in (first, second) * 2))

    assert all(isinstance(page, assigning.SeatsPage) for page in pages)
    assert seated_subjects(bob) == [thing.pk for thing in cats]
