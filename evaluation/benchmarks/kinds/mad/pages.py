"""Context of the pages of a competition. No HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from django.urls import reverse

from evaluation.benchmarks.kind import BenchmarkKind, Moving, Query
from evaluation.benchmarks.kinds.mad import competitions, figures, tables
from evaluation.benchmarks.kinds.mad.scoring import MadResult
from evaluation.benchmarks.tables import Table
from evaluation.models import Benchmark, Run, Selection, Submission
from labeling.kinds import policies
from labeling.models import Campaign
from labeling.reports import progress

META_WORDS = {
    "top_k": "Images per pair",
    "min_confidence": "Minimum confidence",
    "max_per_label": "Maximum images per predicted label",
    "distance": "Distance of predictions",
    "reserve": "Reserve images per pair",
}


class MadPages(BenchmarkKind[MadResult]):
    """What the pages of a competition show."""

    record = MadResult
    tables = tables.TABLES
    result_figures = figures.FIGURES

    def moving(self, benchmark: Benchmark) -> Moving:
        now = progress.progress(benchmark.campaign)
        estimate = competitions.estimate(now.questions, policies.for_campaign(benchmark.campaign))
        return Moving(
            mark=(now.finished, now.answers),
            is_moving=benchmark.campaign.state == Campaign.State.OPEN,
            context={"progress": now, "estimate": estimate},
        )

    def filled_tables(self, result: MadResult) -> list[Table]:
        every = super().filled_tables(result)
        return every if result.alike else [table for table in every if table != tables.ALIKE]

    def page(
        self, benchmark: Benchmark, run: Run | None, result: MadResult | None, query: Query
    ) -> dict[str, object]:
        meta = benchmark.settings["meta"]
        context: dict[str, object] = {
            "is_draft": benchmark.campaign.state == Campaign.State.DRAFT,
            "meta": [(words, meta[key]) for key, words in META_WORDS.items() if key in meta],
            "pair_table": tables.PAIRS.page_context(_pairs(benchmark, result)),
            "result": result,
        }
        if result is not None:
            context |= {
                "ranking": tables.RANKS.page_context(result),
                "accuracy": tables.ACCURACY.page_context(result),
                "beats": tables.BEATS.page_context(result),
                "cases": tables.cases(result),
                "ablation": tables.ABLATION.page_context(result),
                "alike": tables.ALIKE.page_context(result),
            }
        return context


def neighbours(row: Benchmark, first: Submission, second: Submission) -> dict[str, str | None]:
    """Return the pairs before and after this one, in the order of the benchmark's page."""
    order = list(
        row.selections.order_by("first__position", "second__position")
        .values_list("first__position", "second__position")
        .distinct()
    )
    current = (first.position, second.position)
    links: dict[str, str | None] = {"previous": None, "next": None}
    for before, after in pairwise(order):
        if after == current:
            links["previous"] = _gallery(row, before)
        if before == current:
            links["next"] = _gallery(row, after)
    return links


def _gallery(row: Benchmark, pair: tuple[int, int]) -> str:
    return reverse("evaluation:gallery", args=[row.name, *pair])


@dataclass(frozen=True)
class PairLine:
    """A pair with the address of its gallery. images: settled ones, None without a result."""

    first: str
    second: str
    pair: str
    chosen: int = 0
    replaced: int = 0
    images: int | None = None
    first_accuracy: float | None = None
    second_accuracy: float | None = None


def _pairs(row: Benchmark, result: MadResult | None) -> Sequence[PairLine]:
    """Return every pair, with its accuracies if there is a result."""
    counted: dict[tuple[str, str], PairLine] = {}
    lines = (
        row.selections.exclude(state=Selection.State.RESERVE)
        .order_by("first__position", "second__position")
        .values_list("first__name", "second__name", "first__position", "second__position", "state")
    )
    for first, second, i, j, state in lines:
        line = counted.get((first, second)) or PairLine(first, second, _gallery(row, (i, j)))
        is_chosen = state == Selection.State.CHOSEN
        counted[first, second] = replace(
            line, chosen=line.chosen + is_chosen, replaced=line.replaced + (not is_chosen)
        )
    for scored in tables.pairs(result) if result else ():
        accuracies = scored.first_accuracy, scored.second_accuracy
        for names, (first_accuracy, second_accuracy) in (
            ((scored.first, scored.second), accuracies),
            ((scored.second, scored.first), accuracies[::-1]),
        ):
            if names in counted:
                counted[names] = replace(
                    counted[names],
                    images=scored.images,
                    first_accuracy=first_accuracy,
                    second_accuracy=second_accuracy,
                )
    return list(counted.values())
