"""Context of the pages of a benchmark on released labels. No HTML."""

import csv
from dataclasses import dataclass, replace
from functools import lru_cache

from django.db.models import Sum
from django.urls import reverse

from evaluation.benchmarks import truth_versions
from evaluation.benchmarks.kind import BenchmarkKind, Query
from evaluation.benchmarks.kinds.labeled import (
    benchmarks,
    class_names,
    figures,
    part_cues,
    paths,
    rows,
    running,
    tables,
    wording,
)
from evaluation.benchmarks.kinds.labeled.label_sets import rows as label_set_rows
from evaluation.benchmarks.kinds.labeled.label_sets import tables as label_set_tables
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.settings import TEST
from evaluation.benchmarks.kinds.labeled.truth import ground_truth, wsol_truth
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    WSOL,
    TruthCounts,
)
from evaluation.benchmarks.kinds.labeled.versions import TruthHistory
from evaluation.benchmarks.tables import Table
from evaluation.benchmarks.truth_versions import FIRST
from evaluation.models import Benchmark, Run
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.models import Campaign, Release
from labeling.releases import freezing

# Image and class of the example if the truth is missing or hidden.
EXAMPLE_IMAGE = ("cats/1.jpg", "n02121620")
# Most classes in the page's table; the CSV file has all.
MAX_CLASSES = 200


class LabeledPages(BenchmarkKind[LabeledResult]):
    """What the pages of a benchmark on released labels show."""

    record = LabeledResult
    tables = tables.TABLES
    result_figures = figures.FIGURES

    def result_of(self, benchmark: Benchmark, run: Run | None) -> LabeledResult | None:
        """Return the run's result with its curves and the names of its classes."""
        result = super().result_of(benchmark, run)
        if run is None or result is None:
            return None
        name = class_names.namer(benchmark)
        keys = {
            key for submission in result.submissions for key in rows.by_class(submission.result)
        }
        result.curves = running.curves_of(benchmark, run.pk)
        result.class_names = {key: name(key) for key in keys}
        return result

    def filled_tables(self, result: LabeledResult) -> list[Table]:
        """Return the tables that have a row."""
        return [table for table in self.tables if next(iter(table.rows(result)), None) is not None]

    def page(
        self, benchmark: Benchmark, run: Run | None, result: LabeledResult | None, query: Query
    ) -> dict[str, object]:
        return {
            "kind_name": wording.KINDS[benchmark.kind],
            "asked": wording.ASKED[benchmark.kind],
            "what": _what(benchmark),
            "split": benchmark.settings["split"],
            "part": benchmark.settings.get("part"),
            "truth": benchmark.settings["truth"],
            "has_label_sets": benchmark.kind == CLASSIFICATION,
            "result": _result(benchmark, run, result) if result and run else None,
        }

    def submissions_page(self, benchmark: Benchmark) -> dict[str, object]:
        return {
            "what": _what(benchmark),
            "is_test": benchmark.settings["split"] == TEST,
            "example": example(benchmark),
            "may_leave_out": benchmark.kind == DETECTION,
            "version": truth_versions.newest_number(benchmark),
            "images": _count_newest(benchmark),
        }


def _what(row: Benchmark) -> str:
    """Return the plural noun for what a classifier uploads."""
    return "score maps" if row.kind == WSOL else "predictions"


def _result(row: Benchmark, run: Run, result: LabeledResult) -> dict[str, object]:
    compared = result.comparison
    return {
        "head": result,
        "level": f"{100 * rows.level(result):g} %",
        "answer": rows.answer(result),
        "lead": tables.LEAD.page_context(result) if rows.measures(result) else None,
        "is_compared": len(result.submissions) > 1,
        "at_k": tables.AT_K.page_context(result) if rows.at_k(result) else None,
        "set_sizes": rows.set_sizes(result),
        "thresholds": tables.THRESHOLDS.page_context(result) if rows.thresholds(result) else None,
        "classes": _classes(row, result),
        "cues": part_cues.rows_of(row) if row.kind == WSOL else (),
        "scale": rows.scale(result),
        "difficulty": result.objects,
        "pairs": tables.PAIRS.page_context(result) if rows.pairs(result) else None,
        "optimistic": compared.optimistic if compared else None,
        "won": tables.WON.page_context(result) if rows.classes_won(result) else None,
        "label_sets": _label_sets(result),
        "newest": tables.TRUTH.page_context(result) if rows.effects(result) else None,
        "conventions": conventions(result),
        "notes": rows.notes(result),
        "is_tried_again": result.settings.split == TEST
        and any(submission.attempts > 1 for submission in result.submissions),
        "has_images": not row.hides_images and running.images_path(row, run.pk).is_file(),
        "images": reverse("evaluation:labeled_images", args=[row.name, run.pk]),
    }


def _label_sets(result: LabeledResult) -> dict[str, object] | None:
    """Return every submission by version; None if no review was applied."""
    versions = label_set_rows.versions(result)
    if not versions:
        return None
    return {
        "newest": versions[-1],
        "models": ", ".join(model.name for model in versions[-1].models),
        "submissions": label_set_tables.SUBMISSIONS.page_context(result),
        "rates": label_set_tables.RATES.page_context(result),
        "pairs": tables.LABEL_SET_PAIRS.page_context(result)
        if label_set_rows.pairs(result)
        else None,
    }


def _classes(row: Benchmark, result: LabeledResult) -> dict[str, object] | None:
    """Return every class, the easiest and hardest, and their spread; None without any value."""
    if not rows.spread(result):
        return None
    count = len(rows.per_class(result))
    has_extremes = bool(rows.easiest(result))
    return {
        "words": wording.PER_CLASS[row.kind],
        "count": count,
        "spread": tables.SPREAD.page_context(result),
        "every": tables.CLASSES.page_context(result) if count <= MAX_CLASSES else None,
        "easiest": tables.EASIEST.page_context(result) if has_extremes else None,
        "hardest": tables.HARDEST.page_context(result),
        "is_detection": row.kind == DETECTION,
    }


def conventions(result: LabeledResult) -> list[tuple[str, object]]:
    """Return the conventions of the numbers as (name, description)."""
    settings, entries = result.settings, list[tuple[str, object]]()
    entries.append(("Split", settings.split))
    if settings.part:
        entries.append(("Part", settings.part))
    if settings.protocol:
        entries.append(("Protocol", wording.PROTOCOLS.get(settings.protocol, settings.protocol)))
        entries.append(
            ("Normalization of maps", wording.NORMALIZATIONS.get(settings.normalize or "", ""))
        )
        entries.append(("Thresholds", f"{settings.thresholds:,}: 0, 1/n, 2/n, …"))
        if settings.protocol == "reference":
            entries.append(("Size", f"{settings.size} × {settings.size}"))
    if settings.inclusive is not None:
        ends = "last pixel inside" if settings.inclusive else "first pixel outside"
        entries.append(("Right and bottom edges of a box", ends))
    if settings.strict is not None:
        entries.append(("Overlap", "IoU above 0.5" if settings.strict else "IoU of 0.5 or more"))
    first = result.submissions[0].result if result.submissions else None
    for key, words in (
        ("convention", "Counted as right"),
        ("hierarchy", "Hierarchy"),
        ("valid_labels", "Valid labels"),
    ):
        if (value := getattr(first, key, None)) is not None:
            entries.append((words, value))
    if settings.confidence is not None:
        level = f"{100 * settings.confidence:g} %, bootstrap over images, seed {settings.seed}"
        entries.append(("Intervals", level))
    return entries


@dataclass(frozen=True)
class KindChoice:
    """A kind of benchmark for a campaign.

    truth, release: None if the campaign has no release yet; then one is frozen with the benchmark.
    fault: why the kind is impossible, or "".
    """

    kind: str
    name: str
    question: str
    truth: TruthCounts | None = None
    release: int | None = None
    fault: str = ""


def choices(campaign: Campaign) -> list[KindChoice]:
    """Return every kind for this campaign."""
    release = freezing.latest_kept(campaign)
    return [_choice(campaign, kind, release) for kind in wording.KINDS]


def _choice(campaign: Campaign, kind: str, release: Release | None) -> KindChoice:
    choice = KindChoice(kind, wording.KINDS[kind], wording.ASKED[kind])
    try:
        if release is None:
            benchmarks.plan(campaign, kind)
            return choice
        truth = _counted(release.pk, release.sha256, kind)
    except (BadInput, Refusal) as error:
        return replace(choice, fault=str(error))
    return replace(choice, truth=truth, release=release.number)


@lru_cache(maxsize=64)
def _counted(pk: int, sha256: str, kind: str) -> TruthCounts:
    """Return the release's counts for the kind; they never change. Raises as
    benchmarks.plan does.
    """
    release = Release.objects.select_related("campaign").get(pk=pk, sha256=sha256)
    plan = benchmarks.plan(release.campaign, kind, release)
    assert plan is not None, "a release was given"
    return plan.truth


def example(row: Benchmark) -> dict[str, str]:
    """Return an example submission for an image of the benchmark: text, file name, explanation."""
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
    """Return an image of the truth and its class; invented ones if they are missing or hidden."""
    if row.hides_images:
        return EXAMPLE_IMAGE
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
        return EXAMPLE_IMAGE
    return image, wnid


def _count_newest(row: Benchmark) -> int:
    """Return the number of images of the newest truth."""
    later = row.truth_versions.filter(number__gt=FIRST)
    if later.exclude(review=None).exists():
        history = TruthHistory.of(row)
        return len(history.images_at(history.newest))
    sums = later.aggregate(added=Sum("added", default=0), removed=Sum("removed", default=0))
    return int(row.settings["truth"]["images"] + sums["added"] - sums["removed"])


def images_of(row: Benchmark) -> list[str]:
    """Return the images of the newest truth, then those that only earlier ones have.

    Raises FileNotFoundError, Refusal if files of later versions are missing.
    """
    if (number := truth_versions.newest_number(row)) != FIRST:
        return [*TruthHistory.of(row).with_others(number).images]
    folder = paths.truth_folder(row)
    if row.kind == WSOL:
        return (folder / wsol_truth.IDS).read_text(encoding="utf-8").split("\n")[:-1]
    name = ground_truth.TRUTH if row.kind == CLASSIFICATION else ground_truth.IMAGES
    with open(folder / name, encoding="utf-8", newline="") as file:
        return [line["image"] for line in csv.DictReader(file)]
