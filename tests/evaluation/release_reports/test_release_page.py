"""The page of a release: its report by a job, and a second release beside it."""

from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.release_reports import making
from evaluation.scoring.release_report import ReleaseReport
from labeling.models import Job
from labeling.releases import freezing
from tests import factories
from tests.cases import for_each
from tests.clients import text_of
from tests.labeling.publishing import releases

pytestmark = pytest.mark.django_db
PAGE = "/campaigns/boxes/releases/1/"
REPORT = "/api/v1/campaigns/boxes/releases/1/report/"
WINDOWS = "image,rank,x0,y0,x1,y1\n0.png,1,0,0,9,9\n0.png,2,2,2,22,20\n"


@pytest.fixture
def boxes(alice, bob, dataset):
    return releases.boxes(alice, bob, dataset)


@pytest.fixture
def labels(alice, bob):
    return releases.yes_or_no(alice, bob, factories.make_dataset(alice, "meadow"))


def test_the_report_is_made_once_by_one_job(boxes, as_alice, run_jobs):
    for _ in range(2):
        assert "Waiting for a worker" in text_of(as_alice.get(PAGE))

    run_jobs()

    page = text_of(as_alice.get(PAGE))
    assert "mean <strong>0.163</strong> over 1 class" in page
    assert "not measured" in page
    assert Job.objects.filter(kind=making.KIND).count() == 1
    assert isinstance(making.fetch(boxes, boxes.campaign.created_by), ReleaseReport)


def test_a_second_release_is_beside_it(boxes, labels, as_alice, run_jobs):
    url = f"{PAGE}?beside={labels.pk}"
    as_alice.get(url)
    run_jobs()

    page = text_of(as_alice.get(url))

    assert "Labels, release 1" in page
    assert "not in this release" in page


def test_releases_of_others_cannot_be_chosen(boxes, as_alice, bob):
    stranger = factories.person("dora", is_researcher=True)
    hidden = releases.naming(stranger, bob, factories.make_dataset(stranger, "hidden"))

    page = text_of(as_alice.get(f"{PAGE}?beside={hidden.pk}"))

    assert "Names" not in page
    assert "Select a valid choice" in page


def test_a_changed_release_says_so_and_can_be_tried_again(boxes, as_alice, run_jobs):
    path = freezing.folder_of(boxes) / "votes.jsonl"
    content = path.read_bytes()
    path.write_bytes(content + b"{}\n")
    as_alice.get(PAGE)
    run_jobs()

    page = as_alice.get(PAGE)

    assert "The report failed." in text_of(page)
    path.write_bytes(content)
    job = Job.objects.get(kind=making.KIND)
    as_alice.post(f"/campaigns/boxes/jobs/{job.pk}/retry/")
    run_jobs()
    assert "<strong>0.163</strong>" in text_of(as_alice.get(PAGE))


def test_queries_do_not_grow_with_the_release(
    boxes, as_alice, run_jobs, django_assert_max_num_queries
):
    as_alice.get(PAGE)
    run_jobs()

    with django_assert_max_num_queries(14):
        as_alice.get(PAGE)
    assert storages["data"].listdir("reports")[1]


def windows(content: str = WINDOWS) -> SimpleUploadedFile:
    return SimpleUploadedFile("windows.csv", content.encode(), "text/csv")


def test_clutter_comes_from_uploaded_windows(boxes, labels, as_alice, run_jobs):
    response = as_alice.post(
        f"{PAGE}?beside={labels.pk}", {"windows": windows(), "beside_windows": windows()}
    )
    address = response["Location"]
    assert address.startswith(f"{PAGE}?beside={labels.pk}&windows=")
    as_alice.get(address)
    run_jobs()
    page = text_of(as_alice.get(address))

    assert "Clutter: Boxes, release 1" in page
    assert '<td class="number">1.00</td>' in page
    # Labels has no boxes, so its classes have no clutter.
    assert "Clutter: Labels, release 1" not in page
    as_alice.get(PAGE)
    run_jobs()
    assert "Clutter: Boxes" not in text_of(as_alice.get(PAGE))


def test_faulty_windows_are_named_with_their_line(boxes, as_alice, run_jobs):
    address = as_alice.post(PAGE, {"windows": windows(WINDOWS + "0.png,2,1,1,2,2\n")})["Location"]
    as_alice.get(address)
    run_jobs()

    assert "windows.csv, line 4: the rank is 2, expected 3" in text_of(as_alice.get(address))


def test_a_form_without_a_file_is_refused(boxes, as_alice):
    response = as_alice.post(PAGE)
    assert response.status_code == 400
    assert "Choose a file." in response.content.decode()


@for_each("token", ["0" * 32, "../secret"])
def test_windows_that_are_gone_are_left_out(boxes, as_alice, run_jobs, token):
    page = text_of(as_alice.get(f"{PAGE}?windows={token}"))
    assert "The uploaded file was deleted after a day." in page
    assert as_alice.get(f"{REPORT}?windows={token}").status_code == 400


def known(value: Any) -> Any:
    """Return the JSON value without nulls in objects."""
    if isinstance(value, dict):
        return {key: known(inner) for key, inner in value.items() if inner is not None}
    return [known(inner) for inner in value] if isinstance(value, list) else value


def test_the_program_gets_the_numbers_of_the_command(
    boxes, labels, as_alice, bob, run_jobs, shell, tmp_path
):
    path = tmp_path / "windows.csv"
    path.write_text(WINDOWS)
    expected = shell.result("labels", "report", "boxes", "labels", "--windows", path)
    token = as_alice.post(REPORT, {"windows": windows()}).json()["windows"]
    query = {"windows": token, "second": "labels", "second_number": 1}
    response = as_alice.get(REPORT, query)
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    assert response["Retry-After"] == "2"
    run_jobs()
    body = as_alice.get(REPORT, query).json()

    assert (body["state"], body["error"]) == ("done", "")
    # The command leaves out unknown values.
    assert known({"release": body["release"], "other": body["other"]}) == known(expected)
    assert as_alice.get(REPORT, {"second": "labels"}).status_code == 400
    assert as_alice.get(REPORT, {"second": "labels", "second_number": 9}).status_code == 404
    assert as_alice.get(REPORT, {"color": "red"}).status_code == 400
