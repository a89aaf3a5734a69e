"""Context of the page of a benchmark's label sets."""

from dataclasses import dataclass

from evaluation.benchmarks import truth_versions
from evaluation.models import Benchmark, MistakeReview
from evaluation.readers.mistakes import QueueMeta
from evaluation.scoring.mistakes.applying import Applied
from labeling.db import question_counts
from labeling.db.question_counts import StateCounts


@dataclass(frozen=True)
class VersionRow:
    """A version made by a review. models: their names, joined for people."""

    review: MistakeReview
    applied: Applied
    models: str

    @property
    def reviewed(self) -> int:
        return self.applied.counts["disagreements"] + self.applied.counts["sampled"]


@dataclass(frozen=True)
class ReviewRow:
    """A review that is not applied yet. is_late: the label sets have a newer version than the one
    it is based on.
    """

    review: MistakeReview
    meta: QueueMeta
    models: str
    done: int
    of: int
    is_late: bool


def page(benchmark: Benchmark) -> dict[str, object]:
    review_rows = list(
        benchmark.reviews.select_related("campaign", "release", "created_by", "applied_by")
    )
    newest = truth_versions.newest_number(benchmark)
    waiting = [row for row in review_rows if row.version is None]
    counts = question_counts.of_campaigns([row.campaign_id for row in waiting])
    return {
        "benchmark": benchmark,
        "newest": newest,
        "images": benchmark.settings["truth"]["images"],
        "versions": sorted(
            (_version(row) for row in review_rows if row.version),
            key=lambda row: row.applied.version,
        ),
        "under_way": [_under_way(row, newest, counts[row.campaign_id]) for row in waiting],
    }


def _version(row: MistakeReview) -> VersionRow:
    applied = Applied.from_json(row.result)
    return VersionRow(row, applied, ", ".join(model.name for model in applied.models))


def _under_way(row: MistakeReview, newest: int, counts: StateCounts) -> ReviewRow:
    meta = QueueMeta.from_json(row.meta)
    return ReviewRow(
        row,
        meta,
        ", ".join(model.name for model in meta.models),
        counts.settled + counts.dropped,
        counts.questions,
        meta.version != newest,
    )
