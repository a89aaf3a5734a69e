"""From a release of the demonstration's drawn objects to every table: by command and by page."""

import csv
import io
import re

import pytest

from annotator.demo import build, cds
from evaluation.benchmarks.kinds.cds.tables import TABLES
from evaluation.models import Benchmark
from labeling.models import User
from tests.browser.conftest import expect
from tests.evaluation.classifiers import networks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SECTIONS = (
    *("answer", "error", "parts", "categories", "correlation", "ratios", "presence", "hardness"),
    *("people", "downloads"),
)


@pytest.fixture
def revealed(settings, wordnet):
    """The folder of files that the demonstration writes for its benchmark of parts."""
    settings.SECRET_KEY = "the key of this test"
    build.load()
    return settings.DATA_DIR / "demo" / "revealed"


def test_one_command_and_one_page_give_every_table(
    revealed, browser_as, site, run_jobs, shell, looked_at, tmp_path
):
    run_jobs()
    benchmark = Benchmark.objects.get(name=cds.BENCHMARK)
    run = benchmark.runs.get()
    result = run.result

    scored = shell.result(
        *("score", "cds", "--sequences", revealed / "sequences.jsonl"),
        *("--predictions", revealed / "predictions.csv", "--mapping", revealed / "mapping.csv"),
    )

    assert scored["tables"] == result["tables"]
    assert len(scored["sequences"]) == benchmark.settings["sequences"] * len(cds.NEEDED_SHARES)
    page = browser_as(User.objects.get(username="alice"))
    page.set_default_timeout(30_000)
    page.goto(site(f"/benchmarks/{benchmark.name}/"))
    for section in SECTIONS:
        assert page.locator(f"section[aria-labelledby={section}]").count() == 1, section
    assert "The CDS of aurora is" in page.inner_text("section[aria-labelledby=answer]")
    looked_at(page, "demo-cds")
    for table in TABLES:
        # Playwright's requests carry the page's session.
        answer = page.request.get(
            site(f"/benchmarks/{benchmark.name}/runs/{run.pk}/{table.name}.csv")
        )
        rows = list(csv.DictReader(io.StringIO(answer.text())))
        assert len(rows) == len(result["tables"][table.name]), table.name

    own_classifier_joins(page, site, benchmark, run_jobs, shell, revealed, tmp_path)
    scrub(page, site, benchmark, run_jobs)


def own_classifier_joins(page, site, benchmark, run_jobs, shell, revealed, tmp_path) -> None:
    """What the page tells a researcher to do: classify the frames, bring the file, score."""
    networks.with_classes(tmp_path)
    page.goto(site(f"/benchmarks/{benchmark.name}/submissions/"))
    with page.expect_download() as download:
        page.get_by_role("link", name="orders.json").click()
    download.value.save_as(tmp_path / "orders.json")
    schemes = [
        word
        for flag, names in (
            ("--part-scheme", benchmark.settings["part_schemes"]),
            ("--content-scheme", benchmark.settings["content_schemes"]),
        )
        for name in names
        for word in (flag, name)
    ]
    counted = shell.result(
        *("classify", benchmark.campaign.name, "--orders", tmp_path / "orders.json"),
        *(*schemes, "--model", tmp_path / "colours.pt", "--size", "8", "--name", "colours"),
        *("--classes", tmp_path / "wnids.txt", "--out", tmp_path / "predictions.csv"),
    )
    assert counted["frames"] == benchmark.settings["frames"]

    page.set_input_files("input[type=file]", str(tmp_path / "predictions.csv"))
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url(f"**/benchmarks/{benchmark.name}/**")
    run_jobs()
    page.goto(site(f"/benchmarks/{benchmark.name}/"))
    assert "colours" in page.inner_text("section[aria-labelledby=answer]")
    assert benchmark.runs.count() == 2


def scrub(page, site, benchmark, run_jobs) -> None:
    """The viewer: frames are drawn when somebody asks, and a key goes on to the next."""
    newest = benchmark.runs.first()
    page.goto(site(f"/benchmarks/{benchmark.name}/runs/{newest.pk}/sequences/0/"))
    draw_button = page.locator("[data-draw]")
    if draw_button.is_visible():
        draw_button.click()
    page.wait_for_selector("[data-progress]:not([hidden])", state="attached")
    run_jobs()
    page.wait_for_selector("img[data-big]")

    page.keyboard.press("ArrowRight")

    expect(page.locator("[data-caption]")).to_have_text(re.compile("^Frame 2 of"))
    page.keyboard.press("End")
    expect(page.locator("[data-caption]")).to_have_text(re.compile("all the rest$"))
    page.locator("[data-big]").evaluate("image => image.decode()")
