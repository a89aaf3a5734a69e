"""Pages of a campaign of candidates: made, looked at, stopped and resumed."""

import csv
import io
import re

import pytest
from django.urls import reverse

from labeling.campaigns import lifecycle
from labeling.follow_ups import candidate_lists
from labeling.jobs import queue
from labeling.kinds import policies
from labeling.models import Campaign, Job, Verification
from labeling.quality import verifying
from tests import factories
from tests.clients import text_of, upload
from tests.labeling.candidates import CAT, DOG, make, rows, settle
from tests.labeling.crowd import query_count

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("candidate_glossary")]


@pytest.fixture
def pets(alice, bob, dataset):
    candidates = [*rows(dataset, CAT, 5), *rows(dataset, DOG, 4)]
    campaign = make(
        alice, dataset, candidates, settings={"wanted": 4, "audited": 0}, cost_per_hour=36
    )
    factories.join(bob, campaign)
    settle(campaign, bob, list(campaign.questions.filter(topic=CAT)[:3]), "yes")
    return campaign


def page(campaign, **query):
    return reverse("labeling:verification", args=[campaign.name], query=query)


def post(client, campaign, name, **data):
    return client.post(reverse(f"labeling:{name}", args=[campaign.name]), data, follow=True)


def form(dataset, **more):
    words = {"name": "found", "title": "Found", "kind": "candidates", "dataset": dataset.pk}
    return words | policies.DEFAULTS | {"method": "vote-table"} | more


def words_of(response):
    """The words of the page, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", text_of(response)).split())


def test_the_page_has_every_class_with_its_precision_cost_and_state(pets, as_alice):
    empty = words_of(as_alice.get(page(pets)))
    assert "Precision is being computed." in empty
    queue.run_all()

    text = words_of(as_alice.get(page(pets)))

    assert "Burmese cat n01 5 candidates of Burmese cat 3 3 99.90 % by vote table" in text
    assert "0.03 EUR 3 answers being asked" in text
    assert "no image yet 0.00 EUR 0 answers being asked" in text
    assert "2 classes have no vote table yet" in text
    assert "No audit yet" in text


def test_classes_are_searched_and_put_in_order(pets, as_alice, bob):
    settle(pets, bob, list(pets.questions.filter(topic=DOG)[:1]), "yes", ms=90_000)
    verifying.check_classes(pets)

    def names(**query):
        rows = as_alice.get(page(pets, **query)).context["rows"]
        return [row.row.topic.key for row in rows]

    assert names() == [CAT, DOG]
    assert names(sort="cost") == names(sort="yes") == [DOG, CAT]
    assert names(q="whip") == names(q="n02") == [DOG]
    assert names(q="nothing") == []
    assert names(sort="nonsense") == [CAT, DOG]
    assert "No matching classes" in words_of(as_alice.get(page(pets, q="nothing")))


def test_a_class_is_stopped_and_resumed_with_its_reason_in_the_decisions(pets, as_alice):
    text = words_of(post(as_alice, pets, "verification_state", stop=DOG, reason="bad queries"))
    assert "whippet is stopped." in text
    assert "stopped: by hand" in text
    assert pets.decisions.get(kind="class").reason == "bad queries"
    overview = words_of(as_alice.get(reverse("labeling:campaign", args=[pets.name])))
    assert "stopped the class whippet" in overview

    text = words_of(post(as_alice, pets, "verification_state", resume=DOG))
    assert "whippet is asked about again." in text
    assert set(pets.questions.filter(topic=DOG).values_list("state", flat=True)) == {"open"}

    text = words_of(post(as_alice, pets, "verification_state", stop="n99"))
    assert "no candidates of such a class" in text


def test_a_class_that_fell_below_the_target_says_so(pets, as_alice, alice):
    lifecycle.change(pets, alice, settings={"precision": 0.9999, "wanted": 1, "audited": 0})
    pets.questions.filter(state="open", topic=CAT).update(state="dropped", seats_free=0)
    verifying.check_classes(pets)

    assert "all finished, below the target" in words_of(as_alice.get(page(pets)))


def test_the_rules_are_changed_on_the_page_and_bad_ones_change_nothing(pets, as_alice):
    Job.objects.all().delete()
    rules = {"precision": 0.99, "wanted": 3, "audited": 0, "budget": 5}
    text = words_of(post(as_alice, pets, "verification", **rules))

    assert "recomputed with these rules" in text
    pets.refresh_from_db()
    assert pets.settings == rules
    queue.run_all()
    assert Verification.objects.get(topic__key=CAT).reason == "precision"

    response = post(as_alice, pets, "verification", **(rules | {"precision": 1.2}))
    assert response.context["form"].errors.keys() == {"precision"}
    pets.refresh_from_db()
    assert pets.settings == rules


def test_looking_is_asked_for_on_the_page(pets, as_alice):
    Job.objects.all().delete()

    assert "See Jobs for progress." in words_of(post(as_alice, pets, "verification_look"))
    assert Job.objects.get().kind == "verify"


def test_every_class_leaves_as_csv(pets, as_alice):
    pets.topics.filter(key=DOG).update(name="=whippet()")
    verifying.check_classes(pets)

    response = as_alice.get(reverse("labeling:verification_csv", args=[pets.name]))

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    by_class = {row["class"]: row for row in rows}
    cat = by_class[CAT]
    assert (cat["name"], cat["candidates"], cat["yes"], cat["by_table"]) == (
        "Burmese cat",
        "5",
        "3",
        "0.999",
    )
    assert (cat["precision"], cat["currency"], cat["state"]) == ("", "EUR", "asking")
    assert by_class[DOG]["name"] == "'=whippet()"


def test_the_page_costs_the_same_however_many_questions_and_classes_there_are(
    pets, as_alice, dataset, alice
):
    verifying.check_classes(pets)
    few = query_count(lambda: as_alice.get(page(pets)))

    topics = [{"key": f"k{number}", "name": f"class {number}"} for number in range(20)]
    image = dataset.images.first().name
    more = [candidate_lists.CandidateRow(image, topic["key"]) for topic in topics]
    candidate_lists.ask(pets, more, topics)
    verifying.check_classes(pets)

    assert len(as_alice.get(page(pets)).context["rows"]) == 22
    assert query_count(lambda: as_alice.get(page(pets))) == few


def test_another_kind_of_campaign_has_no_such_page(as_alice, alice, dataset):
    campaign = factories.make_campaign(alice, dataset, "coots", images=1)

    assert as_alice.get(page(campaign)).status_code == 404
    assert "Precision" not in words_of(as_alice.get(reverse("labeling:campaign", args=["coots"])))


def test_a_campaign_is_made_of_a_list_with_its_rules(as_alice, dataset):
    candidates = rows(dataset, CAT, 2)
    file = upload("c.csv", "\n".join(f"{row.image},{row.topic},{row.query}" for row in candidates))
    data = form(dataset, candidates_file=file, precision=0.99, wanted=10, audited=0, budget=3)

    response = as_alice.post(reverse("labeling:campaign_new"), data)

    campaign = Campaign.objects.get(name="found")
    assert response.status_code == 302
    assert campaign.settings == {"precision": 0.99, "wanted": 10, "audited": 0, "budget": 3.0}
    assert campaign.questions.filter(by_topic=True).count() == 2
    assert campaign.state == "draft"
    assert campaign.topics.get().siblings


def test_the_new_form_says_the_line_at_fault_and_makes_nothing(as_alice, dataset):
    rows(dataset, CAT, 1)
    data = form(dataset, candidates="n01/00.png,n01,q\nn01/77.png,n01,q")

    response = as_alice.post(reverse("labeling:campaign_new"), data)

    assert "Line 2: 'n01/77.png' is not in pond" in response.context["form"].errors["candidates"][0]
    assert not Campaign.objects.exists()
    data = form(dataset, candidates="n01/00.png")
    response = as_alice.post(reverse("labeling:campaign_new"), data)
    assert "Line 1: wnid is missing" in response.context["form"].errors["candidates"][0]


def test_the_price_counts_each_image_and_class_once(as_alice, dataset):
    rows(dataset, CAT, 2)
    lines = "n01/00.png,n01,a\nn01/00.png,n01,b\nn01/01.png,n01,a"

    response = as_alice.post(
        reverse("labeling:campaign_estimate"), form(dataset, candidates=lines, gold_share=0)
    )

    assert response.context["estimate"].questions == 2


def test_more_candidates_are_added_on_the_page(pets, as_alice, dataset):
    more = rows(dataset, DOG, 6)
    text = "\n".join(f"{row.image},{row.topic},{row.query}" for row in more)

    message = words_of(post(as_alice, pets, "questions_add", candidates=text))

    assert "2 candidates were added; 4 existed already." in message
    wrong = post(as_alice, pets, "questions_add", candidates="a.png,n01,q")
    assert "Line 1: 'a.png' is not in pond" in wrong.context["form"].errors["candidates"][0]


def test_what_not_to_confuse_a_class_with_is_written_on_its_page(pets, as_alice):
    topic = pets.topics.get(key=CAT)
    address = reverse("labeling:topic", args=[pets.name, topic.pk])
    assert "Siamese cat: another breed" in as_alice.get(address).content.decode()

    words = {"name": topic.name, "siblings": "lynx: with tufted ears\n\nangora\n: nothing"}
    as_alice.post(address, words)

    topic.refresh_from_db()
    assert topic.siblings == [
        {"name": "lynx", "definition": "with tufted ears"},
        {"name": "angora", "definition": ""},
    ]
    assert "angora" in as_alice.get(address).content.decode()
