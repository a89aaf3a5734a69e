"""`score wsol` with many maps at once by torch: what a GPU runs, here on the CPU."""

import pytest
import torch

from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.device import batches
from evaluation.scoring.wsol import scoring
from tests.evaluation.wsol_folders import Folder


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("pixels", [1, 2000, 1 << 26])
@pytest.mark.parametrize("protocol", box_scores.PROTOCOLS)
def test_many_boxes_at_once_by_torch_give_the_result_of_images_one_by_one(
    folder, tmp_path, monkeypatch, protocol, pixels
):
    classes_csv = tmp_path / "named.csv"
    classes_csv.write_text(f"{folder.names[0]},1\n{folder.names[1]},bird\n{folder.names[2]},0\n")
    widths = zip(folder.names, (50, 40, 40), strict=True)
    folder.write("image_sizes.txt", *(f"{name},{width},20" for name, width in widths))
    protocol_used = box_scores.Protocol(protocol, thresholds=20, size=16)
    boxes = scoring.BoxScoring.read(folder.metadata, protocol_used, classes_csv, curves=True)
    expected = boxes.score(folder.maps)
    monkeypatch.setattr(scoring, "BATCH_PIXELS", pixels)

    result = boxes.score(folder.maps, by_torch=True)

    assert result.to_json() == expected.to_json()


@pytest.mark.parametrize("pixels", [1, 2000, 1 << 26])
@pytest.mark.parametrize("protocol", box_scores.PROTOCOLS)
def test_many_masks_at_once_by_torch_give_the_result_of_images_one_by_one(
    folder, monkeypatch, protocol, pixels
):
    folder.mask()
    protocol_used = box_scores.Protocol(protocol, thresholds=20, size=16)
    masks = scoring.MaskScoring.read(folder.metadata, folder.masks, protocol_used, curves=True)
    expected = masks.score(folder.maps)
    monkeypatch.setattr(scoring, "BATCH_PIXELS", pixels)

    result = masks.score(folder.maps, by_torch=True)

    assert result.to_json() == expected.to_json()


def test_a_gpu_scores_by_torch_and_halves_a_batch_that_its_memory_does_not_hold(
    folder, monkeypatch
):
    protocol_used = box_scores.Protocol("reference", thresholds=20, size=16)
    boxes = scoring.BoxScoring.read(folder.metadata, protocol_used)
    expected = boxes.score(folder.maps)
    whole, tried = batches.add_boxes, []

    def add(total, maps, boxes, sizes, classes_right, device):
        tried.append((len(maps), device))
        if len(maps) > 1:
            raise torch.OutOfMemoryError
        whole(total, maps, boxes, sizes, classes_right, "cpu")

    monkeypatch.setattr(batches, "add_boxes", add)

    result = boxes.score(folder.maps, device="cuda:1")

    assert result.to_json() == expected.to_json() | {"device": "cuda:1"}
    assert tried == [(3, "cuda:1")] + [(1, "cuda:1")] * 3


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", box_scores.PROTOCOLS)
def test_a_gpu_gives_the_result_of_the_cpu(folder, protocol):
    protocol_used = box_scores.Protocol(protocol, size=16)
    boxes = scoring.BoxScoring.read(folder.metadata, protocol_used, curves=True)

    result = boxes.score(folder.maps, device="cuda")

    assert result.to_json() == boxes.score(folder.maps).to_json() | {"device": "cuda"}
