"""`score localization`: its options, its deed, and its result as a person reads it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.ilsvrc import localization
from evaluation.management import box_options
from labeling.management.contract import Result, table


def add(verb: CommandParser) -> None:
    """The options of the verb."""
    box_options.add(verb)
    verb.add_argument(
        "--strict", action="store_true", help="an IoU of 0.5 is not enough, as the paper says"
    )


def deed(truth: Path, predictions: list[tuple[str, Path]], **chosen: Any) -> Result:
    """The result as FORMATS promises it."""
    options = box_options.options_of(chosen)
    found = localization.read_all(truth, box_options.submissions(predictions), options)
    return localization.score_all(found, options)


def show(result: Result) -> str:
    """A line a submission, then what it stands on."""
    named = result.get("submissions", [{"name": "", **result}])
    body = [
        (own["name"], own["error"]["value"], *own["error"]["interval"], own["class_error"])
        for own in named
    ]
    facts = ("images", "classes", "boxes", "excluded", "convention")
    parts = [
        table(body, head=("", "error", "low", "high", "of the class alone")),
        table([(name, result[name]) for name in facts]),
    ]
    if "comparison" in result:
        names = ("first", "second", "z", "p_two_sided", "mcnemar_p")
        pairs = [[pair[name] for name in names] for pair in result["comparison"]["pairs"]]
        parts.append(table(pairs, head=names))
    told = [f"{own['name']}: {note}" for own in named for note in own["notes"]]
    return "\n\n".join([*parts, *(f"note: {note.removeprefix(': ')}" for note in told)])
