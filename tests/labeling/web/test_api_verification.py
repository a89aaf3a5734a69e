"""Classes of candidates by the API, and candidates that come by it."""

import pytest

from labeling.campaigns import lifecycle
from labeling.follow_ups import candidate_lists
from labeling.models import Campaign, Candidate, Job
from labeling.quality import verifying
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in
from tests.labeling.candidates import CAT, DOG, make, rows, settle

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("candidate_glossary")]
API = "/api/v1/campaigns/verify/"
JSON = "application/json"


@pytest.fixture
def pets(alice, bob, dataset):
    candidates = [*rows(dataset, CAT, 3), *rows(dataset, DOG, 2)]
    campaign = make(alice, dataset, candidates, settings={"wanted": 1, "audited": 0})
    factories.join(bob, campaign)
    settle(campaign, bob, list(campaign.questions.filter(topic=CAT)[:2]), "yes")
    return campaign


def test_classes_are_listed_with_their_figures(pets, as_alice):
    verifying.check_classes(pets)

    cat, dog = as_alice.get(f"{API}classes/").json()["results"]

    assert (cat["key"], cat["name"], cat["state"], cat["reason"]) == (
        CAT,
        "Burmese cat",
        "stopped",
        "precision",
    )
    assert (cat["candidates"], cat["yes"], cat["by_table"]) == (3, 2, pytest.approx(0.999))
    assert (cat["precision"], cat["low"], cat["high"]) == (None, None, None)
    assert as_alice.get(f"{API}classes/{DOG}/").json() == dog
    assert len(as_alice.get(f"{API}classes/?state=asking").json()["results"]) == 1
    assert as_alice.get(f"{API}classes/n99/").status_code == 404
    assert as_alice.get(f"{API}classes/?colour=red").status_code == 400


def test_classes_are_looked_at_stopped_and_resumed(pets, as_alice):
    Job.objects.all().delete()
    assert as_alice.post(f"{API}classes/").json()["kind"] == "verify"

    stopped = as_alice.post(f"{API}classes/{DOG}/stop/", {"reason": "enough"}, JSON).json()
    assert (stopped["state"], stopped["reason"], stopped["open"]) == ("stopped", "hand", 0)
    resumed = as_alice.post(f"{API}classes/{DOG}/resume/", {}, JSON).json()
    assert (resumed["state"], resumed["reason"]) == ("asking", "")
    lifecycle.change_state(pets, pets.created_by, "close")
    assert as_alice.post(f"{API}classes/{DOG}/stop/", {}, JSON).status_code == 409


def test_another_kind_has_no_classes(as_alice, alice, dataset):
    factories.make_campaign(alice, dataset, "coots", images=1)

    for method in (as_alice.get, as_alice.post):
        refused = method("/api/v1/campaigns/coots/classes/")
        assert refused.status_code == 404
        assert "has no candidates" in refused.json()["detail"]


def test_a_campaign_of_candidates_is_made_and_filled_by_the_api(as_alice, dataset):
    rows(dataset, CAT, 2)
    body = {
        "name": "verify",
        "title": "Verify",
        "kind": "candidates",
        "dataset": "pond",
        "settings": {"wanted": 20},
    }
    made = as_alice.post("/api/v1/campaigns/", body, JSON)
    assert made.status_code == 201
    assert made.json()["settings"]["precision"] == 0.997
    assert made.json()["policy"]["method"] == "vote-table"

    request_body = {
        "questions": [
            {"image": "n01/00.png", "topic": CAT, "query": "burmese"},
            {"image": "n01/00.png", "topic": CAT, "query": "chat birman"},
            {"image": "n01/01.png", "topic": CAT},
        ]
    }
    added = as_alice.post(f"{API}questions/", request_body, JSON)

    assert (added.status_code, added.json()) == (201, {"created": 2, "existing": 0, "reopened": 0})
    assert sorted(Candidate.objects.values_list("query", flat=True)) == ["burmese", "chat birman"]
    topic = as_alice.get(f"{API}topics/{CAT}/").json()
    assert topic["siblings"] == [{"name": "Siamese cat", "definition": "another breed"}]
    body = {"siblings": [{"name": "lynx"}]}
    changed = as_alice.patch(f"{API}topics/{CAT}/", body, JSON).json()
    assert changed["siblings"] == [{"name": "lynx", "definition": ""}]


@for_each(
    ("change", "message"),
    [
        ({"image": "gone.png"}, "questions[1]: 'gone.png' is not in pond"),
        ({"topic": "n99"}, "questions[1]: the class 'n99' has no description"),
        ({"query": "q" * 201}, "200 characters"),
    ],
)
def test_candidates_at_fault_are_refused_by_their_place(pets, as_alice, change, message):
    good = {"image": "n01/00.png", "topic": CAT}

    refused = as_alice.post(f"{API}questions/", {"questions": [good, good | change]}, JSON)

    assert refused.status_code == 400
    assert message in refused.content.decode()


@for_each(
    ("rules", "field"),
    [
        ({"precision": 1.5}, "precision"),
        ({"wanted": 2.5}, "wanted"),
        ({"audited": -1}, "audited"),
        ({"budget": "much"}, "budget"),
        ({"images": 3}, "settings"),
    ],
)
def test_rules_that_cannot_be_are_refused_by_name(as_alice, dataset, rules, field):
    body = {"name": "v", "title": "V", "kind": "candidates", "dataset": "pond"}

    refused = as_alice.post("/api/v1/campaigns/", body | {"settings": rules}, JSON)

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == field
    assert not Campaign.objects.exists()


def test_a_campaign_without_candidates_keeps_no_queries(as_alice, alice, dataset):
    factories.make_campaign(alice, dataset, "coots", images=1)
    body = {"questions": [{"image": "coots/000.png", "topic": "n02018207", "query": "coot"}]}

    refused = as_alice.post("/api/v1/campaigns/coots/questions/", body, JSON)

    assert refused.status_code == 400
    assert "stores no queries" in refused.content.decode()


def test_annotators_get_a_topic_with_its_siblings_and_no_query(pets, bob):
    candidate_lists.ask(pets, [candidate_lists.CandidateRow("n02/00.png", DOG, "secret words")])
    client = logged_in(bob)

    body = client.post(f"{API}seats/", {"size": 5}, JSON).content.decode()

    assert "Siamese cat" in body
    assert "secret words" not in body
    assert "burmese" not in body
