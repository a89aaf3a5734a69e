"""`score localization`: its options, its action, and its result as a person reads it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import analysis_options, box_options
from evaluation.management.named_files import named_files
from evaluation.scoring import localization
from evaluation.scoring.analysis import accuracies
from evaluation.scoring.localization import LocalizationResult
from labeling.management.contract import table


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    box_options.add(verb)
    verb.add_argument(
        "--strict", action="store_true", help="an IoU of 0.5 is not enough, as the paper says"
    )


def action(truth: Path, predictions: list[str], **chosen: Any) -> LocalizationResult:
    """Return the result, as docs/reference/metrics.md describes it."""
    options = box_options.options_of(chosen)
    localized = localization.read_all(truth, named_files(predictions), options)
    result = localization.score_all(localized, options)
    by_class = {
        name: accuracies(localization.wrong(submission), submission.classes)
        for name, submission in localized.items()
    }
    values = {name: errors for name, (errors, _) in by_class.items()}
    _, images = next(iter(by_class.values()))
    measure = "localization_accuracy"
    return box_options.explained(result, values, images, measure, chosen | {"truth": truth})


def show(result: LocalizationResult) -> str:
    """Return a line a submission, then the counts."""
    body = [
        (
            submission.name or "",
            submission.images,
            submission.error.value,
            *(submission.error.interval or ()),
            submission.class_error,
        )
        for submission in result.submissions or [result]
    ]
    facts = ("images", "classes", "boxes", "excluded", "convention")
    bounds = analysis_options.bounds(result.confidence)
    parts = [
        table(body, head=("", "images", "error", *bounds, "of the class alone")),
        table([(name, getattr(result, name)) for name in facts]),
    ]
    if result.comparison:
        parts += analysis_options.comparison(result.comparison)
    return "\n\n".join([*parts, *analysis_options.tables(result), *analysis_options.notes(result)])
