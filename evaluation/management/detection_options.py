"""`score detection`: its options, its deed, and its result as a person reads it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.ilsvrc import detection
from evaluation.management import box_options
from evaluation.metrics.significance import MOST_ROUNDS
from labeling.management.contract import Result, table


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    box_options.add(verb)
    verb.add_argument(
        "--most-rounds",
        type=round_count,
        default=MOST_ROUNDS,
        metavar="N",
        help="rounds of the bootstrap are doubled until it settles, up to so many; 0: no intervals",
    )


def round_count(text: str) -> int:
    """A whole number from 0."""
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def deed(truth: Path, predictions: list[tuple[str, Path]], **chosen: Any) -> Result:
    """The result as FORMATS promises it."""
    options = box_options.options_of(chosen)
    found = detection.read_all(truth, box_options.submissions(predictions), options)
    return detection.score_all(found, options)


def show(result: Result) -> str:
    """A line a submission, what it stands on, then a line a class of the first one."""
    named = result.get("submissions", [{"name": "", **result}])
    won = result.get("classes_won", {})
    body = [(own["name"], *_cells(own["mean_ap"]), won.get(own["name"])) for own in named]
    facts = ("images", "classes", "objects", "detections", "excluded", "matching", "averaging")
    classes = [
        (wnid, *_cells(own, "ap"), own["positives"], own["detections"])
        for wnid, own in result["per_class"].items()
    ]
    head = ("class", "AP", "low", "high", "objects", "detections")
    parts = [
        table(body, head=("", "mean AP", "low", "high", "classes won")),
        table([(name, result[name]) for name in facts]),
        table(classes, head=head),
    ]
    if "comparison" in result:
        names = ("first", "second", "difference")
        pairs = [
            [pair[name] for name in names] + list(pair["interval"] or (None, None))
            for pair in result["comparison"]["pairs"]
        ]
        parts.insert(1, table(pairs, head=(*names, "low", "high")))
    told = [f"{own['name']}: {note}" for own in named for note in own["notes"]]
    return "\n\n".join([*parts, *(f"note: {note.removeprefix(': ')}" for note in told)])


def _cells(own: dict[str, Any], key: str = "value") -> tuple[Any, Any, Any]:
    low, high = own["interval"] or (None, None)
    return own[key], low, high
