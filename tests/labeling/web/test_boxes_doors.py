"""What is wrong with boxes is refused in the same words by page, API and command, and changes
nothing: proposals that do not fit, and pairs whose image is withdrawn half way."""

import pytest
from django.urls import reverse

from labeling.assignment import claiming
from labeling.follow_ups import following
from labeling.models import Campaign, Question
from labeling.web.forms.campaigns import NewCampaignForm
from tests import factories
from tests.cases import for_each
from tests.clients import API, logged_in, program, text_of, upload
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db
HEAD = "image,wnid,confidence,x0,y0,x1,y1\n"
SIDES = [1, 1, 20, 20]
FAULTS = {
    "outside": (("0.png", DOG, [1, 1, 90, 20]), "extends beyond its upright image of 64 × 48"),
    "no area": (("0.png", DOG, [1, 1, 1, 20]), "no area of a pixel"),
    "inverted": (("0.png", DOG, [20, 1, 1, 20]), "no area of a pixel"),
    "pixels of a turned file": (("0.png", DOG, [2, 40, 40, 60]), "its upright image of"),
    "a class that is not asked for": (("0.png", "n1", SIDES), "does not ask for 'n1'"),
    "an image of another dataset": (("far.png", DOG, SIDES), "Are these the proposals of another"),
}


@pytest.fixture
def pond(alice, dataset):
    """Two images, and one of another dataset of the same owner."""
    for name in ("0.png", "1.png"):
        factories.make_image(dataset, name)
    factories.make_image(factories.make_dataset(alice, "sea"), "far.png")
    return dataset


def by_page(user, dataset, row, **_):
    image, topic, sides = row
    form = {
        "title": "Boxes",
        "name": "boxes",
        "kind": "boxes",
        "dataset": dataset.pk,
        "questions": f"0.png,{DOG}\n1.png,{CAT}",
        **NewCampaignForm(user=user).initial,
    }
    line = ",".join(map(str, [image, topic, 0.9, *sides]))
    page = logged_in(user).post(
        "/campaigns/new/", {**form, "proposals_file": upload("p.csv", HEAD + line)}
    )
    return text_of(page).replace("&#x27;", "'")


def by_command(user, dataset, row, shell, tmp_path, **_):
    image, topic, sides = row
    (tmp_path / "labels.csv").write_text(f"image,wnid\n0.png,{DOG}\n1.png,{CAT}\n")
    line = ",".join(map(str, [image, topic, 0.9, *sides]))
    (tmp_path / "found.csv").write_text(HEAD + line)
    return shell.refusal(
        *("campaign", "open", "boxes", "--name", "boxes", "--dataset", dataset.name),
        *("--labels", tmp_path / "labels.csv", "--proposals", tmp_path / "found.csv"),
    )["error"]


@pytest.mark.usefixtures("wordnet")
@for_each("door", [by_page, by_command])
@for_each(("row", "message"), FAULTS.values())
def test_a_new_campaign_refuses_proposals_that_do_not_fit(
    alice, pond, shell, tmp_path, door, row, message
):
    assert message in door(alice, pond, row, shell=shell, tmp_path=tmp_path)
    assert not Campaign.objects.exists()
    assert not Question.objects.exists()


@pytest.fixture
def campaign(alice, pond):
    made = boxers.make(alice, pond, images=0)
    made.state = Campaign.State.OPEN
    made.save()
    return made


def ask(user, *rows):
    body = [{"image": image, "topic": topic, "boxes": [sides]} for image, topic, sides in rows]
    return program(user).post(API + "campaigns/boxes/questions/", {"questions": body})


@for_each(("row", "message"), FAULTS.values())
def test_a_program_s_proposals_that_do_not_fit_are_refused(alice, campaign, row, message):
    if "does not ask" in message:
        message = "such as 'n1'"

    answer = ask(alice, ("1.png", DOG, SIDES), row)

    assert answer.status_code == 400
    assert message in str(answer.json())
    assert not Question.objects.exists()
    assert [topic.key for topic in campaign.topics.all()] == [DOG]


def test_a_closed_campaign_takes_no_proposals(alice, campaign):
    Campaign.objects.update(state=Campaign.State.CLOSED)

    assert ask(alice, ("1.png", DOG, SIDES)).status_code == 409
    assert not Question.objects.exists()


def by_page_withdrawn(user, question):
    address = reverse("labeling:question_withdraw", args=["boxes", question.pk])
    page = logged_in(user).post(address, {"reason": "not ours"}, follow=True)
    assert "The question is withdrawn" in text_of(page)


def by_program_withdrawn(user, question):
    body = {"questions": [question.pk], "reason": "not ours"}
    assert program(user).post(API + "campaigns/boxes/questions/withdraw/", body).json() == {
        "count": 1,
        "kept": [],
    }


@pytest.mark.parametrize("withdraw", [by_page_withdrawn, by_program_withdrawn])
def test_a_pair_withdrawn_half_way_says_so_to_whoever_had_it_and_goes_on_when_asked_again(
    alice, pond, withdraw
):
    campaign = boxers.make(alice, pond, images=0)
    boxers.proposals(campaign, {})
    Campaign.objects.update(state=Campaign.State.OPEN)
    ask(alice, ("0.png", DOG, A))
    crowd = boxers.people(campaign, 4)
    boxers.settle(campaign, crowd, *([] if unassisted(campaign) else ["good"]))
    [question] = campaign.questions.filter(state="open")
    [seat] = claiming.next_page(crowd[-1], campaign, 1).seats

    withdraw(alice, question)

    value = box(B) if question.step == "draw" else "complete"
    late = boxers.answer(crowd[-1], seat, value)
    following.advance(campaign)
    assert (late.status, late.code) == ("refused", "question_closed")
    assert not campaign.questions.filter(state="open").exists()
    assert claiming.next_page(crowd[0], campaign, 1).seats == []
    again = ask(alice, ("0.png", DOG, A)).json()
    assert (again["created"], again["existing"], again["reopened"]) == (0, 0, 1)
    assert campaign.questions.get(state="open").step == question.step


def unassisted(campaign):
    return campaign.questions.get().step == "draw"
