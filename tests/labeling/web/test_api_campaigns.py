"""A campaign from an empty dataset to a frozen release, by programs alone."""

import io
import json
import uuid
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.models import Campaign, Question
from tests import factories
from tests.clients import API, program
from tests.labeling import parted

COOT = "n02018207"


@pytest.fixture
def bobs(bob) -> APIClient:
    return program(bob)


def png(seed: int, name: str = "x.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, factories.picture(seed), "image/png")


def test_a_campaign_runs_from_upload_to_release_by_programs_alone(alices, bobs, run_jobs):
    """Nothing but the API: what the pages can do, programs can."""
    assert alices.post(API + "datasets/", {"name": "pond"}).status_code == 201
    files = [png(seed, f"{seed}.png") for seed in range(3)]
    report = alices.post(
        API + "datasets/pond/images/",
        {"files": files, "names": ["a/0.png", "a/1.png", "a/2.png"], "licence": "CC0"},
        format="multipart",
    )
    assert report.json() == {"added": 3, "duplicates": [], "refused": [], "near_duplicates": []}
    made = alices.post(
        API + "campaigns/",
        {
            "name": "coots",
            "title": "Coots",
            "kind": "contains",
            "dataset": "pond",
            "policy": {"votes": 1, "gold_share": 0.0},
        },
    )
    assert (made.status_code, made.json()["state"]) == (201, "draft")
    base = API + "campaigns/coots/"
    topics = {"topics": [{"key": COOT, "name": "American coot"}]}
    assert alices.post(base + "topics/", topics).json() == {"count": 1}
    pairs = [{"image": f"a/{n}.png", "topic": COOT} for n in range(3)]
    for created, existing in ((3, 0), (0, 3)):
        added = alices.post(base + "questions/", {"questions": pairs}).json()
        assert added == {"created": created, "existing": existing, "reopened": 0}
    assert alices.post(base + "launch/").json()["state"] == "open"
    invitation = alices.post(base + "invitations/", {"note": "for Bob"}).json()
    joined = bobs.post(API + "invitations/accept/", {"secret": invitation["secret"]}).json()
    assert (joined["campaign"], joined["role"]) == ("coots", "annotator")

    page = bobs.post(base + "seats/", {}).json()
    answers = [
        {"id": str(uuid.uuid4()), "seat": seat["seat"], "value": "yes", "duration_ms": 900}
        for seat in page["seats"]
    ]
    for _ in range(2):
        results = bobs.post(base + "answers/", {"answers": answers}).json()["results"]
        assert [result["status"] for result in results] == ["accepted"] * 3

    progress = alices.get(base + "progress/").json()
    assert (progress["by_state"]["settled"], progress["answers"]) == (3, 3)
    settled = alices.get(base + "questions/?state=settled").json()["results"]
    assert {(row["image"], row["value"]) for row in settled} == {
        (f"a/{n}.png", "yes") for n in range(3)
    }
    first, again = (alices.post(base + "releases/") for _ in range(2))
    assert first.status_code == 201
    assert again.json() == first.json()
    file = alices.get(base + "releases/1/files/answers.jsonl/")
    lines = [json.loads(line) for line in b"".join(file).splitlines()]
    assert [line["contains"] for line in lines] == [True, True, True]
    [bob_row] = [
        row for row in alices.get(base + "members/").json()["results"] if row["role"] == "annotator"
    ]
    assert bob_row["answered"] == 3


def test_a_seat_has_an_image_that_only_its_person_gets(coots, alices, bobs):
    seat = bobs.post(API + "campaigns/coots/seats/", {"size": 1}).json()["seats"][0]

    mine = bobs.get(seat["image"])

    assert (mine.status_code, mine["Content-Type"]) == (200, "image/png")
    assert alices.get(seat["image"]).status_code == 403
    assert bobs.get(seat["image"].replace("s=", "s=x")).status_code == 403
    assert APIClient().get(seat["image"]).status_code == 401


def test_a_skipped_seat_is_free_for_others_and_skipping_twice_is_no_error(coots, bobs):
    seat = bobs.post(API + "campaigns/coots/seats/", {"size": 1}).json()["seats"][0]["seat"]

    codes = [bobs.post(f"{API}seats/{seat}/skip/").status_code for _ in range(2)]

    assert codes == [204, 204]
    assert not coots.questions.filter(seats_free=4).exists()


def test_zip_and_path_uploads_become_imports(alices, dataset, settings, tmp_path, run_jobs):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("one.png", factories.picture(1))
        packed.writestr("../slip.png", factories.picture(2))
    root = tmp_path / "import"
    (root / "birds").mkdir(parents=True)
    (root / "birds" / "three.png").write_bytes(factories.picture(3))
    (tmp_path / "outside.png").write_bytes(factories.picture(4))
    settings.ASSAY_IMPORT_ROOT = str(root)
    address = API + "datasets/pond/images/"

    zipped = alices.post(
        address, {"zip": SimpleUploadedFile("x.zip", archive.getvalue())}, format="multipart"
    )
    by_path = alices.post(address, {"path": "birds"})
    assert (zipped.status_code, by_path.status_code) == (202, 202)
    assert (zipped.json()["state"], zipped.json()["name"]) == ("queued", "x.zip")
    imports = API + "datasets/pond/imports/"
    assert alices.post(f"{imports}{by_path.json()['id']}/retry/").status_code == 409
    run_jobs()

    report = alices.get(f"{imports}{zipped.json()['id']}/").json()
    assert (report["state"], report["added"], report["refused"]) == ("done", 1, 1)
    assert [row["file"] for row in report["report"]["refused"]] == ["../slip.png"]
    imports_of_pond = alices.get(imports).json()["results"]
    assert [(row["name"], row["added"]) for row in imports_of_pond] == [("birds", 1), ("x.zip", 1)]
    assert "report" not in imports_of_pond[0]
    for path in ("../outside.png", "/etc", "http://example.org/a.zip", "file:///etc/passwd"):
        refused = alices.post(address, {"path": path})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "path")


def test_more_than_twenty_files_become_an_import_under_their_names(alices, dataset, run_jobs):
    files = [png(seed) for seed in range(21)]
    names = [f"birds/{seed}.png" for seed in range(21)]

    response = alices.post(
        API + "datasets/pond/images/", {"files": files, "names": names}, format="multipart"
    )
    run_jobs()

    assert response.status_code == 202
    assert set(dataset.images.values_list("name", flat=True)) == set(names)


def test_a_failed_import_says_why_and_is_tried_again(alices, dataset, settings, tmp_path, run_jobs):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    (tmp_path / "list.csv").write_text("picture\na.png\n")
    made = alices.post(API + "datasets/pond/images/", {"path": "list.csv"}).json()
    address = f"{API}datasets/pond/imports/{made['id']}/"
    run_jobs()
    failed = alices.get(address).json()
    (tmp_path / "list.csv").write_text("file\n")

    again = alices.post(f"{address}retry/")
    run_jobs()

    assert failed["state"] == "failed"
    assert "no column file" in failed["error"]
    assert (again.status_code, again.json()["state"]) == (202, "queued")
    assert alices.get(address).json()["state"] == "done"


def test_only_the_owner_adds_images(coots, dataset):
    rita = factories.make_user("rita", is_researcher=True)
    factories.join(rita, coots, "researcher")

    response = program(rita).post(
        API + "datasets/pond/images/", {"files": [png(9)]}, format="multipart"
    )

    assert response.status_code == 403
    assert program(rita).get(API + "datasets/pond/images/").status_code == 200


def test_gold_is_added_listed_and_retired(coots, alices, dataset):
    factories.make_image(dataset, "gold.png")
    base = API + "campaigns/coots/gold/"
    row = {"image": "gold.png", "topic": COOT, "answer": "no", "explanation": "A moorhen."}

    assert alices.post(base, {"gold": [row]}).json() == {"count": 1}
    [gold] = alices.get(base).json()["results"]
    retired = alices.post(f"{base}{gold['question']}/retire/", {"reason": "Disputed."})

    assert gold["answer"] == "no"
    assert retired.json()["retired_at"] is not None
    assert alices.get(base + "?retired=false").json()["results"] == []
    listed_questions = alices.get(API + "campaigns/coots/questions/").json()["results"]
    assert all(question["image"] != "gold.png" for question in listed_questions)


def test_gold_replaces_a_question_only_on_confirmation(coots, alices, bob):
    free, held = coots.questions.order_by("pk")[:2]
    coots.questions.exclude(pk=held.pk).update(seats_free=0)
    claiming.next_page(bob, coots, 1)
    base = API + "campaigns/coots/gold/"

    def add(question, **more):
        row = {"image": question.item.image.name, "topic": COOT, "answer": "no"}
        return alices.post(base, {"gold": [row], **more}).status_code

    assert [add(free), add(free, replace=False), add(held, replace=True)] == [409] * 3
    assert add(free, replace=True) == 201
    assert [coots.questions.get(pk=row.pk).state for row in (free, held)] == ["gold", "open"]


def test_a_reviewer_decides_once(coots, alices):
    question = coots.questions.earliest("pk")
    Question.objects.filter(pk=question.pk).update(state="review", seats_free=0)
    address = f"{API}campaigns/coots/questions/{question.pk}/review/"

    decided = alices.post(address, {"value": "no", "reason": "Clear to me."})
    again = alices.post(address, {"value": "yes"})

    assert (decided.status_code, decided.json()["value"]) == (200, "no")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    kinds = [
        row["kind"] for row in alices.get(API + "campaigns/coots/decisions/").json()["results"]
    ]
    assert kinds[0] == "review"


def test_a_program_accepts_and_sends_back_what_was_drawn(alice, bob, dataset, alices):
    cats = parted.parts_campaign(alice, dataset, name="cats", count=2)
    factories.join(bob, cats)
    torso = parted.drawn(torso=parted.square(20, 10, 40, 30))
    for seat in claiming.next_page(bob, cats).seats:
        sent = submitting.SubmittedAnswer(uuid.uuid4(), seat.token, torso, 9_000)
        assert submitting.submit(bob, cats, [sent])[0].status == "accepted"
    first, second = cats.questions.order_by("pk")
    address = f"{API}campaigns/cats/questions/"

    stale = alices.post(f"{address}{first.pk}/accept/", {"seen": 2**40})
    accepted = alices.post(f"{address}{first.pk}/accept/", {})
    faulty = alices.post(f"{address}{second.pk}/send-back/", {"note": "No.", "answers": []})
    sent = alices.post(f"{address}{second.pk}/send-back/", {"note": "Go round the ear."})

    assert (stale.status_code, stale.json()["code"]) == (409, "conflict")
    assert accepted.json()["value"]["parts"] == torso["parts"]
    assert faulty.status_code == 400
    assert [row["note"] for row in sent.json()] == ["Go round the ear."]
    second.refresh_from_db()
    assert second.state == "open"


def test_the_history_of_a_question_says_who_answered_what_and_what_counted(
    coots, alices, bob, bobs
):
    seat = bobs.post(API + "campaigns/coots/seats/", {"size": 1}).json()["seats"][0]["seat"]
    for value in ("yes", "no"):
        answer = {"id": str(uuid.uuid4()), "seat": seat, "value": value, "duration_ms": 1500}
        bobs.post(API + "campaigns/coots/answers/", {"answers": [answer]})
    question = coots.questions.get(seats__token=seat)

    history = alices.get(f"{API}campaigns/coots/questions/{question.pk}/history/").json()

    assert [(row["value"], row["replaced"]) for row in history["answers"]] == [
        ("yes", True),
        ("no", False),
    ]
    assert {row["annotator"] for row in history["answers"]} == {bob.pseudonym}
    assert history["answers"][0]["seconds"] == 1.5
    assert history["settlements"] == history["decisions"] == []


def test_withdrawn_questions_are_asked_no_more(coots, alices, bobs):
    keys = list(coots.questions.values_list("pk", flat=True)[:5])
    body = {"questions": keys, "reason": "Duplicates."}

    done = alices.post(API + "campaigns/coots/questions/withdraw/", body).json()

    assert done == {"count": 5, "kept": []}
    assert len(bobs.post(API + "campaigns/coots/seats/", {}).json()["seats"]) == 1


def test_examples_and_topics_change_what_people_read(coots, alices, bobs):
    base = f"{API}campaigns/coots/topics/{COOT}/"

    changed = alices.patch(base, {"guidance": "Look at the bill."}).json()
    made = alices.post(base + "examples/", {"image": "coots/000.png", "answer": "yes"}).json()
    seen = bobs.post(API + "campaigns/coots/seats/", {"size": 1}).json()["topics"][COOT]

    assert changed["guidance"] == seen["guidance"] == "Look at the bill."
    assert [example["answer"] for example in seen["examples"]] == ["yes"]
    assert alices.delete(f"{base}examples/{made['id']}/").status_code == 204
    assert alices.get(base + "examples/").json()["results"] == []


def test_a_topic_without_a_name_is_described_by_the_glossary(coots, alices, settings):
    settings.ASSAY_GLOSSARY = "tests.labeling.web.test_api_campaigns.glossary"
    body = {"topics": [{"key": "n01"}, {"key": "n02", "name": "mine"}]}

    assert alices.post(API + "campaigns/coots/topics/", body).json() == {"count": 2}

    names = dict(coots.topics.values_list("key", "name"))
    assert (names["n01"], names["n02"]) == ("known as n01", "mine")


def glossary(keys):
    return [{"key": key, "name": f"known as {key}"} for key in keys]


def test_policies_grow_by_versions(coots, alices):
    made = alices.post(API + "campaigns/coots/policies/", {"content": {"votes": 3}})
    bad = alices.post(API + "campaigns/coots/policies/", {"content": {"votes": 0}})

    assert (made.status_code, made.json()["version"]) == (201, 2)
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (400, "votes")
    versions = alices.get(API + "campaigns/coots/policies/").json()["results"]
    assert [row["version"] for row in versions] == [2, 1]


def test_estimates_follow_the_policy(coots, alices):
    stated = alices.get(API + "campaigns/coots/estimate/?questions=900").json()

    assert (stated["questions"], stated["answers"]) == (900, 5000)
    assert alices.get(API + "campaigns/coots/estimate/").json()["questions"] == 6
    for wrong in ("-1", "1e9", "٣", "9" * 40, "0" * 20 + "9" * 400, "0" * 5000 + "1"):
        response = alices.get(API + "campaigns/coots/estimate/", {"questions": wrong})
        assert response.status_code == 400


def test_members_change_roles_and_leave(coots, alices, bob, bobs):
    key = coots.memberships.get(user=bob).pk
    address = f"{API}campaigns/coots/members/{key}/"

    assert alices.patch(address, {"role": "reviewer"}).json()["role"] == "reviewer"
    assert alices.delete(address).status_code == 204
    assert bobs.get(API + "campaigns/coots/").status_code == 404
    membership = coots.memberships.get(role="researcher").pk
    last = alices.delete(f"{API}campaigns/coots/members/{membership}/")
    assert (last.status_code, last.json()["code"]) == (409, "conflict")


def test_a_revoked_invitation_lets_nobody_in(coots, alices, charlie):
    made = alices.post(API + "campaigns/coots/invitations/", {}).json()
    alices.delete(f"{API}campaigns/coots/invitations/{made['id']}/")

    response = program(charlie).post(API + "invitations/accept/", {"secret": made["secret"]})

    assert (response.status_code, response.json()["code"]) == (400, "invitation_unusable")
    content = alices.get(API + "campaigns/coots/invitations/").content.decode()
    assert made["secret"] not in content


def test_pages_go_by_cursor_through_every_row_once(coots, alices):
    seen, address = [], API + "campaigns/coots/questions/?page_size=4"
    while address:
        page = alices.get(address).json()
        seen += [row["id"] for row in page["results"]]
        address = page["next"]

    assert seen == list(coots.questions.order_by("pk").values_list("pk", flat=True))


def test_naming_asks_about_images_without_a_topic(alices, dataset):
    factories.make_image(dataset, "a.png")
    settings = {"vocabulary": [{"key": COOT, "name": "coot"}]}
    body = {"name": "names", "title": "Names", "kind": "naming", "dataset": dataset.name}
    alices.post(API + "campaigns/", body | {"settings": settings})

    for created in (1, 0):
        rows = {"questions": [{"image": "a.png"}]}
        assert alices.post(API + "campaigns/names/questions/", rows).json()["created"] == created

    assert alices.post(API + "campaigns/names/launch/").json()["state"] == "open"


def test_a_question_about_a_class_needs_its_topic(coots, alices):
    rows = [{"image": "0.png", "topic": COOT}, {"image": "1.png"}]

    refused = alices.post(API + "campaigns/coots/questions/", {"questions": rows})

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "questions.1.topic"


def test_lists_go_backwards_and_by_no_unknown_order(coots, alices):
    address = API + "campaigns/coots/questions/"

    def ids(order: str) -> list[int]:
        rows, page = [], {"next": f"{address}?ordering={order}&page_size=4"}
        while page["next"]:
            page = alices.get(page["next"]).json()
            rows += [row["id"] for row in page["results"]]
        return rows

    assert (
        ids("-id")
        == ids("id")[::-1]
        == list(coots.questions.order_by("-pk").values_list("pk", flat=True))
    )
    refused = alices.get(address, {"ordering": "topic"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "ordering")
    assert "id, -id" in refused.json()["detail"]


def test_campaigns_go_by_title_and_by_date(coots, alice, dataset, alices):
    for name, title in (("zebra", "Ducks"), ("auk", "Ducks"), ("kiwi", "Auks")):
        made = factories.make_campaign(alice, dataset, name, launch=False)
        lifecycle.change(made, alice, title=title)

    def names(order: str) -> list[str]:
        rows, page = [], {"next": f"{API}campaigns/?ordering={order}&page_size=1"}
        while page["next"]:
            page = alices.get(page["next"]).json()
            rows += [row["name"] for row in page["results"]]
        return rows

    expected = Campaign.objects.order_by("title", "name").values_list("name", flat=True)
    assert names("title") == list(expected)
    assert names("-title") == list(expected)[::-1]
    assert names("-created_at") == ["kiwi", "auk", "zebra", "coots"]


def test_the_root_names_what_is_there(coots, alices):
    root = alices.get(API).json()

    assert root["campaigns"] == "/api/v1/campaigns/"
    assert {alices.get(address).status_code for address in root.values()} == {200}


def test_researchers_read_every_answer_under_pseudonyms(
    coots, alices, bob, bobs, django_assert_max_num_queries
):
    seats = claiming.next_page(bob, coots, 4).seats
    answers = [
        submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, 900)
        for seat, value in zip(seats, ("yes", "no", "no", "yes"), strict=True)
    ]
    submitting.submit(bob, coots, answers)
    Question.objects.filter(pk=seats[0].question_id).update(state=Question.State.GOLD)
    address = API + "campaigns/coots/answers/"

    with django_assert_max_num_queries(8):
        rows = alices.get(address).json()["results"]

    assert {(row["id"], row["value"]) for row in rows} == {
        (str(answer.id), answer.value) for answer in answers
    }
    assert {row["annotator"] for row in rows} == {bob.pseudonym}
    assert [row["question"] for row in rows if row["gold"]] == [seats[0].question_id]
    of_question = alices.get(address, {"question": rows[1]["question"]}).json()["results"]
    assert of_question == [rows[1]]
    assert (
        len(alices.get(address, {"page_size": 3, "ordering": "-assignment_id"}).json()["results"])
        == 3
    )
    assert bobs.get(address).status_code == 403


def test_a_page_of_questions_takes_the_same_few_queries_however_long(
    coots, alices, django_assert_max_num_queries
):
    with django_assert_max_num_queries(6):
        assert len(alices.get(API + "campaigns/coots/questions/").json()["results"]) == 6


def test_annotators_see_a_campaign_without_its_policy_or_dataset(coots, bobs, alices):
    seen = bobs.get(API + "campaigns/coots/").json()

    assert seen["dataset"] is seen["policy"] is None
    assert seen["choices"][0]["value"] == "yes"
    assert alices.get(API + "campaigns/coots/").json()["dataset"] == "pond"
    assert Campaign.objects.get().policy.content["gold_share"] == 0.1


def test_only_a_failed_job_is_tried_again(coots, alices):
    from labeling.models import Job

    failed = Job.objects.create(kind="score", key="x", campaign=coots, state="failed")
    done = Job.objects.create(kind="score", key="y", campaign=coots, state="done")
    base = API + "campaigns/coots/jobs/"

    assert alices.post(f"{base}{failed.pk}/retry/").json()["state"] == "queued"
    assert alices.post(f"{base}{done.pk}/retry/").status_code == 409
    assert len(alices.get(base + "?state=queued").json()["results"]) == 1


def test_a_question_that_is_asked_again_shows_nothing_of_what_stood(coots, alices, bob):
    question = coots.questions.earliest("pk")
    address = f"{API}campaigns/coots/questions/{question.pk}/"
    Question.objects.filter(pk=question.pk).update(state="review", seats_free=0)
    alices.post(address + "review/", {"value": "no", "reason": "Clear to me."})
    settled = alices.get(address).json()

    Question.objects.filter(pk=question.pk).update(state="open", seats_free=1)

    assert (settled["value"], settled["state"]) == ("no", "settled")
    again = alices.get(address).json()
    assert [again[key] for key in ("value", "probability", "votes", "interval")] == [None] * 4
    assert again in alices.get(f"{API}campaigns/coots/questions/").json()["results"]
