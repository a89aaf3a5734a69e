"""A label of each kind, from a person's browser over the night into a score.

Each number is computed again in plain Python from the files that a researcher downloads.
"""

import csv
import io
import json
import zipfile
from collections import defaultdict
from statistics import fmean, median

import numpy as np
import pytest

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.cds import benchmarks as cds_benchmarks
from labeling.campaigns import lifecycle
from labeling.exchange import naming_campaigns
from labeling.follow_ups import asking
from labeling.models import Answer
from tests import factories
from tests.browser import box_hands, drawing_hands
from tests.browser.conftest import let_pass
from tests.browser.labeling.test_labeling import open_label, press, wait_for_chip
from tests.browser.labeling.test_naming_list import NORFOLK, classes_of
from tests.browser.researcher_hands import download
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.cds import world as reveal
from tests.labeling import boxers, part_releases
from tests.labeling.parted import drawn, square

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BOX = [8.0, 6.0, 40.0, 36.0]
NEAR = [12, 6, 44, 36]  # Its IoU with BOX is 28 / 36.
FAR = [44, 0, 64, 20]
ONE_VOTE = {"gold_share": 0, "votes": 1, "max_votes": 1}
LATE, SECOND_CAT = "1.png", "cats/1.png"


def opened(owner, campaign, kind):
    """A benchmark on the labels so far, which takes newer ones from the first image on."""
    return world.make(owner, campaign, kind, min_images=1, split="test")


def morning(*benchmarks) -> None:
    """A night that nobody helped, which reports one change in version 2 of each."""
    report = {row["name"]: row for row in runs.nightly()["benchmarks"]}
    for benchmark in benchmarks:
        row = report[benchmark.name]
        assert (row["version"], row["changed"], row["error"]) == (2, 1, None)


def scored_again(benchmark):
    """The scores on all images of the newest truth."""
    runs.nightly()
    [scored] = runs.latest(benchmark).result["newest"]["all_images"]["submissions"]
    return scored["result"]


def newest_files(page, site, benchmark) -> dict[str, str]:
    """The files in the zip of version 2, as its owner downloads it."""
    page.goto(site(f"/benchmarks/{benchmark.name}/truth/"))
    content = download(page, "tbody tr:first-child a[download]")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name.rsplit("/")[-1]: archive.read(name).decode() for name in archive.namelist()}


def overlap(a, b) -> float:
    """The IoU of two boxes."""
    sides = [min(a[k + 2], b[k + 2]) - max(a[k], b[k]) for k in (0, 1)]
    shared = max(sides[0], 0) * max(sides[1], 0)
    sizes = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (a, b)]
    return shared / (sum(sizes) - shared)


def test_a_box_reaches_detection_localization_and_wsol(
    browser_as, alice, bob, site, dataset, run_jobs, wordnet, tmp_path
):
    campaign = boxers.make(alice, dataset)
    people = boxers.people(campaign)
    factories.join(bob, campaign)

    rules = {"draw": boxers.box(BOX), "check": "good", "cover": "complete"}

    def answer_rest():
        return boxers.work(campaign, people, lambda task, _: rules[task.step])

    while run_jobs() + len(answer_rest()):
        pass
    made = {kind: opened(alice, campaign, kind) for kind in ("detection", "localization", "wsol")}
    factories.make_image(dataset, LATE)
    asking.add_questions(campaign, [(LATE, boxers.DOG)])
    page = browser_as(bob)
    box_hands.open_page(page, site)
    box_hands.draw(page, BOX)
    box_hands.send_by(page, "[data-do=send-box]:visible")
    bobs_box = Answer.objects.latest("created_at").value["box"]
    while run_jobs() + len(answer_rest()):
        pass
    morning(*made.values())

    page = browser_as(alice, accept_downloads=True)
    for kind, benchmark in made.items():
        files = newest_files(page, site, benchmark)
        text = files["localization.txt" if kind == "wsol" else "truth.csv"]
        rows = [line.split(",") for line in text.splitlines() if line[0] in "01"]
        boxes = {row[0]: [float(side) for side in row[-4:]] for row in rows}
        assert boxes[LATE] == pytest.approx(bobs_box, abs=0.06)
        # The classifier finds nothing but Bob's object.
        guessed = {image: NEAR if image == LATE else FAR for image in boxes}
        sent = [(name, boxers.DOG, 0.9, *corners) for name, corners in guessed.items()]
        maps = {f"{name}.npy": lit(*corners) for name, corners in guessed.items()}
        content = world.packed(maps) if kind == "wsol" else sent
        world.submit(benchmark, alice, tmp_path, kind, content)
        score = scored_again(benchmark)
        page.goto(site(f"/benchmarks/{benchmark.name}/"))
        table = page.locator("[aria-labelledby=newest] .table-scroll")
        assert table.evaluate("table => table.scrollWidth - table.clientWidth") == 0
        if kind == "wsol":
            # A map of zeros and ones has two masks: what is lit, and the whole image.
            masks = ([guessed[name] for name in boxes], [(0, 0, 64, 48)] * len(boxes))
            ious = [list(map(overlap, boxes.values(), corners)) for corners in masks]
            best = [max(fmean(iou >= at for iou in row) for row in ious) for at in (0.3, 0.5, 0.7)]
            assert score["max_box_acc_v2"]["mean"] == pytest.approx(fmean(best))
            assert best == [1, 0.5, 0.5]
            continue
        right = [overlap(boxes[name], guessed[name]) >= 0.5 for name in boxes]
        if kind == "localization":
            assert score["error"]["value"] == pytest.approx(1 - fmean(right)) == 0.5
        else:
            # Both have one confidence, so precision and recall have one step.
            assert score["mean_ap"]["value"] == pytest.approx(fmean(right) ** 2) == 0.25


def lit(x0, y0, x1, y1) -> bytes:
    score_map = np.zeros((48, 64), np.float32)
    score_map[y0:y1, x0:x1] = 1
    return world.npy(score_map)


def test_a_yes_reaches_a_competition_and_a_classification(
    browser_as, alice, bob, site, dataset, wordnet, tmp_path
):
    benchmark = crowd.make(alice, dataset, wordnet, crowd.lines(reserve=0), policy=ONE_VOTE)
    campaign = benchmark.campaign
    left = ("beta-gamma-2.png", crowd.DRAKE)
    right = crowd.right_is(crowd.COOT)
    crowd.answer(
        campaign, crowd.people_of(campaign, 1), lambda *pair: None if pair == left else right(*pair)
    )
    labeled = opened(alice, campaign, "classification")
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_label(page, site, campaign.name)
    press(page, "y")
    wait_for_chip(page, "All saved")
    morning(labeled)

    run = runs.latest(benchmark)
    page = browser_as(alice, accept_downloads=True)

    def read(path):
        return page.request.get(site(f"/benchmarks/birds/{path}")).text()

    answers = list(map(json.loads, read(f"runs/{run.pk}/answers.jsonl").splitlines()))
    is_there = {(row["image"], row["wnid"]): row["contains"] for row in answers}
    assert is_there[left] is True
    counts = defaultdict(lambda: [1, 2])  # By Laplace.
    for row in map(json.loads, read("selection.jsonl").splitlines()):
        for at in range(2 * ("pair" in row)):
            pair = counts[row["pair"][at], row["pair"][1 - at]]
            pair[:] = pair[0] + is_there[row["image"], row["labels"][at]], pair[1] + 1
    names = ("alpha", "beta", "gamma")
    accuracy = {key: right / images for key, (right, images) in counts.items()}
    scores = dict.fromkeys(names, 1 / 3)
    for _ in range(200):
        moved = {
            a: scores[a] + sum(scores[b] * accuracy[a, b] / accuracy[b, a] for b in names if b != a)
            for a in names
        }
        scores = {name: value / sum(moved.values()) for name, value in moved.items()}
    assert run.result["scores"] == pytest.approx([scores[name] for name in names])
    assert scores["beta"] > scores["gamma"]
    recompute_classification(newest_files(page, site, labeled), labeled, alice, tmp_path, left)


def recompute_classification(files, benchmark, owner, folder, label) -> None:
    """The error of a classifier that knows this label alone, against that of the site."""
    truth = dict(list(csv.reader(io.StringIO(files["truth.csv"])))[1:])
    assert truth[label[0]] == label[1]
    sent = [(image, 1, label[1]) for image in truth]
    world.submit(benchmark, owner, folder, content=sent)
    wrong = [truth[image] != wnid for image, _, wnid in sent]
    assert scored_again(benchmark)["top1_error"]["value"] == pytest.approx(fmean(wrong))
    assert wrong.count(False) == 1


def test_a_name_reaches_a_classification(browser_as, alice, bob, site, dataset, wordnet, tmp_path):
    for name in ("0.png", LATE):
        factories.make_image(dataset, name)
    words = {"name": "names", "title": "Names", "kind": "naming", "policy": ONE_VOTE}
    words["vocabulary"] = classes_of(wordnet)
    campaign = naming_campaigns.draft(alice, dataset, **words)
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_label(page, site, "names")
    benchmark = None
    for letters in ("tench", "norf"):
        let_pass(page)
        page.keyboard.type(letters)
        page.keyboard.press("Enter")
        with page.expect_response(box_hands.ANSWERS):
            page.keyboard.press("Enter")
        benchmark = benchmark or opened(alice, campaign, "classification")
    morning(benchmark)

    image = Answer.objects.latest("created_at").assignment.question.item.image.name
    files = newest_files(browser_as(alice, accept_downloads=True), site, benchmark)
    recompute_classification(files, benchmark, alice, tmp_path, (image, NORFOLK))


def test_a_drawn_part_reaches_cds(browser_as, alice, bob, site, dataset, wordnet, tmp_path):
    campaign = part_releases.campaign_of(alice, dataset)
    factories.join(bob, campaign)
    for question in campaign.questions.exclude(item__image__name=SECOND_CAT):
        part_releases.settle(question, bob, drawn(head=square(2, 2, 9.5, 9.5)))
    benchmark = reveal.make(alice, campaign, min_images=1)
    page = browser_as(bob)
    drawing_hands.open_page(page, site)
    page.click("[data-do=half-yes]")
    page.click("[data-choose=torso]")
    drawing_hands.draw(page, (24, 10), (50, 10), (50, 30), (24, 30))
    while page.inner_text("[data-missing-count]") != "0":
        drawing_hands.press(page, "j", "2")
    drawing_hands.send(page, "Shift+Enter")
    morning(benchmark)

    page = browser_as(alice, accept_downloads=True)
    text = newest_files(page, site, benchmark)["sequences.jsonl"]
    lines = list(map(json.loads, text.splitlines()))
    # Wrong on the first frame of Bob's cat alone.
    wrong = {line["frames"][0] for line in lines if line["image"] == SECOND_CAT}
    frames = dict.fromkeys((frame, line["category"]) for line in lines for frame in line["frames"])
    rows = [[frame, "eye", "" if frame in wrong else key] for frame, key in frames]
    cds_benchmarks.add_predictions(benchmark, alice, reveal.write(tmp_path / "eye.csv", rows))
    runs.nightly()
    [score] = runs.latest(benchmark).result["newest"]["all_objects"]["classifiers"]

    values = defaultdict(list)
    for line in lines:
        weights = range(len(line["frames"]), 0, -1)
        seen = sum(w for w, f in zip(weights, line["frames"], strict=True) if f not in wrong)
        values[line["content_scheme"], line["category"]].append(1 - seen / sum(weights))
    assert score["cds"] == pytest.approx(fmean(map(median, values.values())))
    assert score["objects"] == 4
