"""`score classification`: its options, its deed, and its result as a person reads it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.ilsvrc import class_files, classification
from evaluation.management.commands.wordnet import load
from labeling.management.contract import Result, table

BARE = Path()


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    verb.add_argument("--truth", type=Path, required=True, help="image,wnid rows")
    verb.add_argument(
        "--predictions", type=Path, required=True, help="image,rank,wnid[,confidence] rows"
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
    verb.add_argument("--seed", type=seed_number, default=0)


def level(text: str) -> float:
    """A number between 0 and 1."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


def seed_number(text: str) -> int:
    """A whole number from 0."""
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def deed(
    truth: Path,
    predictions: Path,
    valid_labels: Path | None,
    devkit: Path | None,
    confidence: float,
    seed: int,
    **options: Any,
) -> Result:
    """The result as FORMATS promises it."""
    wordnet = load()
    if devkit is None:
        found = class_files.read_classified(truth, predictions, wordnet)
    else:
        meaning = valid_labels if devkit == BARE else devkit
        ids = class_files.read_ids(meaning) if meaning else None
        found = class_files.read_devkit(truth, predictions, wordnet, ids)
    result = classification.score(found, wordnet, valid_labels, confidence, seed)
    if devkit == BARE and valid_labels:
        told = "the kit's own ids are in another order than its wnids"
        result["notes"].append(f"ids are lines of {valid_labels.name}: {told}")
    return result


def show(result: Result) -> str:
    """A line a figure, then what it stands on."""
    figures = [(name, result[name]) for name in ("top1_error", "top5_error", "hierarchical_error")]
    for name in ("hp_at_k", "hit_at_k"):
        figures += [(name.replace("_k", f"_{k}"), own) for k, own in (result[name] or {}).items()]
    body = [(name, own["value"], *own["interval"]) for name, own in figures if own]
    told = [(name, result[name]) for name in ("images", "classes", "valid_labels", "hierarchy")]
    parts = [table(body, head=("", "value", "low", "high")), table(told)]
    sizes = result["mean_correct_set_size"]
    if sizes:
        parts.append(table(list(sizes.items()), head=("k", "mean size of hCorrectSet")))
    parts += [f"note: {note}" for note in result["notes"]]
    return "\n\n".join(parts)
