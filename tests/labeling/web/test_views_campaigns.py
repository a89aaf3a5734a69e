"""What the researcher's pages do with a campaign."""

import io
import json
import re
import zipfile

import pytest

from labeling.campaigns import lifecycle
from labeling.datasets import objects
from labeling.follow_ups import asking
from labeling.models import Campaign, Decision, Gold, Job, Membership, Question
from labeling.quality.gold import add_gold
from labeling.releases import freezing, snapshots
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in, text_of, upload
from tests.labeling import boxers, parted
from tests.labeling.crowd import answer_pages, crowd

COOT = "n02018207"
GOLD = parted.drawn(torso=parted.square(24, 10, 44, 30), leg="occluded", tail="not_visible")


def filled(dataset, **changes) -> dict:
    """A new campaign's form as a browser sends it."""
    from labeling.kinds import policies

    return {
        "title": "Autumn coots",
        "name": "autumn-coots",
        "kind": "contains",
        "dataset": dataset.pk,
        "instructions": "<b>Look</b> closely.",
        "questions": "",
        **policies.DEFAULTS,
        **changes,
    }


def test_new_campaign_is_a_draft_with_its_questions_and_classes(desk, dataset):
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    topics = upload("t.csv", b"wnid,name,definition\nn1,coot,a black bird\n")
    form = filled(dataset, questions="image,wnid\na.png,n1\nb.png,n1\nb.png,n1", votes=3)

    response = desk.post("/campaigns/new/", {**form, "topics_file": topics})

    assert response["Location"] == "/campaigns/autumn-coots/"
    campaign = Campaign.objects.get(name="autumn-coots")
    assert campaign.state == "draft"
    assert campaign.questions.count() == 2
    assert campaign.policy.content["votes"] == 3
    assert campaign.topics.get().name == "coot"


def test_new_campaign_takes_gold_as_text_or_file(desk, dataset):
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    form = filled(dataset, questions="a.png,n1\nb.png,n1")

    desk.post("/campaigns/new/", {**form, "gold": "a.png,n1,yes,White shield"})
    file = upload("gold.csv", b"image,wnid,answer\nb.png,n1,no\n")
    desk.post("/campaigns/new/", {**form, "name": "again", "gold_file": file})

    first, second = Campaign.objects.order_by("pk")
    gold = Gold.objects.get(question__campaign=first)
    assert (gold.answer, gold.explanation) == ("yes", "White shield")
    assert Gold.objects.get(question__campaign=second).answer == "no"
    assert first.questions.for_consensus().get().item.image.name == "b.png"


def test_new_box_campaign_takes_gold(desk, dataset):
    factories.make_image(dataset, "a.png")
    factories.make_image(dataset, "b.png")
    form = filled(dataset, kind="boxes", questions="b.png,n1")

    desk.post("/campaigns/new/", {**form, "gold": "a.png,n1,1,1,30,30"})

    assert Gold.objects.filter(question__campaign__name="autumn-coots").exists()


def test_a_new_naming_campaign_takes_gold(desk, dataset):
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    form = filled(dataset, kind="naming", vocabulary="n1,coot\nn2,duck")

    desk.post("/campaigns/new/", {**form, "gold": "a.png,label,n1,Red eyes"})

    gold = Gold.objects.get(question__campaign__name="autumn-coots")
    assert (gold.answer, gold.explanation) == ({"key": "n1"}, "Red eyes")
    made = Campaign.objects.get(name="autumn-coots")
    assert made.questions.for_consensus().get().item.image.name == "b.png"


def test_a_new_parts_campaign_takes_gold(desk, alice, dataset):
    parted.objects_in(dataset, 2)
    known = objects.in_dataset(dataset).select_related("image").earliest("pk")
    row = {"image": known.image.name, "object": known.name, "answer": GOLD}
    form = filled(dataset, kind="parts")

    desk.post("/campaigns/new/", {**form, "gold_file": upload("g.jsonl", json.dumps(row))})

    gold = Gold.objects.get(question__campaign__name="autumn-coots")
    assert gold.question.item_id == known.pk
    assert set(gold.answer["parts"]) == {"torso", "leg", "tail"}
    page = text_of(desk.post("/campaigns/new/", {**form, "name": "b", "gold": "a.png,cat-1,torso"}))
    assert "Line 1: answer is not a drawing in JSON." in page


def test_the_empty_form_keeps_nothing_that_somebody_sent(desk, dataset, django_assert_num_queries):
    empty = text_of(desk.get("/campaigns/new/"))

    sent = text_of(
        desk.post("/campaigns/new/", filled(dataset, seconds_per_answer=77, estimate="1"))
    )

    assert 'value="77"' in sent
    assert 'value="77"' not in empty
    with django_assert_num_queries(4):
        again = text_of(desk.get("/campaigns/new/"))
    assert 'value="77"' not in again
    assert again.count("<input") == empty.count("<input")


def test_naming_campaign_asks_about_every_image_unless_some_are_named(desk, dataset):
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    words = {"kind": "naming", "vocabulary": "coot,American coot\ndrake,drake"}

    desk.post("/campaigns/new/", filled(dataset, **words))
    desk.post("/campaigns/new/", filled(dataset, **words, name="one", images="b.png"))

    assert Campaign.objects.get(name="autumn-coots").questions.count() == 2
    assert Campaign.objects.get(name="one").questions.count() == 1
    assert len(Campaign.objects.get(name="one").settings["vocabulary"]) == 2


def test_naming_of_several_classes_has_examples(desk, dataset):
    for name in ("a.png", "b.png", "c.png"):
        factories.make_image(dataset, name)
    words = {"kind": "naming", "vocabulary": "coot,American coot\ndrake,drake", "most": 2}
    files = {"examples_file": upload("examples.csv", "image,wnid\na.png,coot\n")}

    desk.post("/campaigns/new/", filled(dataset, **words, **files))

    made = Campaign.objects.get(name="autumn-coots")
    assert made.settings["most"] == 2
    images = made.questions.values_list("item__image__name", flat=True)
    assert sorted(images) == ["b.png", "c.png"]
    assert made.topics.get(key="coot").examples.get().image.name == "a.png"


@for_each(
    ("changes", "message"),
    [
        ({"title": ""}, "Title is missing. Fill it in."),
        ({"name": "No Spaces"}, "cannot be a name: use 1 to 80 lower-case letters"),
        ({"name": "coots"}, "already called &#x27;coots&#x27;. Choose another name."),
        ({"questions": "a.png"}, "Line 1: wnid is missing. Write image,wnid on every line."),
        ({"questions": "x.png,n1"}, "1 of the images are not in pond: x.png. Add them"),
        ({"questions": "a.png,n1", "gold": "a.png,n1"}, "Line 1: answer is missing."),
        ({"gold": "x.png,n1,yes"}, "1 image of the gold is not in the dataset, the first is"),
        ({"votes": 7, "max_votes": 3}, "max_votes must be at least as large"),
        ({"votes": 99}, "less than or equal to 25"),
        ({"currency": "E1"}, "give three letters, like EUR"),
        ({"kind": "naming"}, "List the classes that people choose from."),
        ({"kind": "naming", "vocabulary": "a,x\na,y"}, "Keys must differ."),
    ],
)
def test_a_wrong_form_says_field_and_cure_and_makes_nothing(desk, coots, changes, message):
    response = desk.post("/campaigns/new/", filled(coots.dataset, **changes))

    assert message in text_of(response)
    assert Campaign.objects.count() == 1


def test_a_dataset_of_somebody_else_cannot_be_chosen(desk, bob):
    theirs = factories.make_dataset(bob, "theirs")

    response = desk.post("/campaigns/new/", filled(theirs))

    assert "not one of the available choices" in text_of(response)


def test_price_is_questions_times_votes_times_seconds(desk, dataset):
    form = filled(
        dataset, expected=900, votes=5, seconds_per_answer=4, cost_per_hour=18, gold_share=0.1
    )

    page = text_of(desk.post("/campaigns/new/estimate/", form))

    # 900 × 5 / 0.9 = 5000 answers × 4 s = 5 h 33 min, at 18 an hour 100.
    assert "5,000" in page
    assert "5 h 33 min" in page
    assert "100.00 EUR" in page


def test_price_is_shown_without_scripts_and_makes_nothing(desk, dataset):
    response = desk.post("/campaigns/new/", filled(dataset, expected=900, estimate="1"))

    assert "5,000" in text_of(response)
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("actions", "state"),
    [(["pause"], "paused"), (["pause", "resume"], "open"), (["close"], "closed")],
)
def test_state_buttons_move_the_campaign(desk, coots, actions, state):
    for action in actions:
        desk.post("/campaigns/coots/state/", {"move": action})

    coots.refresh_from_db()
    assert coots.state == state


def test_an_impossible_action_is_refused_and_changes_nothing(desk, coots):
    lifecycle.change_state(coots, None, "close")

    page = text_of(desk.post("/campaigns/coots/state/", {"move": "resume"}, follow=True))

    assert "The campaign is closed; you cannot resume it now." in page


def test_page_of_a_campaign_shows_progress_people_and_failed_jobs(desk, coots, bob):
    answer_pages(bob, coots, "yes")
    Job.objects.create(
        kind="score", key="1", campaign=coots, state="failed", error="The disk is full."
    )

    page = text_of(desk.get("/campaigns/coots/"))

    assert "0 of 6 questions finished" in page
    assert bob.pseudonym in page
    assert "The disk is full." in page
    assert "bob" not in page.replace(bob.pseudonym, "")


def test_progress_is_a_piece_of_page_that_replaces_itself(desk, coots):
    page = text_of(desk.get("/campaigns/coots/progress/"))

    assert "questions finished" in page
    assert "<html" not in page


def test_lists_cost_as_many_queries_for_many_rows_as_for_few(desk, alice, coots, bob):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    pages = ["/campaigns/", "/campaigns/coots/", "/campaigns/coots/questions/"]
    pages += ["/campaigns/coots/people/", "/campaigns/coots/gold/", "/campaigns/coots/jobs/"]
    pages += ["/campaigns/coots/topics/", "/datasets/", "/datasets/pond/"]

    def count(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert desk.get(path).status_code == 200
        return len(queries)

    def more_gold(numbers: range) -> None:
        for number in numbers:
            factories.make_image(coots.dataset, f"gold{number}.png")
        rows = [{"image": f"gold{n}.png", "topic": COOT, "answer": "yes"} for n in numbers]
        add_gold(coots, alice, rows)

    more_gold(range(1))
    # Standings are looked up as soon as anybody has answered.
    coots.memberships.filter(user=bob).update(answered=1)
    few = {path: count(path) for path in pages}
    crowd(coots, ["yes", "no", "yes", "hard", "yes", "no"])
    for number in range(4):
        factories.make_campaign(alice, coots.dataset, f"more{number}", launch=False)
        factories.make_dataset(alice, f"pool{number}")
        Job.objects.create(kind="score", key=str(number), campaign=coots, state="failed")
    more_gold(range(1, 5))
    lifecycle.define_topics(coots, [{"key": f"n{n}", "name": f"class {n}"} for n in range(4)])
    many = {path: count(path) for path in pages}

    # Two more where there is something now: who answered gold, jobs' links, seats and their votes.
    assert {path: many[path] - few[path] for path in pages if many[path] > few[path] + 2} == {}
    assert max(many.values()) <= 30


def test_questions_are_narrowed_by_state_class_and_name(desk, coots):
    first = coots.questions.order_by("pk").first()
    asking.withdraw_questions(coots, [first.pk], None, "")

    withdrawn = text_of(desk.get("/campaigns/coots/questions/?state=withdrawn"))
    page = text_of(desk.get("/campaigns/coots/questions/?q=003"))
    none = text_of(desk.get("/campaigns/coots/questions/?state=dropped"))

    assert "coots/000.png" in withdrawn
    assert "coots/003.png" not in withdrawn
    assert ">1 question<" in page
    assert "No matching questions" in none


def test_page_of_a_question_shows_votes_under_pseudonyms(desk, coots):
    people = crowd(coots, ["yes", "yes", "no", "yes", "hard"])
    question = coots.questions.order_by("pk").first()

    page = text_of(desk.get(f"/campaigns/coots/questions/{question.pk}/"))

    assert all(person.pseudonym in page for person in people)
    assert "crowd0" not in page
    assert "Yes, from 5 answers under version 1 of the rules" in page


def test_questions_are_added_to_what_is_asked(desk, coots):
    factories.make_image(coots.dataset, "new.png")
    form = {"questions": f"new.png,{COOT}\ncoots/000.png,{COOT}"}

    page = text_of(desk.post("/campaigns/coots/questions/add/", form, follow=True))

    assert "1 question was added; 1 existed already." in page


def test_a_question_is_withdrawn_with_its_reason(desk, coots):
    question = coots.questions.order_by("pk").first()

    desk.post(f"/campaigns/coots/questions/{question.pk}/withdraw/", {"reason": "blurred"})

    question.refresh_from_db()
    assert question.state == "withdrawn"
    assert Decision.objects.get(kind="drop").reason == "blurred"


@pytest.fixture
def torn(alice, dataset) -> Campaign:
    """A campaign whose two questions could not be decided by votes."""
    campaign = factories.make_campaign(
        alice, dataset, "torn", images=2, policy={"votes": 2, "max_votes": 2, "gold_share": 0}
    )
    crowd(campaign, ["yes", "no"])
    assert set(campaign.questions.values_list("state", flat=True)) == {"review"}
    return campaign


def test_a_reviewer_decides_and_the_next_one_comes(torn):
    rita = factories.make_user("rita")
    factories.join(rita, torn, "reviewer")
    client = logged_in(rita)
    first, second = torn.questions.order_by("pk")
    before = client.get("/campaigns/torn/review/").content.decode()

    address = f"/campaigns/torn/questions/{first.pk}/decide/"
    after = text_of(client.post(address, {"value": "yes", "reason": "a beak"}, follow=True))

    first.refresh_from_db()
    assert first.state == "settled"
    assert first.settlements.latest("pk").value == "yes"
    assert len(first.settlements.latest("pk").answers) == 2
    assert Decision.objects.get(kind="review").reason == "a beak"
    assert f"questions/{first.pk}/decide" in before
    assert f"questions/{second.pk}/decide" in after


def test_dropping_in_review_asks_for_a_replacement(desk, torn):
    question = torn.questions.order_by("pk").first()

    desk.post(f"/campaigns/torn/questions/{question.pk}/decide/", {"value": "drop"})

    question.refresh_from_db()
    assert question.state == "dropped"
    assert Job.objects.get(kind="question dropped").payload == {"question": question.pk}


@for_each("value", ["hard", "maybe", "", "{broken"])
def test_no_verdict_is_not_taken_for_one(desk, torn, value):
    question = torn.questions.order_by("pk").first()

    page = text_of(desk.post(f"/campaigns/torn/questions/{question.pk}/decide/", {"value": value}))

    question.refresh_from_db()
    assert question.state == "review"
    assert "Choose" in page


def test_who_freezes_too_early_reads_how_many_questions_are_not_in_it(desk, coots):
    page = text_of(desk.post("/campaigns/coots/releases/freeze/", follow=True))

    open_now = coots.questions.filter(state="open").count()
    assert f"{open_now} questions are not settled yet and therefore not included" in page


def test_a_release_is_frozen_once_and_downloaded_as_a_zip(desk, coots):
    crowd(coots, ["yes"] * 5)

    desk.post("/campaigns/coots/releases/freeze/")
    again = text_of(desk.post("/campaigns/coots/releases/freeze/", follow=True))
    response = desk.get("/campaigns/coots/releases/1/download")

    assert "Nothing has changed since release 1" in again
    archive = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    assert "coots-1/release.json" in archive.namelist()
    assert response["Content-Type"] == "application/zip"


def test_a_large_campaign_is_frozen_by_a_job_that_the_page_shows(
    desk, coots, run_jobs, monkeypatch
):
    crowd(coots, ["yes"] * 5)
    monkeypatch.setattr(snapshots, "FEW_CHUNKS", 0)

    page = text_of(desk.post("/campaigns/coots/releases/freeze/", follow=True))
    assert "The release is being created" in page
    assert not coots.releases.exists()
    assert "is being created" in text_of(desk.get("/campaigns/coots/releases/"))
    run_jobs()

    assert coots.releases.get().counts["settled"]
    assert "is being created" not in text_of(desk.get("/campaigns/coots/releases/"))


def test_a_release_that_is_not_there_is_not_found(desk, coots):
    assert desk.get("/campaigns/coots/releases/9/download").status_code == 404


def test_a_failed_job_is_tried_again(desk, coots):
    job = Job.objects.create(
        kind="score", key="1", campaign=coots, state="failed", error="No room", attempts=3
    )

    page = text_of(desk.get("/campaigns/coots/jobs/"))
    desk.post(f"/campaigns/coots/jobs/{job.pk}/retry/")

    assert "No room" in page
    job.refresh_from_db()
    assert job.state == "queued"


@pytest.mark.parametrize("kind", ["nightly", "watch"])
def test_what_is_done_again_and_again_is_among_the_jobs_unless_it_went_well(desk, coots, kind):
    for state in ("done", "failed", "running", "queued"):
        Job.objects.create(kind=kind, key=f"key-{state}", campaign=coots, state=state)

    jobs = desk.get("/campaigns/coots/jobs/").context["page_obj"]

    assert {job.state for job in jobs} == {"failed", "running", "queued"}


def test_an_invitation_shows_its_link_once(desk, coots):
    form = {"role": "annotator", "days": 7, "max_uses": 3, "note": "lab"}

    page = text_of(desk.post("/campaigns/coots/invitations/", form))
    later = text_of(desk.get("/campaigns/coots/people/"))

    assert "http://testserver/join/" in page
    assert "up to 3 people may join with it as annotator." in page
    assert "/join/" not in later
    assert "0 of 3" in later


def test_an_invitation_is_withdrawn(desk, coots, alice):
    from labeling.quality import memberships

    invitation, secret = memberships.invite(coots, alice)

    desk.post(f"/campaigns/coots/invitations/{invitation.pk}/revoke/")

    assert memberships.find_invitation(secret) is None


@for_each(
    ("changes", "message"),
    [({"days": 0}, "greater than or equal to 1"), ({"role": "king"}, "Select a valid choice")],
)
def test_a_wrong_invitation_says_why(desk, coots, changes, message):
    form = {"role": "annotator", "days": 7, "max_uses": 1, **changes}

    assert message in text_of(desk.post("/campaigns/coots/invitations/", form))
    assert not coots.invitations.exists()


def test_roles_change_and_members_leave(desk, coots, bob):
    member = coots.memberships.get(user=bob)

    desk.post(f"/campaigns/coots/people/{member.pk}/role/", {"role": "reviewer"})
    changed = Membership.objects.get(pk=member.pk)
    desk.post(f"/campaigns/coots/people/{member.pk}/remove/")

    assert changed.role == "reviewer"
    assert Membership.objects.get(pk=member.pk).left_at is not None


def test_gold_is_added_by_hand_and_by_list(desk, coots):
    for name in ("g1.png", "g2.png"):
        factories.make_image(coots.dataset, name)
    form = {"image": "g1.png", "topic": COOT, "answer": "yes", "explanation": "A beak."}
    file = upload("gold.csv", f"image,wnid,answer\ng2.png,{COOT},no\n")

    desk.post("/campaigns/coots/gold/add/", form)
    desk.post("/campaigns/coots/gold/upload/", {"gold_file": file})

    gold = coots.questions.filter(state=Question.State.GOLD).order_by("pk")
    assert [row.gold.answer for row in gold] == ["yes", "no"]
    assert "A beak." in text_of(desk.get("/campaigns/coots/gold/"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("g1.png,n0,yes", "such as &#x27;n0&#x27;"),
        (f"lost.png,{COOT},yes", "not in the dataset"),
        (f"g1.png,{COOT},maybe", "Row 1: This is not an answer"),
        ("g1.png", "Line 1: wnid is missing"),
    ],
)
def test_a_wrong_list_of_gold_is_refused_whole(desk, coots, line, message):
    factories.make_image(coots.dataset, "g1.png")
    file = upload("gold.csv", line)

    page = text_of(desk.post("/campaigns/coots/gold/upload/", {"gold_file": file}))

    assert message in page
    assert not coots.questions.filter(state=Question.State.GOLD).exists()


def test_a_settled_question_becomes_gold_and_retires(desk, coots):
    crowd(coots, ["yes"] * 5)
    question = coots.questions.order_by("pk").first()

    desk.post("/campaigns/coots/gold/promote/", {"question": question.pk})
    gold = coots.questions.get(state=Question.State.GOLD)
    desk.post(f"/campaigns/coots/gold/{gold.pk}/retire/")

    assert gold.gold.answer == "yes"
    gold.gold.refresh_from_db()
    assert gold.gold.retired_at is not None


def test_a_class_gets_guidance_and_examples(desk, coots):
    topic = coots.topics.get()
    words = {
        "name": "coot",
        "synonyms": "mud hen; marsh hen",
        "definition": "",
        "url": "https://example.org/coot",
        "guidance": "White bill.",
    }
    example = {"image": "coots/000.png", "answer": "yes", "caption": "the bill"}

    desk.post(f"/campaigns/coots/topics/{topic.pk}/", words)
    desk.post(f"/campaigns/coots/topics/{topic.pk}/examples/", example)
    page = text_of(desk.get(f"/campaigns/coots/topics/{topic.pk}/"))

    topic.refresh_from_db()
    assert topic.synonyms == ["mud hen", "marsh hen"]
    assert "the bill" in page
    desk.post(
        f"/campaigns/coots/topics/{topic.pk}/examples/remove/", {"example": topic.examples.get().pk}
    )
    assert not topic.examples.exists()


def test_classes_are_named_by_a_list(desk, coots):
    file = upload("t.csv", f"{COOT},water hen,a bird,moorhen;coot\n")

    desk.post("/campaigns/coots/topics/", {"topics_file": file})

    topic = coots.topics.get()
    assert topic.name == "water hen"
    assert topic.synonyms == ["moorhen", "coot"]


@for_each("key", ["9" * 30, "9" * 5000, "a"])
def test_a_key_that_no_row_can_have_changes_nothing(desk, coots, key):
    topic = coots.topics.get()
    promoted = desk.post("/campaigns/coots/gold/promote/", {"question": key})
    removed = desk.post(f"/campaigns/coots/topics/{topic.pk}/examples/remove/", {"example": key})

    assert (promoted.status_code, removed.status_code) == (302, 302)
    assert promoted.url == "/campaigns/coots/gold/"


def test_a_reason_is_kept_without_its_nul(desk, coots):
    question = coots.questions.first()

    desk.post(f"/campaigns/coots/questions/{question.pk}/withdraw/", {"reason": "a\0b"})

    assert coots.decisions.get(kind="drop").reason == "ab"


@for_each(
    ("address", "form", "message"),
    [
        ("gold/add/", {"topic": COOT, "answer": "yes"}, "Choose one of the images"),
        ("topics/{}/", {"name": "x", "url": "javascript:x"}, "Enter a valid URL"),
        ("topics/{}/examples/", {"image": "lost.png", "answer": "yes"}, "pond has no image"),
    ],
)
def test_a_wrong_form_of_gold_or_a_class_says_what_is_wrong(desk, coots, address, form, message):
    address = f"/campaigns/coots/{address.format(coots.topics.get().pk)}"

    assert message in text_of(desk.post(address, form))


DETECTED = "image,wnid,confidence,x0,y0,x1,y1\na.png,n1,.9,1,1,20,20\n"


def test_boxes_are_asked_of_listed_classes_with_proposals(desk, dataset):
    factories.make_image(dataset, "a.png")
    factories.make_image(dataset, "b.png")
    form = filled(dataset, kind="boxes", questions="a.png,n1\nb.png,n1", checks=3, complete="on")

    desk.post("/campaigns/new/", {**form, "proposals_file": upload("p.csv", DETECTED.encode())})

    campaign = Campaign.objects.get()
    steps = campaign.questions.order_by("pk").values_list("step", "seats_free")
    assert list(steps) == [("check", 3), ("draw", 1)]
    assert campaign.policy.content["checks"] == 3
    assert campaign.settings == {"complete": True, "labels": None}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a.png,n2,.9,1,1,20,20\n", "Line 1: the campaign does not ask for &#x27;n2&#x27;"),
        ("a.png,n1,.9,1,1,200,20\n", "extends beyond its upright image of 64 × 48 pixels"),
    ],
)
def test_proposals_that_do_not_fit_are_said_at_their_file(desk, dataset, rows, message):
    factories.make_image(dataset, "a.png")
    form = filled(dataset, kind="boxes", questions="a.png,n1")

    response = desk.post(
        "/campaigns/new/", {**form, "proposals_file": upload("p.csv", rows.encode())}
    )

    assert message in text_of(response)
    assert not Campaign.objects.exists()


def test_boxes_are_asked_of_what_a_release_says(desk, alice, dataset):
    factories.make_image(dataset, "a.png")
    source = boxers.labeled(alice, dataset, "contains", {("a.png", boxers.DOG): "yes"})
    release = freezing.freeze(source)

    desk.post("/campaigns/new/", filled(dataset, kind="boxes", release=release.pk))

    campaign = Campaign.objects.get(name="autumn-coots")
    assert campaign.questions.get().topic == boxers.DOG
    assert campaign.settings["labels"]["sha256"] == release.sha256


def test_rules_of_boxes_are_for_boxes(desk, dataset):
    factories.make_image(dataset, "a.png")

    desk.post("/campaigns/new/", filled(dataset, questions="a.png,n1", checks=5))

    assert "checks" not in Campaign.objects.get().policy.content
    assert "Checks per box" not in text_of(desk.get("/campaigns/autumn-coots/policy/"))


def test_boxes_have_no_rules_of_votes(desk, alice, dataset):
    campaign = boxers.make(alice, dataset)
    page = desk.get("/campaigns/boxes/policy/")
    form = page.context["form"]

    assert "Votes per question" not in text_of(page)
    desk.post("/campaigns/boxes/policy/", {**form.initial, "checks": 3})

    campaign.refresh_from_db()
    assert campaign.policy.content["checks"] == 3


def test_a_preset_sets_rules_that_a_file_and_changed_fields_replace(desk, dataset):
    rules = b"votes: 7\ntest_questions: 12\n"
    form = filled(dataset, preset="careful", training_questions=8)

    desk.post("/campaigns/new/", {**form, "policy_file": upload("rules.yaml", rules)})
    desk.post("/campaigns/new/", filled(dataset, preset="cheap", name="b", kind="naming"))
    made = Campaign.objects.get(name="autumn-coots").policy.content

    assert (made["votes"], made["test_questions"], made["training_questions"]) == (7, 12, 8)


def test_a_faulty_policy_file_creates_nothing(desk, dataset):
    for content, sentence in ((b"votes: [", "is not YAML"), (b"vots: 3", "vots")):
        form = filled(dataset, policy_file=upload("rules.yaml", content))
        assert sentence in text_of(desk.post("/campaigns/new/", form))
    assert not Campaign.objects.filter(name="autumn-coots").exists()


def test_the_estimate_compares_presets_and_states_an_error_only_with_a_model(desk, dataset):
    form = filled(dataset, expected=900, cost_per_hour=18)
    page = text_of(desk.post("/campaigns/new/estimate/", form))
    boxes = text_of(
        desk.post("/campaigns/new/estimate/", filled(dataset, kind="boxes", expected=9))
    )

    assert "Careful" in page
    assert re.search(r"Cheap.* EUR.*2\.\d votes, error\s+2\d ?%", page)
    assert re.search(r"Cheap.*votes, error\s+unknown", boxes)
