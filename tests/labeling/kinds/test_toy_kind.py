"""A kind from outside: "pick a colour", in a package of its own, registered by settings alone."""

import csv
import io
import json
import uuid
import zipfile

import pytest
from django.test import Client
from django.urls import reverse

from annotator import checks
from labeling.campaigns import lifecycle
from labeling.exchange import export_files
from labeling.follow_ups import opening
from labeling.kinds import KINDS
from labeling.models import Question, Seat
from labeling.releases import freezing
from tests import factories

pytestmark = pytest.mark.django_db

KIND = """
from labeling.kinds.base import CLASS, IMAGES, ChoiceKind


class Colour(ChoiceKind):
    name = "colour"
    title = "Which colour is it?"
    asks = IMAGES
    release = CLASS
    options = (("red", "Red", "r"), ("blue", "Blue", "b"), ("unclear", "Unclear", "u"))
    abstentions = frozenset({"unclear"})


class Nothing(ChoiceKind):
    name = "nothing"
    title = "What is it?"


class Half(ChoiceKind):
    name, title, asks, release = "half", "Half?", IMAGES, "colours"
    options = Colour.options


class Again(Colour):
    pass
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "toy_colours.py").write_text(KIND)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def add_kind(package, settings):
    def add(name, page="annotator.kinds.choices.Choices"):
        paths = settings.ASSAY_QUESTION_KINDS
        settings.ASSAY_QUESTION_KINDS = {**paths, f"toy_colours.{name}": page}

    return add


@pytest.fixture
def campaign(add_kind, alice, bob, dataset):
    add_kind("Colour")
    names = [factories.make_image(dataset, f"{number}.png").name for number in range(2)]
    made = lifecycle.create(
        alice,
        name="colours",
        title="Colours",
        kind="colour",
        dataset=dataset,
        policy={"votes": 2, "max_votes": 3},
    )
    opening.ask(made, opening.naming_pairs(dataset, names))
    factories.join(bob, made)
    return lifecycle.launch(made, alice)


def client_of(user):
    client = Client()
    client.force_login(user)
    return client


def test_a_kind_of_its_own_package_is_labeled_settled_frozen_and_exported(
    campaign, alice, bob, charlie
):
    factories.join(charlie, campaign)
    by_page(bob, {"0.png": "red", "1.png": "unclear"})
    by_api(charlie, {"0.png": "red", "1.png": "unclear"})

    settled = campaign.questions.get(item__image__name="0.png")
    assert settled.state == Question.State.SETTLED
    assert settled.settlements.get().value == "red"

    release = freezing.freeze(campaign, alice)
    first, second = freezing.read(release).answers()
    assert (first["wnid"], first["votes"]) == ("red", {"red": 2})
    assert (second["wnid"], second["votes"]) == (None, {"unclear": 2})
    assert not {"contains"} & (first.keys() | second.keys())

    rows = csv.DictReader(io.StringIO(exported(release, "csv", "/labels.csv")))
    assert [(row["image"], row["class"], row["value"]) for row in rows] == [("0.png", "red", "yes")]
    assert '"Red"' in exported(release, "coco", "/labels.json")


def exported(release, format_name, ending):
    """The text of the file so named in the release's labels."""
    with export_files.fetch(release, format_name) as file, zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        [name] = [name for name in names if name.endswith(ending)] or [str(names)]
        return archive.read(name).decode()


def by_page(user, answers):
    """Answers the campaign by the forms of the labeling page, as a browser without scripts."""
    client, address = client_of(user), reverse("label", args=["colours"])
    for _ in answers:
        page = client.get(address)
        assert "Which colour is it?" in page.content.decode()
        assert 'data-key="r"' in page.content.decode()
        seat = page.context["first"]["seat"]
        image = Seat.objects.get(token=seat).question.item.image.name
        form = {"id": str(uuid.uuid4()), "seat": seat, "value": answers[image]}
        assert "after=" in client.post(address, form)["Location"]


def by_api(user, answers):
    """Answers page by page: near the end a page has a fair share of the last questions."""
    client = client_of(user)
    seats_url, sent = (
        reverse("api:seats", args=["colours"]),
        reverse("api:answers", args=["colours"]),
    )
    answered = 0
    while page := client.post(seats_url, {"size": 5}, content_type="application/json").json()[
        "seats"
    ]:
        rows = []
        for row in page:
            image = Seat.objects.get(token=row["seat"]).question.item.image.name
            rows.append({"id": str(uuid.uuid4()), "seat": row["seat"], "value": answers[image]})
        done = client.post(sent, {"answers": rows}, content_type="application/json").json()
        assert {result["status"] for result in done["results"]} == {"accepted"}
        answered += len(rows)
    assert answered == len(answers)


def test_researchers_have_every_page_of_it(campaign, alice):
    client = client_of(alice)

    for name in ("campaign", "questions", "questions_add", "gold", "review", "quality", "releases"):
        assert client.get(reverse(f"labeling:{name}", args=["colours"])).status_code == 200
    assert "Red" in client.get(reverse("preview", args=["colours"])).content.decode()
    new = client.get(reverse("labeling:campaign_new")).content.decode()
    assert "Which colour is it?" in new
    assert 'data-kind="naming colour hierarchy"' in new


def test_programs_open_campaigns_of_it(add_kind, alice, dataset):
    add_kind("Colour")
    body = {"name": "hues", "title": "Hues", "kind": "colour", "dataset": dataset.name}

    made = client_of(alice).post(
        reverse("api:campaigns"), json.dumps(body), content_type="application/json"
    )

    assert (made.status_code, made.json()["kind"]) == (201, "colour")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Nothing", "toy_colours.Nothing lacks: asks, release, options"),
        ("Half", "toy_colours.Half.release is 'colours'; give one of: contains, class"),
    ],
)
def test_a_kind_that_leaves_something_out_is_refused_when_it_is_loaded(add_kind, name, words):
    add_kind(name)

    with pytest.raises(TypeError, match=words):
        KINDS["contains"]


def test_two_kinds_of_one_name_are_refused(add_kind, package, settings):
    add_kind("Colour")
    add_kind("Again")

    with pytest.raises(TypeError, match="Two question kinds are named 'colour'"):
        KINDS["contains"]


def test_a_kind_without_a_page_is_found_by_the_checks(add_kind):
    add_kind("Colour", "toy_colours.Colour")

    [error] = checks.kinds_have_pages(None)

    assert "toy_colours.Colour is not a page of a kind" in error.msg
