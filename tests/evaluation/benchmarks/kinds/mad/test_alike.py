"""Images that both classifiers of a pair name alike and wrongly."""

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.mad import alike, true_labels
from evaluation.models import Pool
from labeling.estimators.intervals import clopper_pearson
from labeling.models import GivenLabel, Item
from tests.clients import html_of, text_of
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT, DRAKE, TENCH
from tests.evaluation.pools.pool_rows import zipped

IMAGES = ["shared.png", "alpha-beta-2.png", "alpha-beta-3.png", "beta-gamma-2.png"]
CLASSES = [COOT, DRAKE, TENCH]
LABELS = {"alpha": [0, 0, 0, 1], "beta": [0, 0, 1, 1], "gamma": [0, 2, 2, 2]}


@pytest.fixture
def pool(birds, tmp_path) -> Pool:
    (tmp_path / "classes.txt").write_text("".join(f"{key}\n" for key in CLASSES))
    (tmp_path / "images.txt").write_text("".join(f"{name}\n" for name in IMAGES))
    for name, labels in LABELS.items():
        np.save(tmp_path / f"{name}.labels.npy", np.array(labels, dtype=np.int16))
    dataset = birds.campaign.dataset
    file = storages["data"].save("pools/alike.zip", ContentFile(zipped(tmp_path)))
    return Pool.objects.create(
        dataset=dataset, names=list(LABELS), file=file, created_by=dataset.owner
    )


def label(benchmark, image: str, *keys: str) -> None:
    image_row = benchmark.campaign.dataset.images.get(name=image)
    item, _ = Item.objects.get_or_create(image=image_row, region__isnull=True)
    for key in keys:
        GivenLabel.objects.create(item=item, key=key, source="list.csv")


def test_pairs_count_images_named_alike_and_wrongly_by_the_labels(birds, pool):
    label(birds, "shared.png", TENCH)
    label(birds, "alpha-beta-2.png", DRAKE, COOT)
    label(birds, "beta-gamma-2.png", COOT)
    # No class of the pool: without a truth.
    label(birds, "alpha-beta-3.png", "n02084071")

    result = alike.alike_and_wrong(birds)

    assert (result.pool, result.truth) == (pool.pk, alike.DATASET_LABELS)
    counts = {(row.first, row.second): (row.images, row.alike, row.wrong) for row in result.pairs}
    assert counts == {
        ("alpha", "beta"): (3, 3, 2),
        ("alpha", "gamma"): (3, 1, 1),
        ("beta", "gamma"): (3, 1, 1),
    }
    row = result.pairs[0]
    assert row.share == 2 / 3
    assert (row.low, row.high) == clopper_pearson(2, 3)


def test_without_labels_the_true_labels_of_chosen_images_are_the_truth(
    birds, pool, people, alice, wordnet
):
    crowd.answer(birds.campaign, people, crowd.right_is())
    rows = birds.selections.filter(first__name="alpha", second__name="beta", state="chosen")
    naming = true_labels.ask_true_label(birds, alice, list(rows), wordnet)
    before = alike.fingerprint(birds)
    crowd.answer(naming, people, lambda image, topic: {"key": DRAKE})
    birds.refresh_from_db()

    result = alike.alike_and_wrong(birds)

    assert result.truth == alike.CHOSEN_LABELS
    assert [(row.images, row.wrong) for row in result.pairs] == [(3, 2), (3, 1), (3, 1)]
    assert alike.fingerprint(birds) != before


def test_without_a_pool_or_a_truth_there_is_no_result(birds, alice, dataset, wordnet, request):
    assert alike.alike_and_wrong(birds) is None
    assert alike.fingerprint(birds) == {}

    request.getfixturevalue("pool")

    assert alike.alike_and_wrong(birds) is None


def test_page_and_csv_have_the_table_only_with_a_truth(
    birds, people, alice, as_alice, run_jobs, request
):
    crowd.answer(birds.campaign, people, crowd.right_is(COOT, DRAKE))
    first = runs.request(birds, alice)
    run_jobs()
    page = as_alice.get("/benchmarks/birds/")
    assert "add a pool of these classifiers" in text_of(page)
    assert f"runs/{first.pk}/alike.csv" not in html_of(page)

    request.getfixturevalue("pool")
    label(birds, "shared.png", TENCH)
    second = runs.request(birds, alice)
    run_jobs()

    assert second.pk != first.pk
    page = as_alice.get("/benchmarks/birds/")
    assert f"the truth is the {alike.DATASET_LABELS}" in text_of(page)
    table = as_alice.get(f"/benchmarks/birds/runs/{second.pk}/alike.csv").content.decode()
    assert table.splitlines()[:2] == [
        "first,second,images,alike,wrong,share,low,high",
        "alpha,beta,1,1,1,1.0,0.025000000000000022,1.0",
    ]
