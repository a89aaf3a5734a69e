"""Scores of every submission by every version of the label sets."""

from evaluation.benchmarks.kinds.labeled import benchmarks, paths
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.benchmarks.kinds.labeled.versions import TruthHistory
from evaluation.benchmarks.truth_versions import FIRST
from evaluation.metrics.wordnet.nouns import WordNet, load
from evaluation.models import Benchmark, MistakeReview, Submission
from evaluation.readers.mistakes import read_judgements, read_queue
from evaluation.scoring.mistakes import queueing, reviewing, versions
from evaluation.scoring.mistakes.applying import Applied
from evaluation.scoring.mistakes.versions import ScoredVersion, Version
from labeling.csv_rows import nfc
from labeling.errors import Refusal


def score(benchmark: Benchmark, rows: list[Submission]) -> list[ScoredVersion] | None:
    """Return every version from 1 on; None if no review has been applied.

    Raises BadInput and FileNotFoundError for files that were changed or are missing.
    """
    applied = list(reviews.applied_reviews(benchmark))
    if not applied:
        return None
    wordnet, settings = load(), benchmarks.chosen_of(benchmark)
    history = TruthHistory.of(benchmark)
    classified = reviews.read_submissions(history, rows)
    images = next(iter(classified.values())).images
    with reviews.read_here(benchmark):
        known = [_version(history, review, images, wordnet) for review in applied]
    assert settings.confidence is not None, "a classification has intervals"
    return versions.score(
        classified,
        {row.name: row.sha256 for row in rows},
        known,
        wordnet,
        settings.confidence,
        settings.seed or 0,
    )


def _version(
    history: TruthHistory, review: MistakeReview, images: list[str], wordnet: WordNet
) -> Version:
    """Return an applied version on the images of the opening, which come first in any version."""
    every = [*map(nfc, history.sets_at(review.version or FIRST))]
    folder = paths.review_folder(review, paths.APPLIED)
    sets = reviews.label_sets(review, every, wordnet)
    if sets.version is None or sets.version.sha256 != review.sha256:
        raise Refusal(
            f"Version {review.version} of the label sets differs from what the review wrote. "
            "Restore the folder of benchmarks from a backup."
        )
    queue = read_queue(folder / reviews.QUEUE, wordnet)
    strata = reviewing.read_strata(folder / reviews.STRATA, every)
    before = None
    if history.changes:
        known = reviews.synsets_at(history, queue.meta.version, wordnet)
        before = [known.get(image, queueing.EMPTY) for image in images]
    return Version(
        applied=Applied.from_json(review.result),
        sets=[*reviews.in_order(sets, images).values()],
        strata=strata.among(len(images)),
        before=before,
        judged=read_judgements(folder / reviews.ANSWERS, queue, wordnet),
    )
