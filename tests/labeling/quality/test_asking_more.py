"""More people for settled questions, and a changed policy for those without answers."""

from collections import Counter

import pytest

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import settling
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking
from labeling.models import Decision, Question
from labeling.quality import asking_more, blocking
from labeling.web import tokens
from tests import factories
from tests.clients import html_of
from tests.labeling.crowd import crowd, people, vote


@pytest.fixture
def pond(alice, dataset):
    """Six questions; three people settled them all by two votes of yes and one of no."""
    campaign = factories.make_campaign(
        alice, dataset, "pond", images=6, policy={"votes": 3, "stop_early": "never"}
    )
    crowd(campaign, ["yes", "yes", "no"])
    assert campaign.questions.filter(state="settled").count() == 6
    return campaign


def differences(campaign) -> list:
    return list(settling.rebuild(campaign))


@pytest.mark.parametrize("method", ["majority", "posterior", "vote-table"])
def test_more_people_are_asked_about_settled_questions_and_all_count(alice, dataset, method):
    policy = {"votes": 3, "stop_early": "never", "min_votes": 3, "method": method}
    policy |= {"target_error": 0.2, "target_rule": "model"}
    campaign = factories.make_campaign(alice, dataset, "pond", images=6, policy=policy)
    crowd(campaign, ["yes", "yes", "yes"])
    settled = list(campaign.questions.filter(state="settled").order_by("pk"))
    assert len(settled) == 6

    added = asking_more.ask_more(campaign, [q.pk for q in settled[:2]], 4, alice, "Doubtful.")

    assert (added.count, added.skipped) == (2, Counter())
    assert set(campaign.questions.filter(state="open").values_list("pk", "seats_free")) == {
        (question.pk, 4) for question in settled[:2]
    }
    for user in people(campaign, 4, "late"):
        vote(user, campaign, "no")
    for question in settled[:2]:
        question.refresh_from_db()
        settlement = question.settlements.latest("pk")
        assert (question.state, len(settlement.answers)) == ("settled", 7)
        if method == "majority":
            assert settlement.value == "no"
    assert differences(campaign) == []
    assert campaign.policy.version == 1
    decision = Decision.objects.get(kind="policy", content__has_key="more")
    assert (decision.actor, decision.reason) == (alice, "Doubtful.")


def test_asking_again_counts_from_the_votes_that_there_are(alice, pond):
    first = pond.questions.order_by("pk").first()
    asking_more.ask_more(pond, [first.pk], 1, alice)
    for user in people(pond, 1, "late"):
        vote(user, pond, "yes")

    asking_more.ask_more(pond, [first.pk], 2, alice)

    first.refresh_from_db()
    assert (first.state, first.seats_free) == ("open", 2)


def test_votes_of_blocked_people_are_not_among_those_that_there_are(alice, pond):
    blocking.block(pond, pond.memberships.get(user__username="crowd2"), alice, "Spam.")
    for user in people(pond, 1, "late"):
        vote(user, pond, "yes")
    first = pond.questions.order_by("pk").first()
    assert first.state == "settled"

    asking_more.ask_more(pond, [first.pk], 2, alice)

    first.refresh_from_db()
    assert (first.state, first.seats_free) == ("open", 2)


def test_what_is_not_settled_or_was_reviewed_is_left_alone_with_its_reason(alice, pond):
    open_one, reviewed, settled, withdrawn = pond.questions.order_by("pk")[:4]
    asking_more.ask_more(pond, [open_one.pk], 1, alice)
    reviewed.settlements.update(reviewed=True)
    Question.objects.filter(pk=withdrawn.pk).update(state="withdrawn")

    added = asking_more.ask_more(
        pond, [open_one.pk, reviewed.pk, settled.pk, withdrawn.pk, 10**9], 2, alice
    )

    assert added.count == 1
    assert added.skipped == {
        "it is open, not settled": 1,
        "it is withdrawn, not settled": 1,
        "a reviewer decided it": 1,
        "there is no such question": 1,
    }


def test_too_many_people_and_closed_campaigns_are_refused(alice, pond):
    pks = list(pond.questions.values_list("pk", flat=True))

    with pytest.raises(Refusal, match="at most 25 answers"):
        asking_more.ask_more(pond, pks, 25, alice)
    with pytest.raises(Refusal, match="expected 1 to 25"):
        asking_more.ask_more(pond, pks, 0, alice)
    lifecycle.change_state(pond, alice, "close")
    with pytest.raises(Conflict, match="closed"):
        asking_more.ask_more(pond, pks, 1, alice)
    assert not Decision.objects.filter(content__has_key="more").exists()


@pytest.mark.parametrize("votes", [1, 5])
def test_a_changed_policy_is_applied_to_questions_without_answers(alice, bob, dataset, votes):
    campaign = factories.make_campaign(
        alice, dataset, "pond", images=6, policy={"votes": 3, "stop_early": "never"}
    )
    factories.join(bob, campaign)
    held = claiming.next_page(bob, campaign, 3).seats
    vote(bob, campaign, "yes", size=1)
    answered = campaign.questions.get(seats__state="answered")
    lifecycle.change_policy(campaign, alice, {"votes": votes, "stop_early": "never"})

    assert asking_more.apply_policy(campaign, alice) == 5

    answered.refresh_from_db()
    assert (answered.policy.version, answered.seats_free) == (1, 2)
    leased = {seat.question_id for seat in held} - {answered.pk}
    for question in campaign.questions.exclude(pk=answered.pk):
        assert question.policy.version == 2
        assert question.seats_free == votes - (question.pk in leased)
    assert asking_more.apply_policy(campaign, alice) == 0
    assert differences(campaign) == []


def test_questions_of_a_pilot_keep_its_policy(alice, pond):
    topic = pond.questions.first().topic
    asking.add_questions(pond, [(factories.make_image(pond.dataset, "new.png").name, topic)])
    pilot = asking_more.version_of(pond, pond.policy.content | {"votes": 10})
    Question.objects.filter(state="open").update(policy=pilot)
    Decision.objects.create(
        campaign=pond, kind="policy", content={"pilot": 1, "version": pilot.version}
    )

    assert asking_more.apply_policy(pond, alice) == 0


def test_asking_again_reports_created_existing_and_reopened(alice, pond):
    images = [factories.make_image(pond.dataset, f"new{n}.png").name for n in range(2)]
    known = list(pond.questions.order_by("pk").values_list("item__image__name", flat=True))
    topic = pond.questions.first().topic
    asking.add_questions(pond, [(images[0], topic)])
    asking.withdraw_questions(
        pond, pond.questions.filter(state="open").values_list("pk", flat=True), alice, ""
    )

    added = asking.add_questions(pond, [(name, topic) for name in [*images, *known]])

    assert (added.created, added.existing, added.reopened) == (1, 6, 1)


@pytest.fixture
def program(alice):
    from rest_framework.test import APIClient

    client = APIClient()
    _, secret = tokens.create_token(alice, scope="write")
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def test_withdrawing_a_settled_question_says_why_nothing_happened(client, alice, pond, program):
    first = pond.questions.order_by("pk").first()
    address = f"/api/v1/campaigns/{pond.name}/questions/withdraw/"

    answer = program.post(address, {"questions": [first.pk], "reason": "x"}, format="json").json()

    assert answer["count"] == 0
    assert [(row["state"], row["count"]) for row in answer["kept"]] == [("settled", 1)]
    assert "Ask more people" in answer["kept"][0]["why"]
    client.force_login(alice)
    page = client.post(f"/campaigns/{pond.name}/questions/{first.pk}/withdraw/", follow=True)
    assert "Nothing was withdrawn. It is settled" in page.content.decode()


def test_pages_and_programs_ask_more_people(client, alice, bob, pond, program):
    first, second, third = pond.questions.order_by("pk")[:3]
    address = f"/api/v1/campaigns/{pond.name}/questions/ask-more/"
    answer = program.post(address, {"questions": [first.pk, 9], "people": 2}, format="json")
    assert answer.json() == {"count": 1, "skipped": {"there is no such question": 1}}

    client.force_login(alice)
    html = html_of(client.get(f"/campaigns/{pond.name}/questions/?state=settled"))
    assert f'name="question" value="{second.pk}"' in html
    page = client.post(
        f"/campaigns/{pond.name}/questions/ask-more/",
        {"question": [second.pk, third.pk], "people": 1},
        follow=True,
    )
    assert "2 questions ask 1 more person." in page.content.decode()
    page = client.post(f"/campaigns/{pond.name}/questions/ask-more/", {"people": 1}, follow=True)
    assert "Choose at least one question" in page.content.decode()
    factories.join(bob, pond)
    client.force_login(bob)
    assert client.post(f"/campaigns/{pond.name}/questions/ask-more/").status_code == 403
