"""Votes for vote tables, and standings worked out when somebody wants them: pages and API."""

from labeling.campaigns import lifecycle
from labeling.follow_ups import asking
from labeling.models import Campaign, Job
from labeling.quality import piloting
from tests import factories
from tests.cases import for_each
from tests.clients import text_of

API = "/api/v1/campaigns/coots"
PILOT = "/campaigns/coots/pilot/"


def test_a_pilot_says_its_price_before_it_asks_for_anything(desk, coots, run_jobs):
    assert "No pilot yet" in text_of(desk.get(PILOT))

    page = desk.post(PILOT, {"per_topic": "4", "seed": ""})

    assert "4 questions would get ten votes each" in text_of(page)
    assert "Nothing has been asked yet" in text_of(page)
    seed = page.context["form"].initial["seed"]
    assert not Job.objects.exists()
    # What was priced is what is asked.
    sent = {"per_topic": "4", "seed": str(seed), "confirmed": "1"}
    page = text_of(desk.post(PILOT, sent, follow=True))
    assert "A pilot is running" in page
    run_jobs()
    assert coots.decisions.get(content__has_key="pilot").content["seed"] == seed
    page = text_of(desk.get(PILOT))
    assert "0 of 4 questions of the pilot finished" in page
    assert "0 of 1 classes have a vote table; missing: American coot" in page


def test_a_sample_that_is_asked_already_cannot_be_asked_for_again(desk, coots, alice):
    piloting.ask_pilot(coots, alice, 4, 1)

    page = text_of(desk.post(PILOT, {"per_topic": "4", "seed": "1"}))

    assert "This sample was already used" in page
    assert 'name="confirmed"' not in page


@for_each("sent", [{"per_topic": "0"}, {}, {"per_topic": "10001"}])
def test_a_number_that_cannot_be_is_named_at_its_field(desk, coots, sent):
    page = desk.post(PILOT, sent | {"confirmed": "1"})

    assert text_of(page)
    assert "per_topic" in page.context["form"].errors
    assert not Job.objects.exists()


def test_the_page_of_the_pilot_asks_as_much_for_few_classes_as_for_many(
    desk, alice, dataset, django_assert_max_num_queries
):
    counts = []
    for number, topics in enumerate((2, 30)):
        campaign = factories.make_campaign(alice, dataset, f"c{number}", images=2)
        keys = [f"t{index:02}" for index in range(topics)]
        lifecycle.define_topics(campaign, [{"key": key, "name": key} for key in keys])
        asking.add_questions(campaign, [("coots/000.png", key) for key in keys])
        piloting.ask_pilot(campaign, alice, 2, 1)
        desk.get(f"/campaigns/c{number}/pilot/")
        with django_assert_max_num_queries(16) as queries:
            text_of(desk.get(f"/campaigns/c{number}/pilot/"))
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_standings_are_worked_out_when_a_researcher_wants_them(desk, coots, alice, run_jobs):
    quality = "/campaigns/coots/quality/"
    assert "Recompute reputations" in text_of(desk.get(quality))

    page = text_of(desk.post(f"{quality}calibrate/", follow=True))

    assert "Reputations are being recomputed" in page
    assert "Recompute reputations" not in page
    run_jobs()
    coots.refresh_from_db()
    assert coots.calibration.reason == f"asked for ({alice.username})"
    page = text_of(desk.get(quality))
    assert "(calibration 1:" in page
    assert "Recompute reputations" in page


def test_figures_of_boxes_are_learned_without_leaving_their_page(desk, coots):
    ask = desk.post("/campaigns/coots/quality/calibrate/", {"boxes": "1"})

    assert ask["Location"] == "/campaigns/coots/boxes/"
    assert "Computing the figures." in text_of(desk.get(ask["Location"]))


def test_programs_price_ask_and_follow_a_pilot(alices, coots, run_jobs):
    body = {"per_topic": 3, "seed": 5}

    plan = alices.post(f"{API}/pilots/preview/", body)

    assert (plan.status_code, plan.json()["questions"]) == (200, 3)
    assert alices.get(f"{API}/pilots/").json()["asked"] == 0
    job = alices.post(f"{API}/pilots/", body)
    assert (job.status_code, job.json()["kind"], job.json()["state"]) == (202, "pilot", "queued")
    run_jobs()
    assert alices.get(f"{API}/pilots/").json() == {
        "asked": 3,
        "decided": 0,
        "topics": 1,
        "tables": 0,
        "missing": ["American coot"],
        "missing_count": 1,
    }


@for_each("body", [{}, {"per_topic": 0}, {"per_topic": 1, "seed": -1}, {"x": 1}])
def test_programs_learn_what_is_wrong_with_a_pilot(alices, coots, body):
    for address in ("pilots/", "pilots/preview/"):
        assert alices.post(f"{API}/{address}", body).status_code == 400
    assert not Job.objects.exists()


def test_programs_have_standings_worked_out(alices, coots, alice, run_jobs):
    job = alices.post(f"{API}/calibrations/")

    assert (job.status_code, job.json()["kind"]) == (202, "calibrate")
    run_jobs()
    [row] = alices.get(f"{API}/calibrations/").json()["results"]
    assert (row["number"], row["reason"]) == (1, f"asked for ({alice.username})")
    assert Campaign.objects.get(name="coots").calibration.number == 1
