"""A competition from a pool, on the site alone."""

import pytest

from evaluation.models import Benchmark
from labeling.jobs import queue
from labeling.models import Campaign
from tests.evaluation.pool import CLASSES, make_pool
from tests.evaluation.pools.pool_rows import images_of, zipped
from tests.evaluation.pools.test_selections import WORDS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TREE = "child,parent\nroot,\n" + "".join(f"{name},root\n" for name in WORDS)


def test_a_pool_becomes_a_competition_by_mouse(page, site, dataset, wordnet, tmp_path):
    """Its classes are words, whose distances the user's tree gives."""
    assert len(WORDS) == len(CLASSES)
    folder = make_pool(tmp_path / "pool", ids=images_of(dataset, 40), classes=WORDS)
    page.goto(site(f"/datasets/{dataset.name}/pools/"))
    zip_file = {"name": "p.zip", "mimeType": "application/zip", "buffer": zipped(folder)}
    page.set_input_files("#id_file", zip_file)
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("link", name="Selections").click()
    page.fill("#id_top_k", "4")
    page.fill("#id_min_confidence", "0.6")
    page.get_by_role("button", name="Plan").click()
    page.locator(".has-error").get_by_text("is not a wnid of a noun").wait_for()
    tree = {"name": "tree.csv", "mimeType": "text/csv", "buffer": TREE.encode()}
    page.set_input_files("#id_distances", tree)
    page.get_by_role("button", name="Plan").click()
    page.get_by_text("pairs of 3 classifiers").wait_for()
    page.get_by_role("button", name="Select").click()

    page.get_by_text("Waiting for a worker").wait_for()
    queue.run_all()
    page.get_by_role("link", name="selection.jsonl").wait_for()
    page.get_by_text("distance tree.csv").wait_for()
    page.get_by_role("button", name="Create competition").click()

    page.wait_for_url("**/benchmarks/**")
    page.get_by_text("Benchmark created").wait_for()
    assert Benchmark.objects.get().campaign.state == Campaign.State.DRAFT
