"""Training, test and one's own standing: what is told, when, and to whom."""

import uuid

import pytest
from django.urls import reverse

from annotator.pages import reputation
from labeling.models import Answer, Decision, Membership
from labeling.quality import gold, qualifying
from tests import factories
from tests.clients import html_of, logged_in

pytestmark = pytest.mark.django_db

COOT = "n02018207"
LABEL, TRAINING, STANDING = (
    f"/campaigns/coots/{page}/" for page in ("label", "training", "standing")
)


@pytest.fixture
def as_bob(bob):
    return logged_in(bob)


def trained(alice, bob, dataset, **policy):
    """A campaign with eight gold questions whose answer is no, where Bob comes in."""
    campaign = factories.make_campaign(alice, dataset, images=3, policy=policy)
    for index in range(8):
        factories.make_image(dataset, f"gold/{index}.png")
    gold.add_gold(
        campaign,
        alice,
        [
            {
                "image": f"gold/{index}.png",
                "topic": COOT,
                "answer": "no",
                "explanation": "There is no bird in it.",
            }
            for index in range(8)
        ],
    )
    factories.join(bob, campaign)
    return campaign


def answer(client, value="no"):
    seat = client.get(LABEL, follow=True).context["first"]["seat"]
    sent = {"id": str(uuid.uuid4()), "seat": seat, "value": value, "duration_ms": "700"}
    return client.post(TRAINING, sent)


def stage_of(user):
    return Membership.objects.get(user=user).stage


def test_a_newcomer_is_led_to_training(alice, bob, dataset, as_bob):
    trained(alice, bob, dataset, training_questions=2)

    response = as_bob.get(LABEL, follow=True)

    assert response.redirect_chain[-1][0] == TRAINING
    assert b"after each answer you see the right one" in response.content


def test_training_tells_what_is_right_and_why(alice, bob, dataset, as_bob):
    trained(alice, bob, dataset, training_questions=3)

    right, wrong = answer(as_bob, "no"), answer(as_bob, "yes")

    assert right.context["results"][0]["right"]
    assert b"There is no bird in it." in right.content
    assert "the answer is <strong>No</strong>" in wrong.content.decode()
    assert wrong.context["progress"].done == 2


def test_the_test_tells_nothing_until_its_end(alice, bob, dataset, as_bob):
    trained(alice, bob, dataset, test_questions=2)

    first = answer(as_bob, "yes")
    between = as_bob.get(first["Location"])
    last = answer(as_bob, "yes")
    over = as_bob.get(last["Location"])

    assert first["Location"] == TRAINING
    assert b"no bird" not in between.content
    assert b"Not right" not in between.content
    assert last["Location"] == f"{TRAINING}?over=1"
    assert "0 of 2 right" in over.content.decode()
    assert over.context["progress"].attempts_left == 1


def test_who_passes_works(alice, bob, dataset, as_bob):
    trained(alice, bob, dataset, training_questions=1, test_questions=2)

    first_page, _, last = answer(as_bob), answer(as_bob), answer(as_bob)
    over = as_bob.get(last["Location"])

    assert b"Continue to the test" in first_page.content
    assert b"Passed" in over.content
    assert stage_of(bob) == "working"
    assert as_bob.get(LABEL).status_code == 200
    assert as_bob.get(TRAINING)["Location"] == LABEL


def test_who_fails_too_often_has_no_work_here(alice, bob, dataset, as_bob):
    trained(alice, bob, dataset, test_questions=2, test_attempts=1)

    answer(as_bob, "yes")
    over = as_bob.get(answer(as_bob, "yes")["Location"])
    label = as_bob.get(LABEL)

    assert b"Not passed" in over.content
    assert label.status_code == 403
    assert b"you get no questions in this campaign" in label.content


def test_a_form_sent_twice_answers_one_question(alice, bob, dataset, as_bob):
    trained(alice, bob, dataset, training_questions=3)
    seat = as_bob.get(LABEL, follow=True).context["first"]["seat"]
    sent = {"id": str(uuid.uuid4()), "seat": seat, "value": "no"}

    first, second = as_bob.post(TRAINING, sent), as_bob.post(TRAINING, sent)

    assert first.context["results"][0]["right"] == second.context["results"][0]["right"]
    assert Answer.objects.count() == 1


def test_a_seat_of_somebody_else_is_told_nothing(alice, bob, charlie, dataset, as_bob):
    campaign = trained(alice, bob, dataset, training_questions=3)
    factories.join(charlie, campaign)
    qualifying.begin(Membership.objects.get(user=charlie))
    [seat] = qualifying.next_gold(charlie, campaign, 1).seats
    as_bob.get(LABEL)

    response = as_bob.post(
        TRAINING, {"id": str(uuid.uuid4()), "seat": seat.token, "value": "no"}, follow=True
    )

    assert b"assigned to you" in response.content
    assert b"no bird" not in response.content
    assert not Answer.objects.exists()


@pytest.mark.parametrize(
    ("stage", "sentence"), [("paused", b"paused while a researcher"), ("blocked", b"has ended")]
)
def test_who_does_not_work_is_told_in_a_sentence(as_bob, bob, coots, stage, sentence):
    Membership.objects.filter(user=bob).update(stage=stage)

    response = as_bob.get(LABEL)

    assert response.status_code == 403
    assert sentence in response.content
    assert as_bob.get(TRAINING)["Location"] == LABEL


def test_standing_is_told_in_bands_and_late(as_bob, bob, coots):
    member = Membership.objects.filter(user=bob)
    before = as_bob.get(STANDING).content.decode()
    # Without the header, whose mark is drawn with figures of its own.
    member.update(
        answered=500,
        worked_ms=1_234_567,
        standing={
            "told": {"right": 46, "total": 50, "on": "2026-11-20"},
            "test": {"right": 59, "total": 60},
            "chance": {"agreed": 361, "answers": 400},
        },
    )

    after = html_of(as_bob.get(STANDING)).partition("<main")[2]

    assert before.count("too early to say") == 2
    assert "90 to 95 %" in after
    assert "about 9 in 10" in after
    assert ">2.5<" in after
    for figure in ("46", "59", "60", "361", "400"):
        assert figure not in after


def test_standing_tells_decisions_about_oneself_alone(as_bob, alice, bob, charlie, coots):
    factories.join(charlie, coots)
    for user, reason in [(bob, "Right on 3 of 9 gold questions."), (charlie, "Not his.")]:
        Decision.objects.create(
            campaign=coots,
            kind=Decision.Kind.STAGE,
            actor=alice,
            content={"annotator": user.pk, "from": "working", "stage": "paused"},
            reason=reason,
        )

    content = as_bob.get(STANDING).content.decode()

    assert "Right on 3 of 9 known questions." in content
    assert "Paused" in content
    assert "Not his" not in content
    assert "alice" not in content


def test_standing_asks_little_of_the_database(as_bob, coots, django_assert_num_queries):
    with django_assert_num_queries(8):
        as_bob.get(STANDING)


def test_bands_say_nothing_of_few():
    assert reputation.band(19, 19) is None
    assert reputation.band(20, 20) == "95 % or more"
    assert reputation.band(0, 20) == "less than 70 %"
    assert reputation.tenths(39, 39) is None


def test_pages_are_reached_from_home(as_bob, bob, coots):
    Membership.objects.filter(user=bob).update(answered=3)

    assert reverse("my_standing", args=["coots"]).encode() in as_bob.get("/").content
