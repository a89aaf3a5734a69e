"""Versions of a truth made of labels. Only the changes are stored; files are written on demand.

A version made of a release has the release's labels. A version made of a review of mistakes
(classification) corrects single images; a correction holds until people answer the image again.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.changes import CHANGES, link_or_copy
from evaluation.benchmarks.folders import scratch
from evaluation.benchmarks.kinds.labeled import paths, scoring
from evaluation.benchmarks.kinds.labeled.settings import LabeledSettings
from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import TRUTH
from evaluation.benchmarks.kinds.labeled.truth.image_rows import (
    ImageRows,
    RowsByImage,
    TruthChanges,
)
from evaluation.benchmarks.kinds.labeled.truth.scenes import scenes
from evaluation.benchmarks.truth_versions import COLLECTING_STATES, FIRST, NewTruth, VersionReport
from evaluation.models import Benchmark, MistakeReview, TruthVersion
from evaluation.readers.valid_sets import SETS
from evaluation.release_splits import parts
from evaluation.scoring.mistakes.reviewing import AGREEMENT
from labeling.csv_rows import nfc, plain_cell, rows
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.kinds import KINDS
from labeling.kinds.base import GRAPH
from labeling.models import Campaign, Question, Release
from labeling.releases import freezing

NO_CLASS: frozenset[str] = frozenset()
# Image → every class that is right on it.
Sets = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class TruthFolder:
    """Files with the images of a version and of the other versions.

    part: the images of the version, in NFC; None if the files have no others.
    """

    path: Path
    part: frozenset[str] | None = None


@dataclass
class TruthHistory:
    """The truth at every version. masks: those of later versions, by hash."""

    benchmark: Benchmark
    changes: dict[int, TruthChanges] = field(default_factory=dict)
    corrected: dict[int, Sets] = field(default_factory=dict)
    masks: dict[str, Path] = field(default_factory=dict)
    _images: dict[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, benchmark: Benchmark) -> "TruthHistory":
        """Return the history. Raises Refusal if files are missing."""
        if not paths.truth_folder(benchmark).is_dir():
            raise Refusal(paths.TRUTH_GONE)
        history = cls(benchmark)
        later = benchmark.truth_versions.filter(number__gt=FIRST)
        for version in later.select_related("review__benchmark"):
            history._read(version)
        return history

    def _read(self, version: TruthVersion) -> None:
        if version.review is not None:
            before = self.sets_at(version.number - 1)
            self.corrected[version.number] = corrections(version, version.review, before)
            return
        folder = folders.version_folder(self.benchmark, version.number)
        if not folder.is_dir():
            raise Refusal(paths.TRUTH_GONE)
        self.changes[version.number] = TruthChanges.read(folder / CHANGES)
        self.masks |= {path.stem: path for path in folder.glob("*.png")}

    @cached_property
    def opening(self) -> RowsByImage:
        return RowsByImage.read(self.benchmark.kind, paths.truth_folder(self.benchmark))

    @property
    def newest(self) -> int:
        return max((FIRST, *self.changes, *self.corrected))

    def released(self, number: int) -> RowsByImage:
        """Return the truth of a version without the corrections of reviews."""
        opening = self.opening
        truth = RowsByImage(opening.kind, dict(opening.images), opening.masks | self.masks)
        for version in sorted(self.changes):
            if version <= number:
                self.changes[version].apply(truth)
        return truth

    def corrections_at(self, number: int) -> dict[str, frozenset[str]]:
        """Return image → classes by reviews, without images that people answered later."""
        corrected: dict[str, frozenset[str]] = {}
        for version in range(FIRST + 1, number + 1):
            corrected |= self.corrected.get(version, {})
            for image in self.changes[version].rows if version in self.changes else ():
                corrected.pop(image, None)
        return corrected

    def sets_at(self, number: int) -> dict[str, frozenset[str]]:
        """Return image → right classes in a version, for the images of all versions up to it.

        Images of the opening come first. An image that this version lacks has no classes.
        """
        sets = dict.fromkeys(self.opening.images, NO_CLASS)
        for version in range(FIRST + 1, number + 1):
            if version in self.changes:
                sets |= dict.fromkeys(self.changes[version].rows, NO_CLASS)
        for image, lines in self.released(number).images.items():
            sets[image] = frozenset(lines[TRUTH][0][:1])
        return sets | self.corrections_at(number)

    def at(self, number: int) -> RowsByImage:
        """Return the truth of a version."""
        truth = self.released(number)
        for image, classes in self.corrections_at(number).items():
            label = truth.images[image][TRUTH][0][0] if image in truth.images else ""
            if label in classes:
                continue
            if len(classes) == 1:
                truth.images[image] = {TRUTH: [[*classes]]}
            else:
                truth.images.pop(image, None)
        return truth

    def with_others(self, number: int) -> RowsByImage:
        """Return the truth of a version, then the images of the other versions."""
        truth = self.at(number)
        others: dict[str, ImageRows] = dict(self.opening.images)
        for changes in self.changes.values():
            others |= {image: rows for image, rows in changes.rows.items() if rows is not None}
        truth.images |= {image: rows for image, rows in others.items() if image not in truth.images}
        return truth

    def images_at(self, number: int) -> frozenset[str]:
        if number not in self._images:
            self._images[number] = frozenset(map(nfc, self.at(number).images))
        return self._images[number]

    @contextmanager
    def folder_at(self, number: int) -> Iterator[TruthFolder]:
        """Yield the files of a version: the stored ones if it is the only one, else a copy."""
        if self.newest == FIRST:
            yield TruthFolder(paths.truth_folder(self.benchmark))
            return
        with converting_disk_full(), scratch() as folder:
            goal = folder / "truth"
            goal.mkdir()
            self.with_others(number).write(goal)
            yield TruthFolder(goal, self.images_at(number))


def corrections(
    version: TruthVersion, review: MistakeReview, before: Sets
) -> dict[str, frozenset[str]]:
    """Return the images whose set of classes an applied review changed, with the new set.

    before: the sets of the version before.
    """
    folder, known = paths.review_folder(review, paths.APPLIED), {nfc(name): name for name in before}

    def read(file: str, column: str) -> Iterator[tuple[str, str]]:
        for _, (image, value) in rows(folder / file, ("image", column)):
            yield known[image if image in known else plain_cell(image)], value

    reviewed = {image for image, stratum in read(paths.STRATA, "stratum") if stratum != AGREEMENT}
    after = dict.fromkeys(reviewed.difference(version.report.get("left_out", ())), NO_CLASS)
    for image, wnid in read(SETS, "wnid"):
        if image in after and wnid:
            after[image] |= {wnid}
    return {image: classes for image, classes in after.items() if classes != before[image]}


def next_truth(benchmark: Benchmark, before: TruthVersion, release: Release) -> TruthVersion | None:
    """Return a new version of this release's labels; None if it would not differ.

    Raises Refusal if its labels cannot be scored, BadInput for damaged files.
    """
    settings = LabeledSettings.from_json(benchmark.settings)
    history = TruthHistory.of(benchmark)
    with converting_disk_full(), scratch() as folder:
        fresh = folder / "truth"
        fresh.mkdir()
        frozen, inclusive = freezing.read(release), settings.inclusive or False
        images = parts.images_for(benchmark, release)
        ground_truth.write(frozen, benchmark.kind, fresh, inclusive, images)
        scoring.check_truth(benchmark.kind, fresh, settings)
        after = RowsByImage.read(benchmark.kind, fresh)
        earlier = history.released(before.number)
        if benchmark.campaign.state in COLLECTING_STATES:
            _keep_unfinished(benchmark.campaign, release, earlier, after)
        changes = TruthChanges.between(earlier, after)
        if not changes.rows or (not history.changes and len(after.images) < benchmark.min_images):
            return None
        made = folder / "version"
        made.mkdir()
        changes.write(made / CHANGES)
        for sha256 in changes.masks() - earlier.masks.keys():
            link_or_copy(after.masks[sha256], made / f"{sha256}.png")
        corrected = history.corrections_at(before.number)
        new = NewTruth(
            truth_versions.sha256_after(before, release, made / CHANGES),
            added=len(changes.rows.keys() - earlier.images.keys()),
            removed=len(changes.rows.keys() - after.images.keys()),
            changed=len(changes.rows.keys() & earlier.images.keys() & after.images.keys()),
            report=VersionReport(reviewed_again=sorted(changes.rows.keys() & corrected.keys())),
        )
        publish = partial(folders.publish_version, benchmark, made)
        return truth_versions.add(benchmark, before, release, new, publish)


def _keep_unfinished(
    campaign: Campaign, release: Release, before: RowsByImage, after: RowsByImage
) -> None:
    """Give unfinished images the rows that they had before, or none."""
    for image in _unfinished(campaign, release):
        if image in before.images:
            after.images[image] = before.images[image]
        else:
            after.images.pop(image, None)
    after.masks |= before.masks


def _unfinished(campaign: Campaign, release: Release) -> set[str]:
    """Return the images that are not fully labeled in the release.

    These have a question that was open when the release was frozen, or possibly an object without
    a box; in a question graph, also classes without a label.
    """
    names = {image for image, _ in truth_versions.unfinished_questions(campaign, release)}
    follow_ups = Question.objects.filter(campaign=campaign, round__gte=0, follow_up=True)
    names |= {*follow_ups.values_list("item__image__name", flat=True)}
    needs_every_class = KINDS[campaign.kind].asks == GRAPH
    for scene in scenes(freezing.read(release)):
        if scene.partial or scene.unsettled or (needs_every_class and scene.undecided):
            names.add(scene.photo.name)
    return names
