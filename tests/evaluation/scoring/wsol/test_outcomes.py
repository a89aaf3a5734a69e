"""Outcomes of the images of `score wsol`: their shares are the numbers."""

import numpy as np
import pytest
from scipy import ndimage

from evaluation.metrics.wsol import box_scores
from evaluation.scoring.wsol import outcomes, scoring
from tests.evaluation.wsol_folders import Folder

SIZE = 24


@pytest.fixture
def folder(tmp_path) -> Folder:
    """Forty images of 40 × 20 with smooth and noisy maps, some constant, and a box or two each."""
    folder = Folder(tmp_path)
    rng = np.random.default_rng(0)
    folder.names = tuple(f"{number}.png" for number in range(40))
    for path in folder.maps.rglob("*.npy"):
        path.unlink()
    boxes = []
    for number, name in enumerate(folder.names):
        scores = ndimage.gaussian_filter(rng.random((SIZE, SIZE)), rng.uniform(0, 4))
        folder.save(name, np.zeros_like(scores) if number % 13 == 0 else scores)
        for _ in range(1 + number % 2):
            (x0, x1), (y0, y1) = np.sort(rng.integers(0, 41, 2)), np.sort(rng.integers(0, 21, 2))
            boxes.append(f"{name},{x0},{y0},{x1},{y1}")
    folder.write("image_ids.txt", *folder.names)
    folder.write("class_labels.txt", *(f"{name},dog" for name in folder.names))
    folder.write("image_sizes.txt", *(f"{name},40,20" for name in folder.names))
    folder.write("localization.txt", *boxes)
    return folder


@pytest.mark.parametrize("name", box_scores.PROTOCOLS)
def test_the_shares_of_right_images_are_the_accuracies(folder, name, tmp_path):
    protocol = box_scores.Protocol(name, thresholds=50, size=SIZE)
    classes_csv = tmp_path / "named.csv"
    classes_csv.write_text(
        "".join(f"{image},{'dc'[n % 2]}og\n" for n, image in enumerate(folder.names))
    )
    boxes = scoring.BoxScoring.read(folder.metadata, protocol, classes_csv)
    result, rights = boxes.score(folder.maps), boxes.class_right

    rows = list(outcomes.box_outcomes(folder.metadata, folder.maps, protocol, result, rights))

    assert [row["image"] for row in rows] == list(folder.names)
    expected = {**result.max_box_acc_v2.best, "max_box_acc": result.max_box_acc}
    expected["top1_localization"] = result.top1_localization
    for key, best in expected.items():
        right = [row["outcome"][key]["right"] for row in rows]
        assert np.mean(right) == best.accuracy, key
    assert set(expected) == set(rows[0]["outcome"])
    assert 0.1 < expected["0.5"].accuracy < 1


@pytest.mark.parametrize("name", box_scores.PROTOCOLS)
def test_an_outcome_is_in_pixels_of_the_image(folder, name):
    scores = np.zeros((20, 40) if name == "paper" else (SIZE, SIZE))
    height, width = scores.shape
    scores[height // 2 :, width // 2 :] = 1
    folder.write("localization.txt", *(f"{image},20,10,40,20" for image in folder.names))
    for image in folder.names:
        folder.save(image, scores)
    protocol = box_scores.Protocol(name, thresholds=10, size=SIZE)
    result = scoring.BoxScoring.read(folder.metadata, protocol).score(folder.maps)

    first = next(outcomes.box_outcomes(folder.metadata, folder.maps, protocol, result))

    last = [40, 20] if name == "paper" else [40 * 23 / 24, 20 * 23 / 24]
    assert first["classes"] == ["dog"]
    assert first["truth"] == [[20, 10, 40, 20]]
    for placed in first["outcome"].values():
        assert placed["box"] == pytest.approx([20, 10, *last])
        assert placed["right"]


def test_without_a_box_there_is_none(folder):
    protocol = box_scores.Protocol("paper", thresholds=50, size=SIZE)
    result = scoring.BoxScoring.read(folder.metadata, protocol).score(folder.maps)

    rows = list(outcomes.box_outcomes(folder.metadata, folder.maps, protocol, result))

    constant = [row["outcome"]["0.3"] for row in rows[::13]]
    assert constant == [{"iou": 0.0, "box": None, "right": False}] * 4


@pytest.mark.parametrize("name", box_scores.PROTOCOLS)
def test_pixels_of_an_image_at_the_threshold_of_all(tmp_path, name):
    folder = Folder(tmp_path).mask()
    protocol = box_scores.Protocol(name, thresholds=20, size=16)
    inputs = (folder.metadata, folder.masks, folder.maps, protocol)
    result = scoring.MaskScoring.read(folder.metadata, folder.masks, protocol).score(folder.maps)

    outcomes_of_masks = [row["outcome"] for row in outcomes.mask_outcomes(*inputs, result)]

    if name == "reference":
        rows, columns = np.arange(16) * 20 // 16, np.arange(16) * 40 // 16
        truth = np.zeros((20, 40), bool)
        truth[4:16, 10:30] = True
        truth = truth[rows][:, columns]
        scores = box_scores.normalized(np.load(folder.maps / f"{folder.names[1]}.npy"))
        called = scores >= result.px_acc.threshold
        assert outcomes_of_masks[1] == {
            "px_acc": (called == truth).mean(),
            "px_prec": (called & truth).sum() / called.sum() if called.any() else None,
            "px_rec": (called & truth).sum() / truth.sum(),
        }
    assert outcomes_of_masks[2]["px_rec"] is None
