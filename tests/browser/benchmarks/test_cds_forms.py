"""Making a CDS benchmark and bringing classifiers in, in a real browser."""

import pytest

from evaluation.models import Benchmark
from tests.evaluation.cds import world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def cats(alice, bob, dataset):
    return world.campaign_of(alice, bob, dataset)


def test_a_benchmark_is_made_and_a_classifier_joins(page, site, looked_at, cats, wordnet, tmp_path):
    page.goto(site("/benchmarks/"))
    looked_at(page, "cds-benchmarks-none")
    page.keyboard.press("c")
    page.wait_for_url("**/benchmarks/new/cds/")
    page.fill("[name=title]", "Cats, part by part")
    page.fill("[name=name]", "reveal")
    page.select_option("[name=campaign]", "cats")
    page.click("summary:has-text('How CDS is computed')")
    looked_at(page, "cds-new")
    page.click("button[name=check]")
    page.wait_for_selector("#plan")
    looked_at(page, "cds-new-checked")
    page.click("button[name=create]")
    page.wait_for_url("**/benchmarks/reveal/submissions/")

    reveal = Benchmark.objects.get()
    rows = world.rows_of(reveal, alpha=world.always_right, beta=world.right_at_last)
    wrong = [["nowhere", *rows[0][1:]], *rows[1:]]
    page.set_input_files("[name=file]", str(world.write(tmp_path / "wrong.csv", wrong)))
    page.keyboard.press("s")
    page.wait_for_selector("text=wrong.csv, line 2: no sequence has the frame 'nowhere'")
    looked_at(page, "cds-predictions-wrong")
    page.set_input_files("[name=file]", str(world.write(tmp_path / "right.csv", rows)))
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/benchmarks/reveal/")

    page.goto(site("/benchmarks/reveal/submissions/"))
    page.click("summary:has-text('Remove alpha')")
    looked_at(page, "cds-predictions")
    page.click("button:has-text('Remove alpha')")
    page.wait_for_selector("text=alpha was removed.")
    assert list(reveal.submissions.values_list("name", flat=True)) == ["beta"]
    page.goto(site("/benchmarks/"))
    looked_at(page, "cds-benchmarks")


def test_faults_stand_beside_their_fields(page, site, looked_at, cats):
    page.goto(site("/benchmarks/new/cds/"))
    page.fill("[name=name]", "Two words")
    page.uncheck("[name=random]")
    page.click("button[name=check]")
    page.wait_for_selector(".has-error")

    faults = page.locator(".has-error").all_inner_texts()
    looked_at(page, "cds-new-faults")

    assert sum("required" in fault for fault in faults) == 2
    assert any("slug" in fault for fault in faults)
    assert not Benchmark.objects.exists()
