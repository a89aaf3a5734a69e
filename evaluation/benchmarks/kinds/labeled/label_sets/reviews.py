"""Reviews of a classification's mistakes: opened as campaigns, applied as versions of label sets.

The only writer of MistakeReview.
"""

import csv
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.access import check_images
from evaluation.benchmarks.kinds.labeled import benchmarks, paths, scoring
from evaluation.benchmarks.kinds.labeled.paths import APPLIED, ASKED, STRATA
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import CLASSIFICATION, TRUTH
from evaluation.benchmarks.kinds.labeled.versions import TruthFolder, TruthHistory
from evaluation.benchmarks.submissions import lock_benchmark
from evaluation.benchmarks.truth_versions import FIRST, NewTruth, VersionReport
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.models import Benchmark, MistakeReview, Submission
from evaluation.readers.class_files import Classified
from evaluation.readers.mistakes import judgements_of, read_queue
from evaluation.readers.valid_sets import SETS, VERSION, LabelSets, SetVersion, read_label_sets
from evaluation.scoring.mistakes import applying, queueing, reviewing
from evaluation.scoring.mistakes.applying import Applied
from evaluation.scoring.mistakes.reviewing import Inputs
from labeling.csv_rows import nfc
from labeling.disk_full import converting_disk_full
from labeling.errors import Conflict, NotYours, Refusal
from labeling.files import BadInput, atomic_write, file_sha256
from labeling.follow_ups import opening
from labeling.kinds import KINDS
from labeling.kinds.base import JUDGED
from labeling.models import Campaign, Release, User
from labeling.release_files import frozen
from labeling.releases import freezing

QUEUE, ANSWERS = "queue.jsonl", "answers.csv"
# Default share of the agreements to ask about.
SHARE = 0.1
KIND = "mistake"
HOW_TO_JUDGE = (
    "You see an image and one class. Is the class right for the image? It need not be the main "
    "thing in it, and other classes may be right as well.\n\n"
    "“Right”: a label of this image may say so. “Minor mistake”: not right, but somebody careful "
    "could take it for right. “Major mistake”: plainly not right. “Cannot be labeled”: the image "
    "does not show enough for anybody to say."
)


def open_review(
    benchmark: Benchmark,
    actor: User,
    *,
    name: str,
    title: str,
    wordnet: WordNet,
    models: Sequence[str] = (),
    agreements: float = SHARE,
    seed: int = 0,
    policy: Mapping[str, object] | None = None,
) -> MistakeReview:
    """Create a review with its draft campaign.

    It asks about every disagreement of the newest truth with one of the models (by default all
    submissions), and about a sample of the agreements, on the images that all of these cover. All
    or nothing. Raises Refusal with the field.
    """
    check_kind(benchmark)
    check_images(benchmark)
    if not 0 <= agreements <= 1:
        raise Refusal("Take a share from 0 to 1.", field="agreements")
    rows = _chosen(benchmark, models)
    with converting_disk_full(), folders.scratch() as folder:
        history = TruthHistory.of(benchmark)
        newest = _newest_inputs if history.changes else _inputs
        try:
            inputs = newest(history, rows, wordnet)
            chosen = reviewing.choose(inputs, [*inputs.classified], agreements, seed, wordnet)
        except BadInput as error:
            raise Refusal(f"{error}.", field="models") from error
        queue_folder = folder / ASKED
        queue_folder.mkdir()
        with atomic_write(queue_folder / QUEUE) as file:
            file.writelines(queueing.lines(chosen.meta, chosen.pairs, wordnet.wnid))
        reviewing.write_strata(queue_folder / STRATA, inputs.pool.images, chosen.strata)
        with transaction.atomic():
            campaign = opening.draft(
                actor,
                kind=KIND,
                name=name,
                title=title,
                dataset=benchmark.campaign.dataset,
                instructions=HOW_TO_JUDGE,
                policy=policy,
                pairs=[(image, wordnet.wnid(synset)) for image, synset in chosen.pairs],
            )
            row = MistakeReview.objects.create(
                benchmark=benchmark,
                campaign=campaign,
                meta=chosen.meta.to_json(),
                created_by=actor,
            )
            _publish(row, queue_folder)
    return row


def take_up(
    benchmark: Benchmark, actor: User, campaign: Campaign, queue: Path, wordnet: WordNet
) -> MistakeReview:
    """Return the review of a campaign that was opened by command on this queue.

    The same arguments return the same review. Raises Refusal for a campaign of another kind,
    BadInput for a queue made from files other than the benchmark's.
    """
    check_kind(benchmark)
    _check_campaign(campaign)
    review = benchmark.reviews.filter(campaign=campaign).first()
    if review is not None:
        return review
    with converting_disk_full(), folders.scratch() as folder:
        read = read_queue(queue, wordnet)
        hashes = {model.sha256 for model in read.meta.models}
        rows = [row for row in benchmark.submissions.all() if row.sha256 in hashes]
        if not rows:
            fault = f"was made from other predictions of {read.meta.models[0].name}"
            raise BadInput(fault, queue, None, "give the files that the queue was made of")
        inputs = _inputs(TruthHistory.of(benchmark), rows, wordnet)
        strata = reviewing.strata_of(read, inputs, wordnet)
        queue_folder = folder / ASKED
        queue_folder.mkdir()
        shutil.copyfile(queue, queue_folder / QUEUE)
        reviewing.write_strata(queue_folder / STRATA, inputs.pool.images, strata)
        with transaction.atomic():
            # A concurrent request for the same queue waits here, then finds the review.
            lock_benchmark(benchmark)
            row, is_new = MistakeReview.objects.get_or_create(
                benchmark=benchmark,
                campaign=campaign,
                defaults={"meta": read.meta.to_json(), "created_by": actor},
            )
            if is_new:
                _publish(row, queue_folder)
    return row


def apply(
    review: MistakeReview, actor: User, wordnet: WordNet, release: Release | None = None
) -> MistakeReview:
    """Return the review after making its version of the label sets from its release.

    release: of its campaign; by default settled answers are frozen now. Images whose label changed
    after the review was opened keep the newer label. Applying again changes nothing. Raises Refusal
    while answers are missing.
    """
    if review.version is not None:
        return review
    release = release or freezing.freeze(review.campaign, actor)
    benchmark = review.benchmark
    with converting_disk_full(), folders.scratch() as folder:
        part = folder / APPLIED
        shutil.copytree(paths.review_folder(review, ASKED), part)
        queue = read_queue(part / QUEUE, wordnet)
        try:
            judged = judgements_of(freezing.read(release), queue, wordnet)
        except BadInput as error:
            raise Refusal(
                f"Release {release.number} of {review.campaign.title} cannot be applied: "
                f"{error.message}. Let people finish, and freeze the campaign again.",
                field="release",
            ) from error
        with read_here(benchmark):
            history, last = TruthHistory.of(benchmark), applied_reviews(benchmark).last()
            newest = synsets_at(history, history.newest, wordnet)
            reviewed = synsets_at(history, queue.meta.version, wordnet)
            if last is not None:
                # Refuse sets whose file was changed.
                label_sets(last, newest, wordnet)
        strata = reviewing.read_strata(part / STRATA, [*newest])
        pool = queueing.ReviewPool([*newest], [*newest.values()], {}, {})
        after = applying.apply_review(pool, strata, judged)
        changed = {image for image, sets in newest.items() if sets != reviewed.get(image)}
        left_out = changed & after.changed_images()
        after = after.without(left_out)
        with atomic_write(part / SETS) as file:
            file.writelines(applying.lines(after, wordnet.wnid))
        with atomic_write(part / ANSWERS) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("image", "wnid", "answer", "tags"))
            writer.writerows(reviewing.answer_rows(queue.pairs, judged, wordnet.wnid))
        version = Applied(
            version=truth_versions.newest_number(benchmark) + 1,
            models=queue.meta.models,
            sha256=file_sha256(part / SETS),
            parent_sha256=last.sha256 if last else None,
            queue_sha256=queue.sha256,
            answers_sha256=release.sha256,
            counts=queue.meta.counts | {"changed": len(after.changed_images())},
        )
        text = json.dumps(version.to_json(), indent=1, ensure_ascii=False)
        frozen.write_synced(part / VERSION, text)
        return _applied(review, actor, release, version, sorted(left_out), part)


def applied_reviews(benchmark: Benchmark) -> QuerySet[MistakeReview]:
    """Return the reviews that became versions, oldest first."""
    return benchmark.reviews.filter(version__isnull=False).order_by("version")


def version_for(benchmark: Benchmark, version: int) -> MistakeReview:
    """Return the review of this version. Raises NotYours."""
    row = applied_reviews(benchmark).filter(version=version).first()
    if row is None:
        raise NotYours(f"The label sets have no version {version} that a review made.")
    return row


def synsets_at(history: TruthHistory, number: int, wordnet: WordNet) -> dict[str, frozenset[int]]:
    """Return image → its classes in a version, for the images of all versions up to this one.

    Images of the opening come first. An image that this version lacks has no classes.
    """
    return {
        nfc(image): frozenset(map(wordnet.find, classes))
        for image, classes in history.sets_at(number).items()
    }


def label_sets(review: MistakeReview, images: Iterable[str], wordnet: WordNet) -> LabelSets:
    """Return the sets of a version. Raises BadInput if its files were changed."""
    return read_label_sets(paths.review_folder(review, APPLIED), {*images}, wordnet)


def in_order(sets: LabelSets, images: Iterable[str]) -> dict[str, frozenset[int]]:
    """Return the set of each image, in the order of the images."""
    return {image: sets.sets.get(image, queueing.EMPTY) for image in images}


def check_kind(benchmark: Benchmark) -> None:
    if benchmark.kind != CLASSIFICATION:
        raise Refusal(
            f"Only classification benchmarks have label sets; this one is about {benchmark.kind}."
        )


def _check_campaign(campaign: Campaign) -> None:
    if KINDS[campaign.kind].release != JUDGED:
        raise Refusal(
            f"{campaign.title} judges no mistakes. Choose a campaign of the kind {KIND}.",
            field="campaign",
        )


def _chosen(benchmark: Benchmark, models: Sequence[str]) -> list[Submission]:
    rows = list(benchmark.submissions.all())
    if not rows:
        raise Refusal("There are no submissions yet. Add one first.", field="models")
    if unknown := sorted(set(models) - {row.name for row in rows}):
        raise Refusal(f"{unknown[0][:100]!r} does not take part.", field="models")
    return [row for row in rows if not models or row.name in models]


def read_submissions(
    history: TruthHistory,
    rows: Iterable[Submission],
    number: int = FIRST,
    part: frozenset[str] | None = None,
) -> dict[str, Classified]:
    """Return the labels that these submissions give the images of a version, by name.

    part: the images to read, in NFC; None for all. Raises BadInput, FileNotFoundError.
    """
    opening = paths.truth_folder(history.benchmark)
    settings = benchmarks.chosen_of(history.benchmark)
    classified = {}
    with history.folder_at(number) as with_others:
        for row in rows:
            path, truth = paths.submission_path(row), with_others
            if number == row.version == FIRST:
                truth = TruthFolder(opening)
            with scoring.naming_user_files(path, row.name, truth.path):
                classified[row.name] = scoring.read_classified(
                    truth.path, path, settings, truth.part if part is None else part
                )
    return classified


def _inputs(history: TruthHistory, rows: Sequence[Submission], wordnet: WordNet) -> Inputs:
    """Return the submissions' labels on the opening's images, and the newest label sets."""
    benchmark = history.benchmark
    with read_here(benchmark):
        classified = read_submissions(history, rows)
        last = applied_reviews(benchmark).last()
        images = history.sets_at(history.newest)
        return Inputs(
            classified=classified,
            sha256={row.name: row.sha256 for row in rows},
            sets=label_sets(last, map(nfc, images), wordnet) if last else None,
            truth_sha256=file_sha256(_truth(benchmark)),
            sets_sha256=last.sha256 if last else None,
        )


def _newest_inputs(history: TruthHistory, rows: Sequence[Submission], wordnet: WordNet) -> Inputs:
    """Return the newest truth, and the submissions' labels on its images that all of them cover.

    Raises BadInput if there are no such images.
    """
    newest = history.newest
    version = history.benchmark.truth_versions.get(number=newest)
    sets = synsets_at(history, newest, wordnet)
    covered = {image for image, classes in sets.items() if classes}
    for number in {row.version for row in rows}:
        covered &= {*map(nfc, history.released(number).images)}
    if not covered:
        raise BadInput(
            "no image of the newest truth is covered by every model", cure="choose other models"
        )
    return Inputs(
        classified=read_submissions(history, rows, newest, frozenset(covered)),
        sha256={row.name: row.sha256 for row in rows},
        sets=LabelSets(
            sets,
            Path(SETS),
            SetVersion(version=newest, models=[], sha256=version.sha256, parent_sha256=None),
        ),
        truth_sha256=file_sha256(_truth(history.benchmark)),
        sets_sha256=version.sha256,
    )


def _truth(benchmark: Benchmark) -> Path:
    folder = paths.truth_folder(benchmark)
    if not folder.is_dir():
        raise Refusal(paths.TRUTH_GONE)
    return folder / TRUTH


@contextmanager
def read_here(benchmark: Benchmark) -> Iterator[None]:
    """Remove the server's paths from errors about the benchmark's own files."""
    folder = folders.folder_of(benchmark)
    with scoring.naming_user_files(
        folder / benchmarks.SENT_FOLDER, "", paths.truth_folder(benchmark)
    ):
        yield


def _applied(
    review: MistakeReview,
    actor: User,
    release: Release,
    version: Applied,
    left_out: list[str],
    part: Path,
) -> MistakeReview:
    benchmark = review.benchmark
    before = truth_versions.newest(benchmark)
    assert before is not None, "its truth is a release"

    def publish(number: int) -> None:
        review.version, review.release, review.sha256 = number, release, version.sha256
        review.result = version.to_json()
        review.applied_by, review.applied_at = actor, timezone.now()
        review.save(
            update_fields=["version", "release", "sha256", "result", "applied_by", "applied_at"]
        )
        _publish(review, part)

    new = NewTruth(
        version.sha256,
        added=0,
        removed=0,
        changed=version.counts["changed"],
        report=VersionReport(left_out=left_out),
    )
    is_next = version.version == before.number + 1
    if not is_next or not truth_versions.add(
        benchmark, before, before.release, new, publish, review
    ):
        now = MistakeReview.objects.get(pk=review.pk)
        if now.version is None:
            raise Conflict("The truth has just got another version. Apply the review again.")
        return now
    return review


def _publish(review: MistakeReview, folder: Path) -> None:
    goal, name = paths.review_place(review, folder.name), paths.review_name(review, folder.name)
    folders.move(folder, goal, name)
