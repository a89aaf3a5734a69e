"""`score classification`: its options, its action, and its result as a person reads it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import analysis_options
from evaluation.management.commands.wordnet import load
from evaluation.management.named_files import named_files
from evaluation.management.numbers import level, whole
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import class_files
from evaluation.scoring import classification
from evaluation.scoring.analysis import accuracies
from evaluation.scoring.explaining import Asked, explain
from labeling.management.contract import Result, UsageError, table

BARE = Path()
ERRORS = ("top1_error", "top5_error", "hierarchical_error")


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    verb.add_argument("--truth", type=Path, required=True, help="image,wnid rows, or a release")
    verb.add_argument(
        "--predictions",
        required=True,
        action="append",
        metavar="[NAME=]PATH",
        help="image,rank,wnid[,confidence] rows; given several times, submissions are compared",
    )
    verb.add_argument(
        "--valid-labels",
        type=Path,
        metavar="WNIDS",
        help="labels that hCorrectSets are made of, a wnid a line; without it those of the truth",
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
    devkit: Path | None,
    confidence: float,
    seed: int,
    **options: Any,
) -> Result:
    """The result as FORMATS promises it."""
    asked = analysis_options.asked(options | {"seed": seed})
    wordnet = load()
    if devkit is None:
        found = {
            name: class_files.read_classified(truth, path, wordnet)
            for name, path in named_files(predictions).items()
        }
    else:
        meaning = valid_labels if devkit == BARE else devkit
        if asked and asked.boxes and not meaning:
            raise UsageError("--boxes needs to know what the ids mean: give --devkit META")
        ids = class_files.read_ids(meaning) if meaning else None
        found = {
            name: class_files.read_devkit(truth, path, wordnet, ids)
            for name, path in named_files(predictions).items()
        }
    result = classification.score_all(found, wordnet, valid_labels, confidence, seed)
    if devkit == BARE and valid_labels:
        told = "the kit's own ids are in another order than its wnids"
        result["notes"].append(f"ids are lines of {valid_labels.name}: {told}")
    return _explained(result, found, asked, wordnet) if asked else result


def _explained(
    result: Result,
    found: Mapping[str, class_files.Classified],
    asked: Asked,
    wordnet: WordNet,
) -> Result:
    by_class = {
        name: accuracies(classification.wrong(own), classification.true_classes(own))
        for name, own in found.items()
    }
    values = {name: own for name, (own, _) in by_class.items()}
    _, images = next(iter(by_class.values()))
    return explain(result, values, images, "top5_accuracy", asked, wordnet)


def show(result: Result) -> str:
    """A line a figure, then what it stands on; of several submissions a line each first."""
    parts = list(_submissions(result)) if "submissions" in result else []
    figures = [(name, result[name]) for name in ERRORS]
    for name in ("hp_at_k", "hit_at_k"):
        figures += [(name.replace("_k", f"_{k}"), own) for k, own in (result[name] or {}).items()]
    body = [(name, own["value"], *own["interval"]) for name, own in figures if own]
    told = [(name, result[name]) for name in ("images", "classes", "valid_labels", "hierarchy")]
    first = result["submissions"][0]["name"] if "submissions" in result else ""
    bounds = f"{100 * result['confidence']:g} % from"
    parts += [table(body, head=(first, "value", bounds, "to")), table(told)]
    sizes = result["mean_correct_set_size"]
    if sizes:
        parts.append(table(list(sizes.items()), head=("k", "mean size of hCorrectSet")))
    parts += analysis_options.tables(result)
    parts += [f"note: {note}" for note in result["notes"]]
    for own in result.get("submissions", [])[1:]:
        parts += [f"note on {own['name']}: {note}" for note in own["notes"]]
    return "\n\n".join(parts)


def _submissions(result: Result) -> Iterator[str]:
    rows = []
    for own in result["submissions"]:
        figures = [own[name] and own[name]["value"] for name in ERRORS]
        rows.append((own["name"], own["images"], *figures, *own["top5_error"]["interval"]))
    bounds = f"top 5, {100 * result['confidence']:g} % from"
    yield table(rows, head=("submission", "images", "top 1", "top 5", "hierarchical", bounds, "to"))
    yield from analysis_options.comparison(result["comparison"])
