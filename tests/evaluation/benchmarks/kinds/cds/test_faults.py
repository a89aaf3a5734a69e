"""What becomes of a CDS benchmark when its files go."""

import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import choosing
from evaluation.models import Run
from evaluation.sequences import part_orders
from labeling.errors import Refusal
from labeling.files import BadInput
from tests.evaluation.cds import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(reveal, alice) -> Run:
    return world.run_by_hand(reveal, alice)


def pages(run: Run) -> list[str]:
    """Every address of the benchmark and its run that is read."""
    name = run.benchmark.name
    of_run = ("run", "result_json", "cds_objects", "cds_galleries", "cds_sequences")
    of_one = ("benchmark", "submissions", "cds_lines", "cds_orders", "cds_people")
    addresses = [reverse(f"evaluation:{page}", args=[name]) for page in of_one]
    addresses += [reverse(f"evaluation:{page}", args=[name, run.pk]) for page in of_run]
    addresses += [
        reverse(f"evaluation:{page}", args=[name, run.pk, 0])
        for page in ("cds_viewer", "cds_frames")
    ]
    return [*addresses, reverse("evaluation:cds_frame", args=[name, run.pk, 0, 1])]


def of_benchmark(run: Run) -> Path:
    return folders.folder_of(run.benchmark)


def of_run(run: Run) -> Path:
    return folders.run_folder(run.benchmark, run.pk)


def of_release(run: Run) -> Path:
    return Path(settings.RELEASES_DIR)


@pytest.mark.parametrize("gone", [of_benchmark, of_run, of_release])
def test_no_page_falls_over_when_files_are_gone(run, as_alice, gone):
    shutil.rmtree(gone(run))

    for page in pages(run):
        response = as_alice.get(page)
        if response.streaming:
            # As a server does, but for the end of the request.
            b"".join(response.streaming_content)
            for close in response._resource_closers:
                close()
        assert response.status_code in {200, 202, 400, 404}, page


def test_more_orders_than_anybody_compares_are_refused_before_a_line_is_made():
    many = {f"s{number}": {} for number in range(51)}

    with pytest.raises(Refusal, match="at most 50 of them, not 51") as refusal:
        choosing.check(choosing.CdsChoice(part_schemes=list(many), orders=many))

    assert refusal.value.field == "part_schemes"


def test_half_a_character_in_an_order_is_refused_in_words_that_can_be_shown(tmp_path):
    (tmp_path / "orders.json").write_text(r'{"orders": {"mine": {"n1": ["a", "\ud800"]}}}')

    with pytest.raises(BadInput, match="is not JSON") as bad:
        part_orders.read_orders(tmp_path / "orders.json", {"n1": ["a", "b"]})

    assert str(bad.value).encode()
