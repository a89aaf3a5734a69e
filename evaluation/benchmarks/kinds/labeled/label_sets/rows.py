"""Rows of the versions of label sets for tables, figure and CSV files. Pure."""

from dataclasses import dataclass

from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.rows import MeasureCell, cell_of
from evaluation.scoring.comparing import SubmissionPair
from evaluation.scoring.mistakes.applying import ReviewShare
from evaluation.scoring.mistakes.versions import ScoredVersion

RATES = {
    "label_not_valid": "label not valid",
    "several_valid": "several classes valid",
    "none_valid": "no class valid",
    "cannot_be_labeled": "cannot be labeled",
}


@dataclass(frozen=True)
class CountedShare:
    """A share with its interval and its number of images."""

    cell: MeasureCell
    images: int | None


@dataclass(frozen=True)
class SubmissionVersionsRow:
    """A submission's accuracy by version, and on the images of the last review. is_reviewed:
    whether that review covered its mistakes.
    """

    name: str
    by_version: tuple[CountedShare, ...]
    estimated: CountedShare | None
    is_reviewed: bool


@dataclass(frozen=True)
class RateRow:
    """A rate of one version's review."""

    version: int
    key: str
    words: str
    share: CountedShare


def versions(result: LabeledResult) -> list[ScoredVersion]:
    return result.label_sets or []


def submissions(result: LabeledResult) -> list[SubmissionVersionsRow]:
    """Return every submission, best by the newest version first."""
    scored = versions(result)
    if not scored:
        return []
    last = {submission.name: submission for submission in scored[-1].submissions}
    by_name = [
        {submission.name: submission for submission in version.submissions} for version in scored
    ]
    rows = [
        SubmissionVersionsRow(
            name,
            tuple(_counted(version[name].accuracy) for version in by_name),
            _counted(submission.estimated) if submission.estimated else None,
            bool(submission.is_reviewed),
        )
        for name, submission in last.items()
    ]
    return sorted(rows, key=lambda row: (-(row.by_version[-1].cell.value or 0), row.name))


def pairs(result: LabeledResult) -> list[SubmissionPair]:
    """Return every pair of submissions compared by the newest version."""
    scored = versions(result)
    compared = scored[-1].comparison if scored else None
    return (compared.pairs if compared else None) or []


def rates(result: LabeledResult) -> list[RateRow]:
    """Return how often labels were wrong, by version, and the tags that were given."""
    rows = []
    for version in versions(result):
        if version.rates is None:
            continue
        shares = {key: (words, getattr(version.rates, key)) for key, words in RATES.items()}
        shares |= {
            f"tag_{tag}": (f"tag: {tag.replace('_', ' ')}", share)
            for tag, share in (version.rates.tags or {}).items()
        }
        rows += [
            RateRow(version.version, key, words, _counted(share))
            for key, (words, share) in shares.items()
        ]
    return rows


def _counted(share: ReviewShare) -> CountedShare:
    return CountedShare(cell_of(share), share.images)
