"""`score detection`: its options, its action, and its result as a person reads it."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import analysis_options, box_options
from evaluation.management.named_files import named_files
from evaluation.metrics.significance import MOST_ROUNDS
from evaluation.scoring import detection
from evaluation.scoring.comparing import Comparison, Estimate
from evaluation.scoring.detection import DetectionResult
from labeling.bounded_numbers import ious, whole
from labeling.management.contract import table

# An image of three classes makes three such pairs.
FACTS = {"excluded": "excluded pairs of an image and a class"}


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    box_options.add(verb)
    verb.add_argument(
        "--iou",
        type=ious,
        default=(),
        dest="ious",
        metavar="0.5|0.5:0.95",
        help="that a detection needs with its object, in place of ILSVRC's less for small objects; "
        "a range, in steps of 0.05, gives COCO's mean AP",
    )
    verb.add_argument(
        "--most-rounds",
        type=whole(),
        default=MOST_ROUNDS,
        metavar="N",
        help="the bootstrap's 20,000 rounds are doubled until it settles, up to N; 0: no intervals",
    )


def action(truth: Path, predictions: list[str], **chosen: Any) -> DetectionResult:
    """Return the result, as docs/reference/metrics.md describes it."""
    options = box_options.options_of(chosen)
    detected = detection.read_all(truth, named_files(predictions), options)
    result = detection.score_all(detected, options)
    values = {name: detection.precisions_of(submission) for name, submission in detected.items()}
    images = detection.images_of(next(iter(detected.values())))
    return box_options.explained(result, values, images, "ap", chosen | {"truth": truth})


def show(result: DetectionResult) -> str:
    """Return a line a submission, the counts, then a line a class of the first one."""
    won = result.classes_won or {}
    body = [
        (
            submission.name or "",
            submission.images,
            *_cells(submission.mean_ap),
            won.get(submission.name or ""),
        )
        for submission in result.submissions or [result]
    ]
    facts = ("images", "classes", "boxes", "detections", "excluded", "matching", "averaging")
    classes = [
        (
            wnid,
            figures.ap,
            *(figures.interval or (None, None)),
            figures.positives,
            figures.detections,
        )
        for wnid, figures in result.per_class.items()
    ]
    bounds = analysis_options.bounds(result.confidence)
    parts = [
        table(body, head=("", "images", "mean AP", *bounds, "classes won")),
        table([(FACTS.get(name, name), getattr(result, name)) for name in facts]),
        table(classes, head=("class", "AP", *bounds, "objects", "detections")),
    ]
    if result.comparison:
        parts[1:1] = _comparison(result.comparison, bounds)
    if result.by_iou:
        parts.insert(1, table(list(result.by_iou.items()), head=("IoU", "mean AP")))
    return "\n\n".join([*parts, *analysis_options.tables(result), *analysis_options.notes(result)])


def _comparison(compared: Comparison, bounds: tuple[str, str]) -> Iterator[str]:
    pairs = [
        (f"{pair.first} − {pair.second}", *_cells(pair.difference)) for pair in compared.pairs or ()
    ]
    assert compared.sure, "new comparisons have all"
    assert compared.optimistic, "new comparisons have all"
    yield compared.sure.words
    yield table(pairs, head=("mean AP", "difference", *bounds))
    best = compared.optimistic.by_class.mean_ap
    known = None if best is None or math.isnan(best) else best
    yield table([("the best submission on each class, mean AP", known)])


def _cells(estimate: Estimate) -> tuple[float | None, ...]:
    return estimate.value, *(estimate.interval or (None, None))
