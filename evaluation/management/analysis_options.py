"""Options that several verbs of score share, and the tables of their analysis."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management.commands.wordnet import load
from evaluation.metrics.wordnet.nouns import UnknownLabel
from evaluation.readers.box_files import Options
from evaluation.scoring.analysis import Difficulty, Extremes, PerClass
from evaluation.scoring.class_properties import Properties
from evaluation.scoring.classification import ClassificationResult
from evaluation.scoring.comparing import Comparison
from evaluation.scoring.detection import DetectionResult
from evaluation.scoring.explaining import Asked
from evaluation.scoring.localization import LocalizationResult
from labeling.management.contract import UsageError, table
from labeling.plurals import count_of

Scored = ClassificationResult | LocalizationResult | DetectionResult
WIDEST_BAR = 40


def add(verb: CommandParser) -> None:
    """The options that every verb of classes has."""
    verb.add_argument(
        "--per-class",
        action="store_true",
        help="what lies behind the mean: each class, the easiest and the hardest",
    )
    verb.add_argument(
        "--properties",
        type=Path,
        metavar="FILE",
        help="wnid,size,deformability,texture,natural rows: figures by property at equal scale",
    )


def add_boxes(verb: CommandParser) -> None:
    """The options of a verb whose own truth has no boxes."""
    verb.add_argument(
        "--boxes",
        type=Path,
        metavar="TRUTH",
        help="true boxes of these classes, as score localization reads them: figures by scale",
    )
    verb.add_argument(
        "--images", type=Path, metavar="FILE", help="image,width,height rows of their images"
    )
    verb.add_argument("--inclusive", action="store_true", help="x1 and y1 are the last pixels")


def request_of(options: Mapping[str, Any]) -> Asked | None:
    """What add() and add_boxes() were given; None where nothing was asked for."""
    boxes, properties = options["boxes"], options["properties"]
    if properties and not boxes:
        raise UsageError("--properties needs --boxes: classes are compared at equal scale")
    if not boxes and (options["images"] or options["inclusive"]):
        raise UsageError("--images and --inclusive tell of --boxes, which is missing")
    if not (boxes or options["per_class"]):
        return None
    read = Options(inclusive=options["inclusive"], images=options["images"], seed=options["seed"])
    return Asked(boxes, read, properties=properties)


def bounds(confidence: float) -> tuple[str, str]:
    """Return the heads of an interval's columns."""
    return f"{100 * confidence:g} % from", "to"


def notes(result: Scored) -> Iterator[str]:
    """What was noted of the first submission, then of the others."""
    yield from (f"note: {note}" for note in result.notes)
    for submission in (result.submissions or [])[1:]:
        yield from (f"note on {submission.name}: {note}" for note in submission.notes)


def tables(result: Scored) -> Iterator[str]:
    """`analysis`, of the best by class where there are several submissions, and `objects`."""
    analysis = result.analysis
    if analysis is None:
        return
    of = "of the submission"
    if result.comparison and result.comparison.optimistic:
        analysis = result.comparison.optimistic.by_class.analysis or analysis
        of = "of the best submission on each class"
    yield from _per_class(analysis.per_class, f"{analysis.measure} by class, {of}")
    if analysis.by_scale:
        yield table(
            [
                ("correlation with the scale of objects", _known(analysis.by_scale.correlation)),
                ("rank correlation", _known(analysis.by_scale.rank_correlation)),
                ("classes", analysis.by_scale.classes),
            ]
        )
    if analysis.properties:
        yield from _by_property(analysis.properties, analysis.measure)
    if result.objects:
        yield _difficulty(result.objects)


def _difficulty(difficulty: Difficulty) -> str:
    names = ("scale", "cpl", "instances_per_image", "neighbours_per_instance")
    head = [("objects: mean over classes", "")]
    return table(head + [(name, _known(getattr(difficulty, name))) for name in names])


def comparison(compared: Comparison) -> Iterator[str]:
    """What of the order is sure, every pair with its tests, and the best of all submissions."""
    best = compared.optimistic
    assert compared.sure, "new comparisons have all"
    assert best, "new comparisons have all"
    assert best.by_image, "the verb has errors of images"
    yield compared.sure.words
    rows = [
        (
            f"{pair.first} − {pair.second}",
            pair.difference.value,
            *(pair.difference.interval or ()),
            pair.z,
            *(_p(p) for p in (pair.p_one_sided, pair.p_two_sided, pair.mcnemar_p)),
            None if pair.mcnemar_holm_p is None else _p(pair.mcnemar_holm_p),
        )
        for pair in compared.pairs or ()
    ]
    tests = ("z", "p one-sided", "p two-sided", "McNemar's p", "by Holm")
    head = ("errors", "difference", *bounds(compared.confidence or 0), *tests)
    yield table([[_known(cell) for cell in row] for row in rows], head=head)
    assert compared.holm, "new comparisons have all"
    yield f"by Holm: adjusted for {count_of(compared.holm.tests, 'test')}, of {compared.holm.over}"
    yield _cross_table(compared)
    yield table(
        [
            (
                "the best submission on each class, mean over classes",
                _known(best.by_class.error),
            ),
            ("any submission right on the image", _known(best.by_image.error.value)),
        ],
        head=("optimistic", "error"),
    )
    yield table(best.by_class.classes_won.items(), head=("submission", "classes won"))


def _cross_table(compared: Comparison) -> str:
    """The images of every pair by who is right, and the share on which either is."""
    rows = []
    for pair in compared.pairs or ():
        assert pair.either_right, "new comparisons have all"
        counts = (pair.both_right, pair.only_second_wrong, pair.only_first_wrong, pair.both_wrong)
        either = (pair.either_right.value, *(pair.either_right.interval or ()))
        rows.append((f"{pair.first}, {pair.second}", compared.images, *counts, *either))
    right = ("both right", "only the first", "only the second", "neither", "either right")
    head = ("images", "all", *right, *bounds(compared.confidence or 0))
    return table([[_known(cell) for cell in row] for row in rows], head=head)


def _per_class(per_class: PerClass, title: str) -> Iterator[str]:
    facts = [("mean", per_class.mean), *per_class.range.items(), ("classes", per_class.classes)]
    yield f"{title}\n{table([(name, _known(value)) for name, value in facts])}"
    counts, edges = per_class.histogram["counts"], per_class.histogram["edges"]
    most = max([*counts, 1])
    first = next((i for i, count in enumerate(counts) if count), 0)
    bars = [
        (f"{low:.2f} to {high:.2f}", count, "█" * round(WIDEST_BAR * count / most))
        for low, high, count in list(zip(edges, edges[1:], counts, strict=False))[first:]
    ]
    yield table(bars, head=("value", "classes"))
    yield _extremes(per_class.easiest, "easiest")
    yield _extremes(per_class.hardest, "hardest")


def _extremes(extremes: Extremes, name: str) -> str:
    rows = [(f"{row.value:.4f}", row.wnid, _name(row.wnid)) for row in extremes.rows]
    tied = extremes.tied
    text = table(rows, head=(name,))
    if tied.classes > tied.in_list:
        text += f"\n… {tied.in_list} of {tied.classes} classes with {tied.value:.4f}"
    return text


def _by_property(properties: Properties, measure: str) -> Iterator[str]:
    for name, figure in properties.figures.items():
        body = []
        for row in figure.bins:
            matched = row.matched
            after = (
                matched.classes,
                matched.scale,
                matched.value,
                *(matched.interval or (None, None)),
            )
            body.append((row.bin, row.classes, row.scale, row.value, *after))
        before = (name.replace("_", " × "), "classes", "scale", measure)
        head = (*before, "matched", "scale", measure, *bounds(properties.level))
        yield table([[_known(cell) for cell in row] for row in body], head=head)
    yield f"matched: {properties.matching}"
    correlations = [
        (name.replace("_", " and "), correlation)
        for name, correlation in properties.correlations.items()
    ]
    yield table([(f"correlation of {name}", _known(value)) for name, value in correlations])


def _p(value: float | None) -> str:
    return f"{value:.3g}" if value else "< 1e-300"


def _known(value: object) -> object:
    """A cell: four digits behind the point, nothing for what is not a number."""
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 4)
    return value


def _name(wnid: str) -> str:
    wordnet = load()
    try:
        return wordnet.lemmas(wordnet.index(wnid))[0]
    except UnknownLabel:
        return ""
