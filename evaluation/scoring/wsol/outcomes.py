"""The outcome of every image of `score wsol`, at the thresholds in its result."""

from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import numpy as np

from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.mask_scores import MaskScore, curves_of
from evaluation.metrics.wsol.threshold_boxes import BestBox, ThresholdedMap
from evaluation.readers import wsol_folders
from evaluation.scoring.image_lines import ImageOutcome, Outcome, PlacedBox
from evaluation.scoring.wsol.results import BoxResult, MaskResult
from evaluation.scoring.wsol.scoring import BoxScoring, MaskScoring, in_parts


def box_outcomes(
    metadata: Path,
    scoremaps: Path | None,
    protocol: box_scores.Protocol,
    result: BoxResult,
    class_right: Mapping[str, bool] | None = None,
    part: Container[str] | None = None,
) -> Iterator[ImageOutcome]:
    """Yield the outcome of each image scored by boxes, in the order of image_ids.txt.

    The outcome has `max_box_acc` (the largest component's box), each IoU of `max_box_acc_v2` (the
    best box) and, with class_right, `top1_localization`, each at the threshold in the result. Boxes
    are in pixels of the image. The shares of `right` are the accuracies of the result. Only the
    images in work are held in memory. part: the images to yield, in NFC; None for all.
    """
    truth = BoxScoring.read(metadata, protocol)
    truth.keep(part)
    read = truth.reader(scoremaps)
    numbers = _thresholds(result, protocol)

    def outcomes(images: list[wsol_folders.WsolImage]) -> list[ImageOutcome]:
        return [
            {
                "image": image.name,
                "classes": [image.label],
                "truth": image.boxes.tolist(),
                "outcome": _outcome(
                    ThresholdedMap(
                        read(image.name), image.boxes, image.width, image.height, protocol
                    ),
                    numbers,
                    class_right is None or class_right[image.name],
                ),
            }
            for image in images
        ]

    for some in in_parts(outcomes, truth.images):
        yield from some


def _thresholds(result: BoxResult, protocol: box_scores.Protocol) -> dict[str, int]:
    """Return the threshold of each number of the result."""
    best = {"max_box_acc": result.max_box_acc, **result.max_box_acc_v2.best}
    if result.top1_localization is not None:
        best["top1_localization"] = result.top1_localization
    return {name: _place(entry.threshold, protocol) for name, entry in best.items()}


def _place(threshold: float, protocol: box_scores.Protocol) -> int:
    return int(np.abs(protocol.taus - threshold).argmin())


def _outcome(cut: ThresholdedMap, numbers: dict[str, int], class_right: bool) -> Outcome:
    boxes: dict[str, PlacedBox] = {}
    for name, k in numbers.items():
        if name in ("max_box_acc", "top1_localization"):
            right = class_right or name == "max_box_acc"
            boxes[name] = _placed(cut.largest(k), box_scores.LARGEST_DELTA, right)
        else:
            boxes[name] = _placed(cut.best(k), float(name))
    return Outcome(**boxes)  # type: ignore[typeddict-item]


def _placed(box: BestBox, delta: float, class_right: bool = True) -> PlacedBox:
    return {"iou": box.iou, "box": box.box, "right": class_right and box.iou >= delta}


def mask_outcomes(
    metadata: Path,
    masks: Path,
    scoremaps: Path | None,
    protocol: box_scores.Protocol,
    result: MaskResult,
    part: Container[str] | None = None,
) -> Iterator[ImageOutcome]:
    """Yield the outcome of each image scored by masks, in the order of image_ids.txt.

    The outcome has px_acc, px_prec and px_rec of the image's pixels at the threshold of `px_acc`;
    None if undefined. part: as in box_outcomes().
    """
    truth = MaskScoring.read(metadata, masks, protocol)
    truth.keep(part)
    read = truth.reader(scoremaps)
    k = _place(result.px_acc.threshold, protocol)

    def outcomes(images: list[wsol_folders.MaskedImage]) -> list[ImageOutcome]:
        results: list[ImageOutcome] = []
        for image in images:
            alone = truth.empty()
            truth.add(alone, read(image.name), image)
            results.append(
                {
                    "image": image.name,
                    "classes": [image.label],
                    "truth": [],
                    "outcome": _pixels(alone, image.label, k),
                }
            )
        return results

    for some in in_parts(outcomes, truth.images):
        yield from some


def _pixels(alone: MaskScore, label: str, k: int) -> Outcome:
    precision, recall, right = (
        None if np.isnan(curve[k]) else float(curve[k]) for curve in curves_of(alone.classes[label])
    )
    return {"px_acc": right, "px_prec": precision, "px_rec": recall}
