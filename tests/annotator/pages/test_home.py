"""Cards at home, the way to the next campaign, and one's last answers."""

import uuid
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotator.pages import home, last
from evaluation.benchmarks import runs
from labeling.answers import submitting
from labeling.assignment import claiming, counters
from labeling.models import Answer, Campaign, Membership, Question
from labeling.quality import memberships
from tests import factories
from tests.clients import logged_in, text_of

pytestmark = pytest.mark.django_db


def answer(user, campaign, count, value="yes", ms=2_000):
    seats = claiming.next_page(user, campaign, count).seats
    sent = [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, ms) for seat in seats]
    submitting.submit(user, campaign, sent)
    return seats


def test_a_card_tells_how_far_the_campaign_is_and_how_long_the_rest_takes(bob, coots, monkeypatch):
    counters.recount(coots.pk)
    Campaign.objects.filter(pk=coots.pk).update(questions_asked=1_000, questions_free=400)

    [before] = home.cards_of(bob)
    monkeypatch.setattr(home, "MIN_ANSWERS_FOR_PACE", 2)
    answer(bob, coots, 2, ms=9_000)
    Campaign.objects.filter(pk=coots.pk).update(questions_asked=1_000, questions_free=400)
    [after] = home.cards_of(bob)

    assert (before.done, after.done) == (None, pytest.approx(0.6))
    # 400 questions at the policy's 4 s, then at the person's own 9 s.
    assert (before.time, after.time) == ("about 27 minutes", "about 1.0 hours")
    assert (before.left, after.left) == (400, 400)
    assert "2 done, about 400 for you" in text_of(logged_in(bob).get("/"))


def test_a_card_leaves_no_more_than_the_campaign_asks_or_the_quota(bob, coots):
    counters.recount(coots.pk)
    Campaign.objects.filter(pk=coots.pk).update(questions_asked=30, questions_free=30)
    row = Membership.objects.filter(user=bob, campaign=coots)

    row.update(answered=12)
    [some] = home.cards_of(bob)
    row.update(topics={"coot": 7})
    [quota] = home.cards_of(bob)
    row.update(answered=31)
    [beyond] = home.cards_of(bob)

    assert (some.left, quota.left, beyond.left) == (18, 7, 0)


def test_home_names_no_keys_of_a_kind(bob, coots):
    assert "<kbd>" not in text_of(logged_in(bob).get("/"))


def test_what_was_sent_back_comes_first(bob, coots, alice, dataset):
    factories.join(bob, factories.make_campaign(alice, dataset, "ducks", images=1))
    cards = home.cards_of(bob)
    waiting = [card.waiting._replace(sent_back=card.campaign == coots) for card in cards]

    ranks = {
        card.campaign.name: home.Card(card.membership, wait, "", False, None, 0, "").rank
        for card, wait in zip(cards, waiting, strict=True)
    }

    assert ranks == {"coots": 0, "ducks": 1}


def test_the_next_campaign_is_another_one_where_something_waits(bob, coots, alice, dataset):
    client = logged_in(bob)
    alone = client.get(reverse("next_campaign"), {"after": "coots"})
    factories.join(bob, factories.make_campaign(alice, dataset, "ducks", images=1))

    assert alone["Location"] == "/"
    following = client.get(reverse("next_campaign"), {"after": "coots"})
    assert following["Location"] == reverse("label", args=["ducks"])


def test_the_picture_is_an_example_else_the_first_image_gold_or_not(bob, coots):
    client, url = logged_in(bob), reverse("campaign_picture", args=["coots"])
    first = client.get(url).content
    Question.objects.filter(campaign=coots).update(state=Question.State.GOLD)

    assert client.get(url).content == first
    assert client.get(url)["Content-Type"].startswith("image/")


def test_the_picture_of_a_draft_is_for_its_researchers(bob, alice, coots):
    Campaign.objects.filter(pk=coots.pk).update(state=Campaign.State.DRAFT)
    url = reverse("campaign_picture", args=["coots"])

    assert logged_in(bob).get(url).status_code == 403
    assert logged_in(alice).get(url).status_code == 200


def test_what_was_settled_since_one_joined_is_told_by_the_night(alice, bob, charlie, coots):
    Campaign.objects.filter(pk=coots.pk).update(settled_nightly=0)
    _, secret = memberships.invite(coots, alice)
    memberships.accept(secret, charlie)
    coots.questions.filter(pk__in=coots.questions.values("pk")[:2]).update(
        state="settled", seats_free=0
    )
    page = reverse("label", args=["coots"])
    before = text_of(logged_in(charlie).get(page))

    runs.nightly()
    after = text_of(logged_in(charlie).get(page))

    assert "Since you joined" not in before
    assert "Since you joined, <b>2</b> questions of this campaign were settled" in after
    assert Membership.objects.get(user=charlie, campaign=coots).settled_before == 0


def test_last_answers_open_again_while_they_may_change(bob, coots):
    answer(bob, coots, 3)
    policy = coots.policy
    policy.content = {**policy.content, "revise_minutes": 10, "revise_answers": 2}
    policy.save()
    Answer.objects.update(created_at=timezone.now() - timedelta(hours=1))

    rows = last.last_answers(bob, coots)

    assert [row.number for row in rows] == [3, 2, 1]
    assert [row.image is not None for row in rows] == [True, True, False]
    assert {row.words for row in rows} == {"Yes"}
    page = text_of(logged_in(bob).get(reverse("label_last", args=["coots"])))
    assert page.count("?seat=") == 2


def test_last_answers_say_nothing_of_gold(bob, coots):
    answer(bob, coots, 6)
    before = [vars(row) | {"image": ""} for row in last.last_answers(bob, coots)]
    Question.objects.filter(campaign=coots).update(state=Question.State.GOLD)

    assert [vars(row) | {"image": ""} for row in last.last_answers(bob, coots)] == before
