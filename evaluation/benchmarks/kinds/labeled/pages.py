"""What the pages of a benchmark on released labels show of its result: no request, no HTML."""

import csv
from functools import lru_cache
from typing import Any

from django.urls import reverse

from evaluation.benchmarks.kinds.labeled import (
    benchmarks,
    class_names,
    paths,
    running,
    tables,
    wording,
)
from evaluation.benchmarks.kinds.labeled.images.pages import Asked
from evaluation.benchmarks.kinds.labeled.settings import TEST
from evaluation.benchmarks.kinds.labeled.tables import Result, Row
from evaluation.benchmarks.kinds.labeled.truth import ground_truth, wsol_truth
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import DETECTION, WSOL
from evaluation.models import Benchmark, Run
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.models import Campaign, Release
from labeling.releases import freezing

# More classes are in the CSV file alone.
MOST_CLASSES = 200


def page(row: Benchmark, run: Run | None, result: Result | None) -> dict[str, Any]:
    """What the templates of benchmarks on released labels show."""
    return {
        "kind_name": wording.KINDS[row.kind],
        "asked": wording.ASKED[row.kind],
        "what": _what(row),
        "split": row.settings["split"],
        "truth": row.settings["truth"],
        "result": _result(row, run, result) if result and run else None,
    }


def submissions_page(row: Benchmark) -> dict[str, Any]:
    """What a submission to the benchmark is, and how its file looks."""
    return {
        "what": _what(row),
        "is_test": row.settings["split"] == TEST,
        "example": example(row),
        "truth": row.settings["truth"],
    }


def _what(row: Benchmark) -> str:
    """What a classifier sends in."""
    return "score maps" if row.kind == WSOL else "predictions"


def result_of(row: Benchmark, run: Run | None) -> Result | None:
    """The run's result with its curves and the names of its classes; None while there is none."""
    if run is None or run.state != Run.State.DONE or run.result is None:
        return None
    result: Result = run.result | {"curves": running.curves_of(row, run.pk)}
    name = class_names.namer(row)
    keys = {key for own in result["submissions"] for key in tables.by_class(own["result"])}
    return result | {"class_names": {key: name(key) for key in keys}}


def _result(row: Benchmark, run: Run, result: Result) -> dict[str, Any]:
    difficulty = tables.difficulty(result)
    return {
        "head": result,
        "level": f"{100 * tables.level(result):g} %",
        "answer": tables.answer(result),
        "measures": tables.measures(result),
        "standings": _linked_standings(row, run, result),
        "names": tables.names(result),
        "at_k": _at_k(row, run, result),
        "set_sizes": tables.set_sizes(result),
        "thresholds": _thresholds(row, run, result),
        "classes": _classes(row, run, result),
        "scale": tables.scale(result),
        "difficulty": difficulty and {key: difficulty.get(key) for key in DIFFICULTY},
        "pairs": tables.pairs(result),
        "optimistic": tables.optimistic(result),
        "won": tables.classes_won(result),
        "conventions": conventions(result),
        "notes": tables.notes(result),
        "is_tried_again": result["settings"]["split"] == TEST
        and any((own.get("attempts") or 1) > 1 for own in result["submissions"]),
        "has_images": running.images_path(row, run.pk).is_file(),
        "images": _images(row, run),
    }


DIFFICULTY = ("classes", "scale", "cpl", "instances_per_image", "neighbours_per_instance")


def _images(row: Benchmark, run: Run, asked: Asked | None = None) -> str:
    """The address of the images behind a number."""
    address = reverse("evaluation:released_images", args=[row.name, run.pk])
    return f"{address}?{asked.query()}" if asked else address


def _linked_standings(row: Benchmark, run: Run, result: Result) -> list[Row]:
    measures = tables.measures(result)
    return [
        own
        | {
            "cells": [
                cell | {"url": _images(row, run, Asked(own["name"], measure.number, measure.case))}
                for measure, cell in zip(measures, own["cells"], strict=True)
            ],
        }
        for own in tables.standings(result)
    ]


def _at_k(row: Benchmark, run: Run, result: Result) -> list[Row]:
    """hp@k has no image that is right or wrong: its link leads to hit@k, and says so."""
    return [
        line
        | {
            "cells": [
                cell | {"url": _images(row, run, Asked(name, f"hit_at_{line['k']}", "right"))}
                for name, cell in zip(tables.names(result), line["cells"], strict=True)
            ]
        }
        for line in tables.at_k(result)
    ]


def _thresholds(row: Benchmark, run: Run, result: Result) -> list[Row]:
    def linked(line: Row, name: str, cell: Row) -> Row:
        if not line["number"]:
            return cell
        case = "" if line["number"].startswith("px_") else "right"
        return cell | {"url": _images(row, run, Asked(name, line["number"], case))}

    return [
        line
        | {
            "cells": [
                linked(line, name, cell)
                for name, cell in zip(tables.names(result), line["cells"], strict=True)
            ]
        }
        for line in tables.thresholds(result)
    ]


# Which images a class's value leads to: number and case.
CLASS_IMAGES = {
    "classification": ("top5_error", ""),
    "localization": ("error", ""),
    "detection": ("ap", ""),
    "wsol": ("px_acc", ""),
}


def _classes(row: Benchmark, run: Run, result: Result) -> dict[str, Any] | None:
    """Every class, the easiest and hardest, and how far they lie apart; None without any value."""
    spread = tables.spread(result)
    if not spread:
        return None
    number, case = CLASS_IMAGES[row.kind]

    def told(line: Row) -> Row:
        cells = [
            {
                "value": value,
                "url": _images(row, run, Asked(name, number, case, line["wnid"])),
            }
            for name, value in zip(tables.names(result), line["cells"], strict=True)
        ]
        return line | {"name": result["class_names"][line["wnid"]], "cells": cells}

    rows = tables.per_class(result)
    extremes = tables.extremes(result)
    return {
        "words": wording.PER_CLASS[row.kind],
        "count": len(rows),
        "spread": spread,
        "rows": [told(line) for line in rows] if len(rows) <= MOST_CLASSES else [],
        "easiest": [told(line) for line in extremes["easiest"]],
        "hardest": [told(line) for line in extremes["hardest"]],
        "is_detection": row.kind == DETECTION,
        "has_detections": any(line["positives"] is not None for line in rows),
    }


def conventions(result: Result) -> list[tuple[str, Any]]:
    """How the numbers were made, in words: (what, how)."""
    settings, first = result["settings"], {}
    if result["submissions"]:
        first = result["submissions"][0]["result"]
    said: list[tuple[str, Any]] = [("Split", settings["split"])]
    if "protocol" in settings:
        said.append(("Protocol", wording.PROTOCOLS.get(settings["protocol"], settings["protocol"])))
        said.append(("Scores", wording.NORMALIZATIONS.get(settings["normalize"], "")))
        said.append(("Thresholds", f"{settings['thresholds']:,}: 0, 1/n, 2/n, …"))
        if settings["protocol"] == "reference":
            said.append(("Size", f"{settings['size']} × {settings['size']}"))
    if "inclusive" in settings:
        ends = "the last pixel of the box" if settings["inclusive"] else "one past the box"
        said.append(("Right and bottom edges", ends))
    if "strict" in settings:
        said.append(("Overlap", "IoU above 0.5" if settings["strict"] else "IoU of 0.5 or more"))
    said += [
        (words, first[key])
        for key, words in (
            ("convention", "Right is"),
            ("hierarchy", "Hierarchy"),
            ("valid_labels", "Valid labels"),
        )
        if first.get(key) is not None
    ]
    if "confidence" in settings:
        level = f"{100 * settings['confidence']:g} %, images drawn again, seed {settings['seed']}"
        said.append(("Intervals", level))
    return said


def choices(campaign: Campaign) -> list[dict[str, Any]]:
    """Every kind with what it would stand on in this campaign, or why it cannot be.

    `truth` is None where the campaign has no release yet: one is frozen with the benchmark.
    """
    release = freezing.latest_kept(campaign)
    return [_choice(campaign, kind, release) for kind in wording.KINDS]


def _choice(campaign: Campaign, kind: str, release: Release | None) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": kind, "name": wording.KINDS[kind], "asked": wording.ASKED[kind]}
    try:
        if release is None:
            benchmarks.plan(campaign, kind)
            return told | {"truth": None, "release": None, "fault": ""}
        truth = _counted(release.pk, release.sha256, kind)
    except (BadInput, Refusal) as error:
        return told | {"truth": None, "release": None, "fault": str(error)}
    return told | {"truth": truth, "release": release.number, "fault": ""}


@lru_cache(maxsize=64)
def _counted(pk: int, sha256: str, kind: str) -> dict[str, Any]:
    """What the release holds for the kind; it never changes. Raises as benchmarks.plan does."""
    release = Release.objects.select_related("campaign").get(pk=pk, sha256=sha256)
    found = benchmarks.plan(release.campaign, kind, release)
    assert found is not None, "a release was given"
    return found.truth


def example(row: Benchmark) -> dict[str, str]:
    """How a submission looks, about an image of the benchmark: the text, what it is called, and
    what a line says."""
    head, lines, words = wording.EXAMPLES[row.kind]
    image, wnid = _first_of(row)
    filled = [line.format(image=image, wnid=wnid) for line in lines]
    is_zip = row.kind == WSOL
    return {
        "text": "\n".join(filled if is_zip else [head, *filled]),
        "file": head if is_zip else "predictions.csv",
        "words": words,
    }


def _first_of(row: Benchmark) -> tuple[str, str]:
    """An image of the truth and its class; made up where the files are gone."""
    folder = paths.truth_folder(row)
    try:
        if row.kind == WSOL:
            with open(folder / wsol_truth.CLASSES, encoding="utf-8") as file:
                image, _, wnid = file.readline().strip().rpartition(",")
        else:
            with open(folder / ground_truth.TRUTH, encoding="utf-8", newline="") as file:
                line = next(csv.DictReader(file))
            image, wnid = line["image"], line["wnid"]
    except (OSError, StopIteration):
        return "cats/1.jpg", "n02121620"
    return image, wnid
