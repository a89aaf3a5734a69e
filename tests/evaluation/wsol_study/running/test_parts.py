from collections import Counter

import numpy as np
import pytest

from evaluation.scoring.wsol.splits import FULL, WEAK
from evaluation.wsol_study.running.parts import StudyData, Subset
from labeling.files import BadInput
from labeling.geometry import mask_png

LABELS = [number % 4 for number in range(80)]


def test_a_proxy_has_its_share_of_each_class():
    indices = Subset(part=WEAK, share=0.1).of(LABELS, seed=0)

    assert Counter(LABELS[index] for index in indices) == {0: 2, 1: 2, 2: 2, 3: 2}
    assert indices == sorted(set(indices))
    assert indices == Subset(part=WEAK, share=0.1).of(LABELS, seed=0)
    assert indices != Subset(part=WEAK, share=0.1).of(LABELS, seed=1)


def test_search_and_validation_divide_the_images():
    whole = Subset(part=FULL, count=5, sample=1)
    search = Subset(part=FULL, count=5, sample=1, fold="search")
    validation = Subset(part=FULL, count=5, sample=1, fold="validation")

    parts = [set(subset.of(LABELS, seed=0)) for subset in (whole, search, validation)]

    assert parts[1] | parts[2] == parts[0]
    assert not parts[1] & parts[2]
    assert (len(parts[1]), len(parts[2])) == (16, 4)


def test_samples_differ():
    first, second = (Subset(part=FULL, count=3, sample=sample).of(LABELS, 0) for sample in (0, 1))

    assert first != second


def test_the_target_is_the_box_in_the_resized_image(data):
    part = data.part(FULL)
    image = part.truth[0]
    x0, y0, x1, y1 = image.boxes[0]

    target = part.target(0, 112, "boxes")

    rows, columns = np.nonzero(target)
    assert [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1] == [
        2 * x0,
        2 * y0,
        2 * x1,
        2 * y1,
    ]


def test_the_box_of_a_mask_is_the_tightest_around_it(drawn, tmp_path):
    folder = tmp_path / FULL
    folder.mkdir()
    (folder / "image_ids.txt").write_text(f"{FULL}/0000.png\n")
    (folder / "class_labels.txt").write_text(f"{FULL}/0000.png,class0\n")
    (folder / "localization.txt").write_text(f"{FULL}/0000.png,m.png,i.png\n")
    mask, ignore = np.zeros((2, 56, 56), bool)
    mask[[10, 20], [5, 30]] = True
    ignore[40:, 40:] = True
    mask_png.write(tmp_path / "m.png", mask)
    mask_png.write(tmp_path / "i.png", ignore)
    part = StudyData(
        images=str(drawn / "images"),
        metadata=str(tmp_path),
        masks=str(tmp_path),
        classes=["class0"],
    ).part(FULL)

    boxes, masks = (part.target(0, 56, targets) for targets in ("boxes", "masks"))

    assert boxes.sum() == boxes[10:21, 5:31].sum() == 11 * 26
    assert (masks == 1).sum() == 2
    assert (masks == -1).sum() == 16 * 16


def test_a_class_without_training_images_is_refused(data):
    data.classes.remove("class3")

    with pytest.raises(BadInput, match="which train-weaksup lacks"):
        data.part(FULL)
