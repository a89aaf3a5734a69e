"""`score classification`: its options, its action, and its result as a person reads it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import analysis_options
from evaluation.management.commands.wordnet import load
from evaluation.management.named_files import named_files
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import class_files, release_predictions
from evaluation.readers.class_files import Classified
from evaluation.readers.valid_sets import read_label_sets
from evaluation.scoring import classification
from evaluation.scoring.analysis import accuracies
from evaluation.scoring.classification import ClassificationResult
from evaluation.scoring.explaining import Asked, explain
from labeling.bounded_numbers import level, whole
from labeling.files import file_sha256
from labeling.management.contract import UsageError, table

BARE = Path()
ERRORS = ("top1_error", "top5_error", "hierarchical_error")
FACTS = ("images", "classes", "valid_labels", "hierarchy")
SETS = ("images", "empty_sets", "without_sets")


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    verb.add_argument("--truth", type=Path, required=True, help="image,wnid rows, or a release")
    verb.add_argument(
        "--predictions",
        required=True,
        action="append",
        metavar="[NAME=]PATH",
        help="image,rank,wnid[,confidence] rows, or a release of a naming campaign, folder or zip; "
        "given several times, submissions are compared",
    )
    verb.add_argument(
        "--valid-labels",
        type=Path,
        metavar="WNIDS",
        help="labels that hCorrectSets are made of, a wnid a line; without it those of the truth",
    )
    verb.add_argument(
        "--valid-sets",
        type=Path,
        metavar="SETS",
        help="image,wnid rows, several an image: every class that is right on it, for multi-label "
        "accuracy; an empty wnid states an empty set; or a folder of mistakes apply",
    )
    verb.add_argument(
        "--devkit",
        type=Path,
        nargs="?",
        const=BARE,
        metavar="META",
        help="both files are ILSVRC's own, of ids: what they mean is in its meta.mat, or in a list "
        "whose line i is id i (without META: that of --valid-labels)",
    )
    verb.add_argument(
        "--confidence", type=level, default=0.999, metavar="LEVEL", help="of the intervals"
    )
    verb.add_argument("--seed", type=whole(), default=0, help="of the bootstrap (0)")
    analysis_options.add(verb)
    analysis_options.add_boxes(verb)


def action(
    truth: Path,
    predictions: list[str],
    valid_labels: Path | None,
    valid_sets: Path | None,
    devkit: Path | None,
    confidence: float,
    seed: int,
    **options: Any,
) -> ClassificationResult:
    """Return the result, as docs/reference/metrics.md describes it."""
    request = analysis_options.request_of(options | {"seed": seed})
    wordnet, paths = load(), named_files(predictions)
    if devkit is None:
        read = release_predictions.read_submission
        classified = {name: read(truth, path, wordnet) for name, path in paths.items()}
    else:
        meaning = valid_labels if devkit == BARE else devkit
        if request and request.boxes and not meaning:
            raise UsageError("--boxes needs to know what the ids mean: give --devkit META")
        if valid_sets and not meaning:
            raise UsageError("--valid-sets needs to know what the ids mean: give --devkit META")
        ids = class_files.read_ids(meaning) if meaning else None
        for path in paths.values():
            if release_predictions.is_release(path):
                raise UsageError("--devkit is for files of ILSVRC's kit, not for a release")
        classified = {
            name: class_files.read_devkit(truth, path, wordnet, ids) for name, path in paths.items()
        }
    # Of all images of the truth, before those are left out that a release does not settle.
    images = next(iter(classified.values())).images
    sets = read_label_sets(valid_sets, images, wordnet) if valid_sets else None
    classified = class_files.on_named_images(classified)
    result = classification.score_all(classified, wordnet, valid_labels, confidence, seed, sets)
    _note_unreviewed(result, classified, paths)
    if devkit == BARE and valid_labels:
        order = "the kit's own ids are in another order than its wnids"
        result.notes.append(f"ids are lines of {valid_labels.name}: {order}")
    return _explained(result, classified, request, wordnet) if request else result


def submission_sha256(classified: Classified, path: Path) -> str:
    """Of the rows of predictions; of a release its own."""
    return classified.people.sha256 if classified.people else file_sha256(path)


def _note_unreviewed(
    result: ClassificationResult,
    classified_by_name: Mapping[str, Classified],
    paths: Mapping[str, Path],
) -> None:
    """Notes on each submission that the models of the label sets' version lack."""
    version = result.label_set
    if version is None:
        return
    known = {model.sha256 for model in version.models}
    results = result.submissions or [result]
    for submission, (name, classified) in zip(results, classified_by_name.items(), strict=True):
        if submission_sha256(classified, paths[name]) not in known:
            submission.notes.append(
                f"version {version.version} of the label sets did not review its mistakes: valid "
                "ones among them may count as wrong"
            )


def _explained(
    result: ClassificationResult,
    classified: Mapping[str, Classified],
    request: Asked,
    wordnet: WordNet,
) -> ClassificationResult:
    by_class = {
        name: accuracies(classification.wrong(submission), classification.true_classes(submission))
        for name, submission in classified.items()
    }
    values = {name: errors for name, (errors, _) in by_class.items()}
    _, images = next(iter(by_class.values()))
    return explain(result, values, images, "top5_accuracy", request, wordnet)


def show(result: ClassificationResult) -> str:
    """Return a line a figure, then the counts; of several submissions a line each first."""
    parts = list(_submissions(result))
    figures = [(name, getattr(result, name)) for name in ERRORS]
    figures += [(f"hp_at_{k}", figure) for k, figure in (result.hp_at_k or {}).items()]
    figures += [(f"hit_at_{k}", figure) for k, figure in result.hit_at_k.items()]
    if result.multi_label_accuracy:
        figures.append(("multi_label_accuracy", result.multi_label_accuracy))
    body = [(name, figure.value, *figure.interval) for name, figure in figures if figure]
    facts = [(name, getattr(result, name)) for name in FACTS]
    if accuracy := result.multi_label_accuracy:
        if result.label_set:
            facts.append(("label sets, version", result.label_set.version))
        facts += [
            (f"multi-label, {name.replace('_', ' ')}", getattr(accuracy, name)) for name in SETS
        ]
    first = result.submissions[0].name if result.submissions else ""
    parts += [
        table(body, head=(first or "", "value", *analysis_options.bounds(result.confidence))),
        table(facts),
    ]
    if result.mean_correct_set_size:
        sizes = result.mean_correct_set_size.items()
        parts.append(table(sizes, head=("k", "mean size of hCorrectSet")))
    return "\n\n".join([*parts, *analysis_options.tables(result), *analysis_options.notes(result)])


def _submissions(result: ClassificationResult) -> Iterator[str]:
    if not result.submissions or not result.comparison:
        return
    rows = []
    for submission in result.submissions:
        figures = [getattr(submission, name) for name in ERRORS]
        values = [figure and figure.value for figure in figures]
        rows.append(
            (submission.name, submission.images, *values, *(submission.top5_error.interval or ()))
        )
    low, high = analysis_options.bounds(result.confidence)
    head = ("submission", "images", "top 1", "top 5", "hierarchical", f"top 5, {low}", high)
    yield table(rows, head=head)
    yield from analysis_options.comparison(result.comparison)
    if result.multi_label_comparison:
        yield from _multi_label(result)


def _multi_label(result: ClassificationResult) -> Iterator[str]:
    rows = []
    for submission in result.submissions or ():
        accuracy = submission.multi_label_accuracy
        assert accuracy, "label sets are given"
        rows.append((submission.name, accuracy.images, accuracy.value, *(accuracy.interval or ())))
    bounds = analysis_options.bounds(result.confidence)
    yield table(rows, head=("multi-label accuracy", "images", "value", *bounds))
    assert result.multi_label_comparison, "there are several submissions"
    yield from analysis_options.comparison(result.multi_label_comparison)
