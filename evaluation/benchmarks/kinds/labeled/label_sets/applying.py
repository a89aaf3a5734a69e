"""Applies a campaign's answers: they become a new version of the label sets."""

import tempfile
from pathlib import Path
from typing import IO

from evaluation.benchmarks import runs
from evaluation.benchmarks.access import check_images
from evaluation.benchmarks.folders import zip_into
from evaluation.benchmarks.kinds.labeled import paths, scoring
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.metrics.wordnet.nouns import load
from evaluation.models import Benchmark, MistakeReview
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.models import Campaign, User
from labeling.releases import freezing


def apply_answers(
    row: Benchmark,
    actor: User,
    campaign: Campaign,
    number: int | None = None,
    queue: Path | None = None,
    file_name: str = reviews.QUEUE,
) -> MistakeReview:
    """Return the review after making a version from the campaign's answers; scoring is queued.

    number: of the release; by default settled answers are frozen now, unless that takes long.
    queue: of a campaign that was opened by command; file_name: the user's name for it. Raises
    Refusal with the field.
    """
    release = freezing.release_for(campaign, number) if number else None
    if release is None and freezing.takes_long(campaign):
        raise Refusal(
            f"{campaign.title} has many answers. Freeze a release on its page, then give the "
            "number of the release here.",
            field="release",
        )
    review = row.reviews.filter(campaign=campaign).select_related("campaign", "benchmark").first()
    if review is None:
        if queue is None:
            raise Refusal(
                "This campaign was not opened here. Give its queue: queue.jsonl, as mistakes queue "
                "wrote it.",
                field="queue",
            )
        try:
            with scoring.naming_user_files(queue, file_name, paths.truth_folder(row)):
                review = reviews.take_up(row, actor, campaign, queue, load())
        except BadInput as bad:
            raise Refusal(f"{bad}.", field="queue", code="bad_input") from bad
    made = reviews.apply(review, actor, load(), release)
    runs.request(row, actor)
    return made


def open_zip(row: Benchmark, review: MistakeReview) -> tuple[IO[bytes], str]:
    """Return the files of a version in an open zip, deleted when it is closed, and its name.

    Raises NotAllowed if the benchmark hides its images.
    """
    check_images(row)
    name = f"{row.name}-label-sets-{review.version}"
    file = tempfile.TemporaryFile()  # noqa: SIM115
    zip_into(paths.review_folder(review, paths.APPLIED), file, name)
    file.seek(0)
    return file, f"{name}.zip"
