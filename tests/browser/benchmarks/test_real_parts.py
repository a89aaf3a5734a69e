"""From an empty site by mouse: parts to CDS, and boxes to WSOL, of three trained networks."""

import json

import pytest

from annotator.demo import networks
from evaluation.models import Benchmark
from labeling.models import Campaign
from tests import factories
from tests.browser import drawing_hands
from tests.browser import test_boxes_story as boxes_story
from tests.browser.conftest import let_pass
from tests.browser.researcher_hands import download, freeze, invite, join, make_dataset
from tests.clients import API, program
from tests.evaluation import real_parts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MISSING = "[data-choose]:has(small:text-is('missing'))"


def choose_file(page, field: str, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files(field, file)


def import_parts(page, site, run_jobs) -> None:
    page.goto(site("/datasets/photographs/objects/import/"))
    page.click("button:has-text('Use the built-in vocabulary')")
    page.wait_for_url("**/vocabulary/**")
    page.goto(site("/datasets/photographs/objects/import/"))
    choose_file(page, "#id_file", "parts.json", real_parts.coco())
    page.click("button:has-text('Import')")
    page.wait_for_selector("text=Importing objects")
    run_jobs()
    page.wait_for_selector("h1:has-text('4 objects imported')")


def draw_nothing_more(page, site, campaign: Campaign) -> None:
    """Say of each part that was not imported that it is not visible."""
    page.goto(site(f"/campaigns/{campaign.name}/label/"))
    while True:
        page.wait_for_selector(f"[data-drawing][data-seat], {boxes_story.FINISHED}")
        if page.is_visible(boxes_story.FINISHED):
            return
        let_pass(page)
        seat = drawing_hands.seat_of(page)
        page.click("[data-do=half-yes]")
        while page.inner_text("[data-missing-count]") != "0":
            page.locator(MISSING).first.click()
            page.click("[data-state=not_visible]")
        with page.expect_response(drawing_hands.ANSWERS):
            page.click("[data-do=submit]")
        page.wait_for_selector(
            f"[data-drawing][data-seat]:not([data-seat='{seat}']), {boxes_story.FINISHED}"
        )


def result_of(page, alice, run_jobs, key: str) -> dict:
    """The result once scored, whose numbers are the same by page and API."""
    run_jobs()
    page.wait_for_selector("#answer")
    benchmark = Benchmark.objects.get()
    address = f"{API}benchmarks/{benchmark.name}/runs/{benchmark.runs.latest('pk').pk}/"
    result = program(alice).get(address).json()["result"]
    assert json.loads(download(page, "a:has-text('Result as JSON')"))[key] == result[key]
    return result


def test_parts_become_the_cds_of_three_networks(
    browser_as, alice, site, run_jobs, shell, looked_at, wordnet, tmp_path
):
    page = browser_as(alice, accept_downloads=True)
    make_dataset(page, site, real_parts.PHOTOGRAPHS)
    import_parts(page, site, run_jobs)
    boxes_story.open_campaign(page, site, "Parts", "Part polygons")
    page.select_option("#id_review", "disputed")
    campaign = boxes_story.launch(page)
    carol = browser_as(factories.make_user("carol"))
    join(carol, invite(page, site, campaign.name, 1))
    draw_nothing_more(carol, site, campaign)
    freeze(page, site, campaign.name)

    page.goto(site(f"/benchmarks/new/cds/?campaign={campaign.name}"))
    page.fill("[name=title]", "Networks, part by part")
    page.fill("[name=name]", "revealed")
    page.select_option("[name=campaign]", campaign.name)
    choose_file(page, "[name=orders]", "orders.json", real_parts.orders())
    choose_file(page, "[name=mapping]", "mapping.csv", real_parts.mapping())
    page.click("summary:has-text('How CDS is computed')")
    page.fill("[name=seed]", "1")
    page.click("button[name=check]")
    page.wait_for_selector("#plan")
    looked_at(page, "networks-cds-plan")
    page.click("button[name=create]")
    page.wait_for_url("**/benchmarks/revealed/submissions/")
    choose_file(page, "[name=file]", "predictions.csv", real_parts.frame_predictions())
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/benchmarks/revealed/")
    result = result_of(page, alice, run_jobs, "tables")
    looked_at(page, "networks-cds")
    page.goto(site("/benchmarks/revealed/submissions/"))
    sequences = download(page, "a:has-text('sequences.jsonl')")
    assert real_parts.by_shell_cds(shell, sequences, tmp_path) == result["tables"]
    assert real_parts.cds_of(result["tables"]) == real_parts.CDS


def test_boxes_become_the_localization_of_three_networks(
    browser_as, alice, site, run_jobs, shell, looked_at, wordnet, tmp_path
):
    page = browser_as(alice, accept_downloads=True)
    make_dataset(page, site, real_parts.PHOTOGRAPHS)
    boxes_story.open_campaign(page, site, "Boxes", "Bounding boxes")
    page.fill("#id_questions", "\n".join(map(",".join, real_parts.QUESTIONS)))
    campaign = boxes_story.launch(page)
    people = [browser_as(factories.make_user(name)) for name in ("carol", "dave", "erin")]
    link = invite(page, site, campaign.name, len(people))
    for theirs in people:
        join(theirs, link)
    while sum(
        boxes_story.box_what_is_asked(theirs, site, campaign, real_parts.BOXES, loose=False)
        for theirs in people
    ):
        run_jobs()
    freeze(page, site, campaign.name)

    page.goto(site(f"/benchmarks/new/labeled/?campaign={campaign.name}"))
    page.locator("input[value=wsol]").check()
    page.get_by_label("Title").fill("Networks, maps")
    page.get_by_label("Name").fill("maps")
    page.get_by_label("test: for the final results").check()
    page.get_by_role("button", name="Create benchmark").click()
    page.wait_for_selector("text=score on it once")
    for network in networks.NETWORKS:
        page.goto(site("/benchmarks/maps/submissions/"))
        page.get_by_label("Classifier").fill(network)
        choose_file(page, "input[type=file]", "maps.zip", real_parts.score_maps(network))
        page.get_by_role("button", name="Upload").click()
        page.wait_for_url("**/benchmarks/maps/")
    result = result_of(page, alice, run_jobs, "submissions")
    looked_at(page, "networks-maps")
    truth = download(page, "a:has-text('truth.zip')")
    real_parts.check_maps(shell, truth, result, tmp_path)
