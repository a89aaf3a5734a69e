"""The pages of benchmarks on released labels in a real browser, wide and narrow, light and dark."""

import pytest

from evaluation.benchmarks import runs
from evaluation.models import Benchmark
from labeling.jobs import queue
from tests.browser.conftest import settled
from tests.evaluation.benchmarks.kinds.labeled import photographs, world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def animals(alice, bob, dataset):
    return photographs.campaign_of(alice, bob, dataset)


def test_detections_look_right_from_the_result_to_one_image(
    page, site, alice, animals, tmp_path, wordnet, looked_at
):
    row = photographs.make(alice, animals, "detection")
    run = photographs.scored(row, alice, tmp_path, alpha=0.95, beta=0.2)

    page.goto(site("/benchmarks/detection/"))
    settled(page)
    looked_at(page, "labeled-result")
    page.goto(site(f"/benchmarks/detection/runs/{run.pk}/images/?classifier=beta"))
    settled(page)
    looked_at(page, "labeled-images")
    page.locator("[data-images] a").nth(2).click()
    page.wait_for_selector("[data-layers]")
    settled(page)
    looked_at(page, "labeled-image")


def test_keys_go_through_score_maps_and_put_layers_away(
    page, site, alice, animals, tmp_path, looked_at
):
    row = photographs.make(alice, animals, "wsol", thresholds=100)
    run = photographs.scored(row, alice, tmp_path, alpha=0.95, beta=0.4)
    page.goto(site(f"/benchmarks/wsol/runs/{run.pk}/images/0/?classifier=alpha&number=0.5"))
    assert page.locator(".heat").get_attribute("opacity") == "0.7"

    page.keyboard.press("h")
    page.wait_for_selector(".heat.is-hidden", state="attached")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/images/1/**")
    page.wait_for_selector(".heat.is-hidden", state="attached")
    page.keyboard.press("h")
    page.wait_for_selector(".heat:not(.is-hidden)", state="attached")
    page.locator("[data-strength]").fill("40")
    page.wait_for_selector(".heat[opacity='0.4']", state="attached")
    page.keyboard.press("b")
    page.wait_for_selector(".boxes.is-hidden", state="attached")
    page.keyboard.press("c")
    page.wait_for_url("**classifier=beta**")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/images/0/**classifier=beta**")
    page.wait_for_selector(".boxes.is-hidden", state="attached")
    page.keyboard.press("b")
    settled(page)
    looked_at(page, "labeled-map")
    page.keyboard.press("u")
    page.wait_for_selector("[data-images]")


def test_a_researcher_makes_a_benchmark_and_opens_what_it_got_wrong(
    page, site, animals, tmp_path, wordnet, looked_at
):
    page.goto(site("/benchmarks/"))
    page.keyboard.press("r")
    page.wait_for_selector(".kind-cards")
    assert page.get_by_text("Animals has no release yet").is_visible()
    page.get_by_label("Detection").check()
    page.get_by_label("Title").fill("Animals found")
    page.get_by_label("Name").fill("found")
    page.get_by_label("test: for the final results").check()
    looked_at(page, "labeled-new")
    page.get_by_role("button", name="Create benchmark").click()
    page.wait_for_selector("text=score on it once")
    row = Benchmark.objects.get(name="found")
    path = world.predictions(
        tmp_path / "predictions.csv", "detection", *photographs.predictions_of(row, 0.9)
    )

    page.get_by_label("Classifier").fill("finder")
    page.set_input_files("input[type=file]", str(path))
    looked_at(page, "labeled-submissions")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_selector("text=The score waits for a worker")
    queue.run_all()
    # The page renews itself.
    page.wait_for_selector("#answer")
    assert "finder on 5 images" in page.inner_text("section[aria-labelledby=answer]")

    page.locator("section[aria-labelledby=answer] tbody a").first.click()
    page.wait_for_selector("[data-images]")
    page.locator(".tabs a", has_text="False detections").click()
    page.wait_for_selector(".tabs [aria-current]:has-text('False detections')")
    text = page.locator("[data-images] article").first.inner_text()
    assert "✗" in text
    page.locator("[data-images] a").first.click()
    page.wait_for_selector("[data-layers] rect.box-wrong")


def test_the_baseline_is_submitted_and_seen_beside_other_maps(
    page, site, alice, animals, tmp_path, looked_at
):
    row = photographs.make(alice, animals, "wsol", thresholds=100)
    photographs.scored(row, alice, tmp_path, alpha=0.95)
    page.goto(site("/benchmarks/wsol/submissions/"))
    page.get_by_label("Classifier").fill("center")
    page.get_by_label("Submit the center-Gaussian baseline, without a file").check()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/benchmarks/wsol/")

    run = row.runs.latest("pk")
    queue.run(runs.job_of(run).pk)
    page.goto(site(f"/benchmarks/wsol/runs/{run.pk}/images/0/?classifier=center&number=0.5"))
    page.get_by_role("img", name="Score map of alpha").wait_for()
    settled(page)
    looked_at(page, "labeled-side-by-side")


def test_images_of_the_dataset_are_filtered_by_wrong_predictions(
    page, site, alice, animals, tmp_path, wordnet, looked_at
):
    row = photographs.make(alice, animals, "detection")
    photographs.scored(row, alice, tmp_path, alpha=0.95, beta=0.2)
    name = animals.dataset.name
    page.goto(site(f"/datasets/{name}/images/"))
    page.fill("input[name=prediction]", "cat")
    page.select_option("select[name=submission]", "detection/beta")
    page.select_option("select[name=outcome]", "wrong")
    page.click("button:has-text('Filter')")
    page.wait_for_url("**outcome=wrong**")
    settled(page)
    looked_at(page, "images-by-prediction")
    page.locator(".thumbnails a").first.click()
    page.wait_for_selector("h2:has-text('Predictions and scores')")
    page.click("a:has-text('Next')")
    page.wait_for_url("**outcome=wrong**")
    page.wait_for_selector("h2:has-text('Predictions and scores')")
