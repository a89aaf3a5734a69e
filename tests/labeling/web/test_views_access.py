"""Who sees which of the researcher's pages: every address, as everybody."""

import pytest
from django.test import Client
from django.urls import reverse

from labeling.datasets import objects, vocabulary_store
from labeling.models import (
    Audit,
    Campaign,
    Dataset,
    Graph,
    Import,
    Item,
    Job,
    Question,
    Release,
    Settlement,
    Topic,
    User,
)
from labeling.question_graph import replaying
from labeling.urls import urlpatterns
from tests import factories
from tests.world import split_coot

GET, POST = "get", "post"
# address → method, what it needs beside the campaign, and what a reviewer may.
CAMPAIGN_PAGES = {
    "campaign": (GET, True),
    "campaign_progress": (GET, True),
    "campaign_state": (POST, False),
    "campaign_close": (GET, False),
    "campaign_edit": (GET, False),
    "campaign_policy": (POST, False),
    "campaign_vocabulary": (POST, False),
    "graph": (GET, True),
    "graph_load": (POST, False),
    "graph_node": (GET, False),
    "graph_version": (GET, True),
    "graph_download": (GET, True),
    "quality": (GET, True),
    "calibrate": (POST, False),
    "pilot": (GET, False),
    "audit": (GET, True),
    "audit_answer": (POST, True),
    "questions": (GET, True),
    "questions_add": (GET, False),
    "question": (GET, True),
    "question_image": (GET, True),
    "question_thumbnail": (GET, True),
    "question_accept": (POST, True),
    "question_decide": (POST, True),
    "question_send_back": (POST, True),
    "question_withdraw": (POST, False),
    "review": (GET, True),
    "agreement": (GET, True),
    "people": (GET, False),
    "person": (GET, False),
    "person_quotas": (POST, False),
    "person_block": (GET, False),
    "person_unblock": (GET, False),
    "person_pause": (GET, False),
    "person_pardon": (GET, False),
    "member_role": (POST, False),
    "member_remove": (POST, False),
    "invitation_new": (POST, False),
    "invitation_revoke": (POST, False),
    "gold": (GET, False),
    "gold_add": (GET, False),
    "gold_draw": (GET, False),
    "gold_image": (GET, False),
    "gold_objects": (GET, False),
    "gold_upload": (POST, False),
    "gold_promote": (POST, False),
    "gold_retire": (POST, False),
    "topics": (GET, False),
    "topic": (GET, False),
    "example_add": (POST, False),
    "example_remove": (POST, False),
    "jobs": (GET, False),
    "job_retry": (POST, False),
    "releases": (GET, False),
    "release_freeze": (POST, False),
    "release_download": (GET, False),
    "release_labels": (GET, False),
    "release_label_options": (GET, False),
    "release_objects": (GET, False),
}
DATASET_PAGES = {
    "dataset": GET,
    "dataset_upload": GET,
    "dataset_import": POST,
    "dataset_labels": GET,
    "dataset_imports": GET,
    "import_report": GET,
    "import_retry": POST,
    "thumbnail": GET,
    "dataset_objects": GET,
    "dataset_object": GET,
    "object_image": GET,
    "object_merge": POST,
    "parts_import": GET,
    "parts_report": GET,
    "parts_again": POST,
    "vocabulary": GET,
    "vocabulary_start": POST,
    "vocabulary_category_new": GET,
    "vocabulary_category": GET,
    "vocabulary_category_remove": POST,
    "vocabulary_version": GET,
    "vocabulary_download": GET,
}
RESEARCHER_PAGES = {
    "campaign_new": GET,
    "campaign_estimate": POST,
    "datasets": GET,
    "dataset_new": GET,
}
ADMIN_PAGES = {"rights": GET, "right_change": POST}
OWN_PAGES = {"campaigns": GET, "tokens": GET, "token_revoke": POST}


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


def arguments(name: str, campaign: Campaign) -> list:
    """What the address of that name is made of, for something that is there."""
    question = campaign.questions.order_by("pk").first()
    found: list = [campaign.name]
    if name.startswith(("question_", "gold_retire")) or name == "question":
        found.append(question.pk)
    elif name in ("topic", "example_add", "example_remove"):
        found.append(Topic.objects.get(campaign=campaign).pk)
    elif name in ("graph_node", "graph_version", "graph_download"):
        found.append("coot" if name == "graph_node" else graph_of(campaign).version)
        graph_of(campaign)
    elif name == "audit_answer":
        found.append(audit_of(campaign).pk)
    elif name.startswith(("member_", "person")):
        found.append(campaign.memberships.get(user__username="bob").pk)
    elif name == "invitation_revoke":
        from labeling.quality import memberships

        found.append(memberships.invite(campaign, campaign.created_by)[0].pk)
    elif name == "job_retry":
        found.append(Job.objects.get_or_create(kind="score", key="1", campaign=campaign)[0].pk)
    elif name.startswith("release_") and name != "release_freeze":
        found.append(release_of(campaign).number)
    elif name == "thumbnail":
        found = [campaign.dataset.name, campaign.dataset.images.order_by("pk").first().pk]
    elif name.startswith("import_"):
        found = [campaign.dataset.name, import_into(campaign.dataset).pk]
    elif name.startswith("vocabulary"):
        vocabulary_store.start(campaign.dataset, campaign.dataset.owner)
        found = [campaign.dataset.name]
        found += ["n02084071"] if name.startswith("vocabulary_category") else []
        found += [1] if name in ("vocabulary_version", "vocabulary_download") else []
        found = found[:1] if name == "vocabulary_category_new" else found
    elif name in ("gold_draw", "gold_image"):
        found.append(object_in(campaign.dataset).pk)
    elif name in ("dataset_object", "object_image", "object_merge"):
        found = [campaign.dataset.name, object_in(campaign.dataset).pk]
    elif name in ("parts_report", "parts_again"):
        found = [campaign.dataset.name, parts_job(campaign.dataset).pk]
    elif name.startswith(("dataset", "parts")):
        found = [campaign.dataset.name]
    elif name == "token_revoke":
        found = ["00000000"]
    return found


def import_into(dataset: Dataset) -> Import:
    job, _ = Job.objects.get_or_create(kind="import images", key="1")
    fields = {"dataset": dataset, "name": "lake.zip", "created_by": dataset.owner}
    return Import.objects.get_or_create(job=job, defaults=fields)[0]


def object_in(dataset: Dataset) -> Item:
    image = dataset.images.order_by("pk").first()
    objects.put(dataset, [split_coot(image.name)], "zoo")
    return objects.of(dataset).get()


def parts_job(dataset: Dataset) -> Job:
    said = {"file": "cows.zip", "by": "A", "stored": "parts/gone"}
    fields = {"payload": said, "state": "failed"}
    return Job.objects.get_or_create(kind="import parts", key=f"{dataset.pk}:1", defaults=fields)[0]


def graph_of(campaign: Campaign) -> Graph:
    graph = replaying.build({"nodes": [{"id": "coot", "question": "A coot?", "class": "coot"}]})
    row, _ = Graph.objects.get_or_create(
        campaign=campaign,
        version=1,
        defaults={"content": graph.content(), "sha256": graph.sha256},
    )
    Campaign.objects.filter(pk=campaign.pk).update(graph=row)
    return row


def audit_of(campaign: Campaign) -> Audit:
    question = campaign.questions.order_by("pk").first()
    settlement, _ = Settlement.objects.get_or_create(
        question=question, policy=campaign.policy, value="yes"
    )
    fields = {"campaign": campaign, "settlement": settlement, "sample": 1}
    return Audit.objects.get_or_create(question=question, defaults=fields)[0]


def release_of(campaign: Campaign) -> Release:
    from labeling.releases import freezing

    return freezing.freeze(campaign)


def ask(client: Client, name: str, method: str, campaign: Campaign):
    bare = name in RESEARCHER_PAGES or name in ("campaigns", "tokens")
    address = reverse(f"labeling:{name}", args=[] if bare else arguments(name, campaign))
    response = getattr(client, method)(address)
    response.getvalue()  # reads a download to its end, so that its file is closed
    return response


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_every_address_is_in_the_tables():
    tables = {*CAMPAIGN_PAGES, *DATASET_PAGES, *RESEARCHER_PAGES, *OWN_PAGES, *ADMIN_PAGES}

    assert {pattern.name for pattern in urlpatterns} == tables


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, method) for name, (method, _) in CAMPAIGN_PAGES.items()),
        *DATASET_PAGES.items(),
        *RESEARCHER_PAGES.items(),
        *OWN_PAGES.items(),
    ],
)
def test_nobody_is_sent_to_log_in(name, method, coots):
    response = ask(Client(), name, method, coots)

    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("name", CAMPAIGN_PAGES)
def test_a_campaign_shows_itself_to_its_own_people_only(name, coots, charlie, bob, dora, rita):
    method, for_reviewers = CAMPAIGN_PAGES[name]

    statuses = {
        who: ask(logged_in(user), name, method, coots).status_code
        for who, user in {"stranger": charlie, "dora": dora, "annotator": bob, "rita": rita}.items()
    }

    assert statuses["stranger"] == 404
    assert statuses["dora"] == 404
    assert statuses["annotator"] == 403
    assert (statuses["rita"] not in (403, 404)) == for_reviewers


@pytest.mark.parametrize("name", CAMPAIGN_PAGES)
def test_the_researcher_of_a_campaign_is_let_in(name, coots, alice):
    response = ask(logged_in(alice), name, CAMPAIGN_PAGES[name][0], coots)

    # One meets a question that is no gold, the others a campaign where nobody draws: refusals, but
    # of the action.
    refused = name in ("gold_retire", "gold_draw", "gold_image")
    assert response.status_code in ((400,) if refused else (200, 302))


@pytest.mark.parametrize(("name", "method"), DATASET_PAGES.items())
def test_a_dataset_shows_itself_to_its_researchers_only(
    name, method, coots, alice, charlie, bob, dora, rita
):
    for user in (charlie, bob, dora, rita):
        assert ask(logged_in(user), name, method, coots).status_code == 404
    assert ask(logged_in(alice), name, method, coots).status_code in (200, 302)


@pytest.mark.parametrize(("name", "method"), RESEARCHER_PAGES.items())
def test_only_researchers_make_things(name, method, coots, alice, bob):
    assert ask(logged_in(bob), name, method, coots).status_code == 403
    assert ask(logged_in(alice), name, method, coots).status_code == 200


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
    from labeling.quality.gold import add_gold

    factories.make_image(coots.dataset, "gold.png")
    row = {"image": "gold.png", "topic": "n02018207", "answer": "yes"}
    add_gold(coots, alice, [row])
    gold = coots.questions.get(state=Question.State.GOLD)
    client = logged_in(rita)

    assert client.get(f"/campaigns/coots/questions/{gold.pk}/").status_code == 404
    assert client.get(f"/campaigns/coots/questions/{gold.pk}/image").status_code == 404


def test_an_image_of_another_dataset_is_not_there(coots, alice, dora):
    other = Dataset.objects.get(name="meadow").images.first()

    response = logged_in(alice).get(f"/datasets/pond/images/{other.pk}/thumbnail")

    assert response.status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "question",
        "topic",
        "person",
        "person_block",
        "person_quotas",
        "member_role",
        "invitation_revoke",
        "job_retry",
        "gold_retire",
        "audit_answer",
    ],
)
def test_a_thing_of_another_campaign_is_not_reached_through_mine(name, coots, alice, dora, bob):
    theirs = Campaign.objects.get(name="meadow")
    factories.join(bob, theirs)
    _, pk = arguments(name, theirs)
    method = CAMPAIGN_PAGES[name][0]

    address = reverse(f"labeling:{name}", args=["coots", pk])
    response = getattr(logged_in(alice), method)(address)

    assert response.status_code == (400 if name == "gold_retire" else 404)
