"""Who sees which of the researcher's pages, beyond what the table of tests/access.py says."""

import pytest
from django.urls import reverse

from labeling.models import Audit, Campaign, Dataset, Job, Question, Settlement, User
from labeling.quality import memberships
from labeling.quality.gold import add_gold
from tests import factories
from tests.clients import logged_in


@pytest.fixture
def dora(db) -> User:
    """A researcher of another campaign."""
    dora = factories.make_user("dora", is_researcher=True)
    pool = factories.make_dataset(dora, "meadow")
    factories.make_campaign(dora, pool, "meadow", images=1)
    return dora


@pytest.fixture
def rita(coots: Campaign) -> User:
    """A reviewer of the campaign."""
    rita = factories.make_user("rita")
    factories.join(rita, coots, "reviewer")
    return rita


def test_a_list_holds_only_what_is_mine(coots, alice, bob, dora):
    assert "Coots" in logged_in(alice).get("/campaigns/").content.decode()
    for user in (bob, dora):
        assert "Coots" not in logged_in(user).get("/campaigns/").content.decode()
    assert "pond" not in logged_in(dora).get("/datasets/").content.decode()


def test_a_colleague_sees_the_dataset_but_adds_nothing_to_it(coots, dora):
    factories.join(dora, coots, "researcher")
    client = logged_in(dora)

    assert client.get("/datasets/pond/").status_code == 200
    assert client.get("/datasets/pond/upload/").status_code == 403


def test_gold_is_no_page_of_its_own_for_reviewers(coots, alice, rita):
    factories.make_image(coots.dataset, "gold.png")
    row = {"image": "gold.png", "topic": "n02018207", "answer": "yes"}
    add_gold(coots, alice, [row])
    gold = coots.questions.get(state=Question.State.GOLD)
    client = logged_in(rita)

    assert client.get(f"/campaigns/coots/questions/{gold.pk}/").status_code == 404
    assert client.get(f"/campaigns/coots/questions/{gold.pk}/image").status_code == 404


def test_an_image_of_another_dataset_is_not_there(coots, alice, dora):
    foreign = Dataset.objects.get(name="meadow").images.first()

    response = logged_in(alice).get(f"/datasets/pond/images/{foreign.pk}/thumbnail")

    assert response.status_code == 404


def test_a_thing_of_another_campaign_is_not_reached_through_mine(coots, alice, dora, bob):
    theirs = Campaign.objects.get(name="meadow")
    member = factories.join(bob, theirs)
    question = theirs.questions.get()
    settlement = Settlement.objects.create(question=question, policy=theirs.policy, value="yes")
    audit = Audit.objects.create(
        campaign=theirs, settlement=settlement, sample=1, question=question
    )
    invitation, _ = memberships.invite(theirs, dora)
    job = Job.objects.create(kind="score", key="1", campaign=theirs)
    client = logged_in(alice)

    for name, method, thing in (
        ("question", client.get, question),
        ("topic", client.get, theirs.topics.get()),
        ("person", client.get, member),
        ("person_block", client.get, member),
        ("person_quotas", client.post, member),
        ("member_role", client.post, member),
        ("invitation_revoke", client.post, invitation),
        ("job_retry", client.post, job),
        ("gold_retire", client.post, question),
        ("audit_answer", client.post, audit),
    ):
        response = method(reverse(f"labeling:{name}", args=["coots", thing.pk]))

        assert response.status_code == (400 if name == "gold_retire" else 404), name
