"""The page of a release: its report by a job, and a second release beside it."""

import pytest
from django.core.files.storage import storages

from evaluation.release_reports import making
from evaluation.scoring.release_report import ReleaseReport
from labeling.models import Job
from labeling.releases import freezing
from tests import factories
from tests.clients import text_of
from tests.labeling.publishing import releases

pytestmark = pytest.mark.django_db
PAGE = "/campaigns/boxes/releases/1/"


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
    assert isinstance(making.fetch(boxes), ReleaseReport)


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
