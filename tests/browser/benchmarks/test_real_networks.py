"""From photographs and three networks' predictions to ranks, by mouse; then by shell and API."""

import io
import json
import zipfile

import pyarrow.parquet as parquet
import pytest

from evaluation.models import Benchmark
from labeling.models import Campaign
from tests import factories
from tests.browser.conftest import let_pass
from tests.browser.labeling.test_labeling import SHOWN, wait_for_chip
from tests.browser.researcher_hands import download, join
from tests.clients import API, program, upload
from tests.evaluation import real_networks
from tests.evaluation.pools.pool_rows import zipped

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PEOPLE = ("bob", "carol", "dave", "erin", "frank")
FINISHED = "[data-finished]:not([hidden])"
# Answers of a person's first visit.
EACH = 20


def press(page, button: str) -> None:
    page.get_by_role("button", name=button).first.click()


def follow(page, link: str) -> None:
    page.get_by_role("link", name=link, exact=True).first.click()


def send_zip(page, field: str, content: bytes) -> None:
    file = {"name": "all.zip", "mimeType": "application/zip", "buffer": content}
    page.set_input_files(field, file)
    press(page, "Upload")


def add_photographs(page, site, run_jobs) -> None:
    page.goto(site("/"))
    follow(page, "Datasets")
    press(page, "New dataset")
    page.get_by_label("Name").fill("photographs")
    press(page, "Create dataset")
    page.get_by_label("Licence").fill("as scikit-image states")
    page.get_by_label("Source").fill("scikit-image, scikit-learn")
    send_zip(page, "#id_files", real_networks.photographs())
    page.get_by_text("Waiting for a worker").wait_for()
    run_jobs()
    page.get_by_text("46 images added").wait_for()


def select(page, folder, run_jobs, looked_at) -> bytes:
    """From the report of the import to the selection's file."""
    follow(page, "photographs")
    press(page, "Pools")
    send_zip(page, "#id_file", zipped(folder))
    page.get_by_text("46 images").wait_for()
    looked_at(page, "networks-pools")
    follow(page, "Selections")
    page.get_by_label("Minimum confidence").fill("0.1")
    press(page, "Plan")
    page.get_by_text("pairs of 3 classifiers").wait_for()
    looked_at(page, "networks-plan")
    press(page, "Select")
    page.get_by_text("Waiting for a worker").wait_for()
    run_jobs()
    page.get_by_role("link", name="selection.jsonl").wait_for()
    looked_at(page, "networks-selection")
    return download(page, "a:has-text('selection.jsonl')")


def open_competition(page, looked_at) -> str:
    """From the selection to the link by which five people join."""
    press(page, "Create competition")
    page.get_by_text("Benchmark created").wait_for()
    looked_at(page, "networks-created")
    page.get_by_role("link", name="photographs", exact=True).wait_for()
    follow(page, "Campaign")
    press(page, "Open campaign")
    page.locator(".badge.open").first.wait_for()
    follow(page, "People")
    page.fill("#id_max_uses", str(len(PEOPLE)))
    press(page, "Create invitation")
    return page.input_value("[data-copy] input")


def answer(page, wnids: dict[str, str], most: int) -> int:
    """Answer by mouse until nothing is left, or so many questions; return their number."""
    for count in range(most):
        page.wait_for_selector(f"{SHOWN}:visible, {FINISHED}:visible")
        if page.is_visible(FINISHED):
            return count
        let_pass(page)
        value = real_networks.answer_to(wnids[page.inner_text("[data-class]")])
        page.click(f"button[data-answer={value}]")
    wait_for_chip(page, "All saved")
    return most


def rank(page, run_jobs, looked_at) -> tuple[dict, dict[str, bytes]]:
    """From the campaign's people to the result and the files of its ranks."""
    press(page, "Close …")
    press(page, "Close permanently")
    page.locator(".badge.closed").first.wait_for()
    follow(page, "benchmark MAD on photographs")
    press(page, "Score now")
    run_jobs()
    page.get_by_role("heading", name="Ranks", exact=True).wait_for()
    looked_at(page, "networks-ranks")
    names = ("answers.jsonl", "selection.jsonl")
    files = {name: download(page, f"a:has-text('{name}')") for name in names}
    result = json.loads(download(page, "a:has-text('Result as JSON')"))
    rows = page.locator("section[aria-labelledby=ranks] tbody th[scope=row]").all_inner_texts()
    by_rank = sorted(zip(result["ranks"], result["classifiers"], strict=True))
    assert rows == [name for _, name in by_rank]
    return result, files


def test_five_people_rank_three_networks_by_mouse(
    browser_as, alice, site, run_jobs, shell, looked_at, wordnet, tmp_path
):
    page = browser_as(alice, accept_downloads=True)
    folder = real_networks.predictions(tmp_path / "predictions")
    add_photographs(page, site, run_jobs)
    chosen = select(page, folder, run_jobs, looked_at)
    link = open_competition(page, looked_at)

    campaign = Campaign.objects.get()
    wnids = {name: key for key, name in campaign.topics.values_list("key", "name")}
    assert len(wnids) == campaign.topics.count()
    pages = [browser_as(factories.make_user(name)) for name in PEOPLE]
    for theirs in pages:
        join(theirs, link)
        press(theirs, "Start")
        assert answer(theirs, wnids, EACH), theirs
        theirs.goto(site("/"))
    for theirs in pages:
        # Majorities of the first to come end the questions of others.
        theirs.click(".campaign-foot a[href$='/label/']")
        answer(theirs, wnids, 100)
        theirs.goto(site("/"))
    run_jobs()
    assert campaign.memberships.filter(role="annotator").count() == len(PEOPLE)
    assert {row.state for row in campaign.questions.all()} == {"settled", "dropped"}

    result, files = rank(page, run_jobs, looked_at)
    answers, ranked = tmp_path / "answers.jsonl", tmp_path / "ranked.jsonl"
    answers.write_bytes(files["answers.jsonl"])
    ranked.write_bytes(files["selection.jsonl"])
    arguments = ("--selection", ranked, "--answers", answers, "--ablation")
    by_shell = shell.result("mad", "rank", *arguments)
    assert {key: result[key] for key in by_shell} == by_shell
    assert (result["ranks"], result["images"]) == (real_networks.RANKS, real_networks.IMAGES)
    assert result == by_api(alice, Benchmark.objects.get())

    tables = published(page, site, run_jobs)
    address = f"{API}campaigns/{campaign.name}/releases/1/labels/?format=huggingface"
    response = program(alice).get(f"{address}&with_images=true")
    assert tables_of(b"".join(response)) == tables
    shell.result("publish", campaign.name, "--with-images", "--out", tmp_path / "published")
    folder_tables = (tmp_path / "published" / "data").glob("*.parquet")
    assert {path.name: path.read_bytes() for path in folder_tables} == tables
    labels = parquet.read_table(io.BytesIO(tables["labels.parquet"]))
    assert labels.num_rows == real_networks.LABELS

    out = tmp_path / "selection.jsonl"
    shell.result("mad", "select", "--predictions", folder, "--min-confidence", 0.1, "--out", out)
    lines = chosen.splitlines()[1:]
    assert len(lines) == 27
    assert out.read_bytes().splitlines()[1:] == lines
    assert select_by_api(alice, folder, run_jobs).splitlines()[1:] == lines
    real_networks.check_answers([json.loads(line) for line in lines])


def published(page, site, run_jobs) -> dict[str, bytes]:
    """The tables of the campaign's first release, published by mouse with its photographs."""
    page.goto(site("/"))
    page.click(".site-header a:has-text('Campaigns')")
    page.get_by_role("link", name="MAD on photographs").first.click()
    follow(page, "Releases")
    page.click("a:has-text('Publish')")
    page.wait_for_selector("text=Waiting for a worker")
    run_jobs()
    page.check("#id_huggingface_with_images")
    return tables_of(download(page, "button:has-text('Download folder to publish')"))


def tables_of(packed: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".parquet")]
        return {name.rpartition("/")[2]: archive.read(name) for name in names}


def by_api(alice, benchmark: Benchmark) -> dict:
    """The result of the newest run."""
    address = f"{API}benchmarks/{benchmark.name}/runs/{benchmark.runs.latest('pk').pk}/"
    return program(alice).get(address).json()["result"]


def select_by_api(alice, folder, run_jobs) -> bytes:
    """The file of a selection from a pool of its own."""
    client, pools = program(alice), f"{API}datasets/photographs/pools/"
    file = upload("p.zip", zipped(folder))
    pool = client.post(f"{pools}upload/", {"file": file}, format="multipart").json()
    selections = f"{pools}{pool['id']}/selections/"
    row = client.post(selections, real_networks.SETTINGS, format="json").json()
    run_jobs()
    return client.get(f"{selections}{row['id']}/selection.jsonl").getvalue()
