"""The truth of benchmarks over time. The only writer of TruthVersion.

The night, “Score now” and removed_images.py compare the truth with the newest release.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from evaluation.benchmarks.kind import kind_of
from evaluation.models import Benchmark, MistakeReview, TruthVersion
from labeling.errors import Refusal
from labeling.files import file_sha256
from labeling.json_text import canonical_sha256
from labeling.models import Campaign, Question, Release, Settlement
from labeling.records import Record

FIRST = 1
WEEK = timedelta(days=7)
MAX_IMAGES = 1_000_000
# The keys of Following in forms, bodies and options.
FOLLOWING = ("every", "min_images", "pinned")
# The fields of a benchmark that decide whether its truth is compared with a release.
COMPARISON_FIELDS = ("is_pinned", "every", "min_images", "compared_with")
NO_VERSIONS = "This benchmark has no versions of its truth."
COLLECTING_STATES = (Campaign.State.OPEN, Campaign.State.PAUSED)


@dataclass(kw_only=True)
class VersionReport(Record):
    """Notes on a version: lists of images (cds: of objects) that need an explanation.

    reviewed_again: corrected by a review, then answered again; the answer counts. left_out:
    reviewed, but their label changed after the review was opened. masks_changed: objects that need
    new predictions. waiting: categories without a part order or a class.
    """

    reviewed_again: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    masks_changed: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class TruthVersionRow(Record):
    """A version in the output of commands and the API. reviews: the campaigns of all reviews
    applied up to this version, in order. report: lists of names, hidden with the images.
    """

    version: int
    release: int
    sha256: str
    made_at: str
    added: int
    removed: int
    changed: int
    reviews: list[str]
    report: VersionReport


@dataclass(frozen=True)
class Following:
    """How the truth of a benchmark follows its campaign."""

    is_pinned: bool = False
    every: str = Benchmark.Every.NIGHT
    min_images: int = 50

    @classmethod
    def pop_from(cls, chosen: dict[str, object]) -> "Following":
        """Return the choice, and take its keys out of `chosen`. Raises Refusal with the field."""
        every = chosen.pop("every", cls.every)
        min_images = chosen.pop("min_images", cls.min_images)
        if every not in Benchmark.Every.values:
            raise Refusal(
                f"{every!r} is not one of {', '.join(Benchmark.Every.values)}.", field="every"
            )
        if not isinstance(min_images, int) or not 1 <= min_images <= MAX_IMAGES:
            raise Refusal(f"Take a whole number from 1 to {MAX_IMAGES:,}.", field="min_images")
        return cls(bool(chosen.pop("pinned", False)), str(every), min_images)

    @classmethod
    def settings_of(cls, row: Benchmark) -> dict[str, object]:
        """Return the choice as `pop_from` reads it."""
        return {"every": row.every, "min_images": row.min_images, "pinned": row.is_pinned}

    def put(self, row: Benchmark) -> None:
        row.is_pinned, row.every, row.min_images = self.is_pinned, self.every, self.min_images


def change_following(benchmark: Benchmark, chosen: Mapping[str, object]) -> Benchmark:
    """Return the benchmark after changing some of FOLLOWING; existing versions stay.

    Raises Refusal with the field, and for a benchmark without versions (mad).
    """
    with transaction.atomic():
        row = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        if not row.truth_versions.exists():
            raise Refusal(NO_VERSIONS)
        Following.pop_from(Following.settings_of(row) | dict(chosen)).put(row)
        # A release that was too small, or came while the truth was pinned, may count now.
        row.compared_with = ""
        row.save(update_fields=COMPARISON_FIELDS)
    return row


@dataclass(frozen=True)
class NewTruth:
    """A version that a kind made, before it has a number. sha256: of its files."""

    sha256: str
    added: int
    removed: int
    changed: int
    report: VersionReport = field(default_factory=VersionReport)


def opening_sha256(benchmark: Benchmark) -> str:
    """Return the hash of version 1: of its kind, its release and its settings."""
    inputs = {"kind": benchmark.kind, "release": benchmark.own_release.sha256}
    return canonical_sha256(inputs | {"settings": benchmark.settings})


def open_first(benchmark: Benchmark) -> None:
    """Make version 1 of a new benchmark, if its truth is a release."""
    if benchmark.release is not None:
        TruthVersion.objects.create(
            benchmark=benchmark,
            number=FIRST,
            release=benchmark.release,
            sha256=opening_sha256(benchmark),
            made_at=benchmark.created_at,
        )


def rows(benchmark: Benchmark) -> list[TruthVersionRow]:
    """Return every version, oldest first; none where each run reads the newest answers (mad)."""
    made, reviews, hidden = [], list[str](), benchmark.hides_images
    for version in benchmark.truth_versions.select_related("release", "review__campaign"):
        reviews = [*reviews, version.review.campaign.name] if version.review else reviews
        made.append(
            TruthVersionRow(
                version=version.number,
                release=version.release.number,
                sha256=version.sha256,
                made_at=version.made_at.isoformat(),
                added=version.added,
                removed=version.removed,
                changed=version.changed,
                reviews=reviews,
                report=VersionReport.from_json({} if hidden else version.report),
            )
        )
    return made


def newest(benchmark: Benchmark) -> TruthVersion | None:
    """Return the newest version; None where the truth has none (mad)."""
    return benchmark.truth_versions.select_related("release", "review").last()


def newest_number(benchmark: Benchmark) -> int:
    version = benchmark.truth_versions.values_list("number", flat=True).last()
    return version or FIRST


def later_sha256(benchmark: Benchmark) -> str | None:
    """Return the hash of the newest version that a release made; None if there is only the first.

    Without later versions, the fingerprint of a run must stay as it was before versions existed;
    otherwise every older run would be repeated.
    """
    later = benchmark.truth_versions.filter(number__gt=FIRST, review=None)
    return later.values_list("sha256", flat=True).last()


def sha256_after(before: TruthVersion, release: Release, changes: Path) -> str:
    """Return the hash of the version that this file of changes leads to."""
    inputs = {"before": before.sha256, "release": release.sha256}
    return canonical_sha256(inputs | {"changes": file_sha256(changes)})


def unfinished_questions(campaign: Campaign, release: Release) -> set[tuple[str, str]]:
    """Return the image and the object of every question that was open when the release was frozen.

    Those that have been settled since are among them.
    """
    questions = Question.objects.filter(campaign=campaign, round__gte=0)
    waiting = questions.filter(state__in=[Question.State.OPEN, Question.State.REVIEW])
    settled_at = release.counts.get("marks", {}).get("last_settlement", 0)
    settled_since = Settlement.objects.filter(question__campaign=campaign, pk__gt=settled_at)
    return {
        *waiting.values_list("item__image__name", "item__name"),
        *settled_since.values_list("question__item__image__name", "question__item__name"),
    }


def state_of(benchmark: Benchmark, release: Release) -> str:
    """Return what the truth is compared with: the release, and whether people still answer."""
    at_work = "open" if benchmark.campaign.state in COLLECTING_STATES else "closed"
    return f"{release.pk} {at_work}"


def is_due(benchmark: Benchmark, before: TruthVersion, release: Release, *, is_asked: bool) -> bool:
    """Return whether to compare the truth with this release. is_asked: by “Score now”."""
    if benchmark.is_pinned or release.number < before.release.number:
        return False
    if benchmark.compared_with == state_of(benchmark, release):
        return False
    if is_asked or benchmark.every == Benchmark.Every.NIGHT:
        return True
    return benchmark.every == Benchmark.Every.WEEK and before.made_at < timezone.now() - WEEK


def compare(benchmark: Benchmark, release: Release) -> TruthVersion | None:
    """Return the version that the release makes, None if it changes nothing; store the comparison.

    Repeats if another process made a version meanwhile. A comparison is not stored if a newer
    release has made a version, or if somebody has changed what the benchmark follows.
    """
    stored = Benchmark.objects.values(*COMPARISON_FIELDS).get(pk=benchmark.pk)
    while True:
        before = newest(benchmark)
        if before is None or release.number < before.release.number:
            return None
        made = kind_of(benchmark).next_truth(benchmark, before, release)
        if made is not None or newest_number(benchmark) == before.number:
            break
    benchmark.compared_with = state_of(benchmark, release)
    rows = Benchmark.objects.filter(pk=benchmark.pk, **stored)
    rows.update(compared_with=benchmark.compared_with)
    return made


def follow(
    benchmark: Benchmark, release: Release | None, *, is_asked: bool = False
) -> TruthVersion | None:
    """Return the new version of the truth; None if the release is not due or changes nothing.

    is_asked: by “Score now”. Raises what the kind's `next_truth` does.
    """
    # Freezing the release may have taken minutes.
    benchmark.refresh_from_db(fields=COMPARISON_FIELDS)
    before = newest(benchmark)
    if release is None or before is None:
        return None
    if not is_due(benchmark, before, release, is_asked=is_asked):
        return None
    return compare(benchmark, release)


def add(
    benchmark: Benchmark,
    before: TruthVersion,
    release: Release,
    made: NewTruth,
    publish_files: Callable[[int], None],
    review: MistakeReview | None = None,
) -> TruthVersion | None:
    """Return the version after `before`; None if another process has made it meanwhile.

    publish_files: called with its number, as the last step before it is committed.
    """
    with transaction.atomic():
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        if newest_number(benchmark) != before.number:
            return None
        version = TruthVersion.objects.create(
            benchmark=benchmark,
            number=before.number + 1,
            release=release,
            review=review,
            sha256=made.sha256,
            added=made.added,
            removed=made.removed,
            changed=made.changed,
            report=made.report.to_json(),
        )
        publish_files(version.number)
    return version
