"""CDS benchmarks: objects of a release revealed part by part, and their submissions.

Creates their Benchmark rows and writes their Submission rows; people.py adds people, kind.py
removes classifiers. A benchmark's folder has sequences.jsonl (the frames), `versions/<number>/`
(the changes of a later truth), `predictions/` (a file per classifier, named by its hash),
`runs/<pk>/` (the scores of each sequence), `frames/` (a cache of drawn frames) and `people/` (the
frames that people name).
"""

import contextlib
import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from evaluation.benchmarks.folders import created_path, folder_of, scratch, stored_name
from evaluation.benchmarks.kinds.cds.choosing import CdsChoice, CdsPlan, CountedLines, check
from evaluation.benchmarks.kinds.cds.versions import LINES, SEQUENCES_GONE, SequenceHistory
from evaluation.benchmarks.submissions import (
    check_names,
    check_settled,
    enter,
    lock_benchmark,
    publish,
    release_of,
)
from evaluation.benchmarks.truth_versions import FIRST, Following, newest_number
from evaluation.metrics.wordnet.nouns import UnknownLabel, load
from evaluation.models import Benchmark, Submission
from evaluation.readers.frame_predictions import PEOPLE, read_predictions
from evaluation.readers.sequences import SequenceLine, parse_line, read_sequences, write_sequences
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.files import BadInput, file_sha256
from labeling.jobs import kept_files, shared_files
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.models import Campaign, Release, User
from labeling.records import to_json
from labeling.releases import freezing

UNSETTLED = "No object of {} is settled yet. Let people draw its parts first."
MAX_NAME = 100
# While an upload is split, one file per classifier is open.
MAX_CLASSIFIERS = 100


def plan(campaign: Campaign, choice: CdsChoice, release: Release | None = None) -> CdsPlan | None:
    """Return a preview of the benchmark; None while the campaign has no release.

    Raises what `create` does.
    """
    _check_campaign(campaign)
    check(choice)
    release = release or freezing.latest_kept(campaign)
    if release is None:
        check_settled(campaign, UNSETTLED.format(campaign.title))
        return None
    frozen = freezing.read(release)
    counted = CountedLines(frozen, choice)
    for _ in counted:
        pass
    return counted.plan(release)


def create(
    owner: User,
    *,
    name: str,
    title: str,
    campaign: Campaign,
    release: Release | None = None,
    **chosen: Any,
) -> Benchmark:
    """Create a benchmark on the objects of a release: by default the campaign's latest kept one, or
    one frozen now.

    chosen: the fields of CdsChoice and Following. All or nothing; the same arguments by the same
    user return the same benchmark. Raises Refusal: wrong kind of campaign, nothing settled, no part
    drawn, a scheme without an order, a category without a class; BadInput for a release whose files
    are damaged or whose categories do not fit the orders.
    """
    following = Following.pop_from(chosen)
    choice = CdsChoice(**chosen)
    check_names(name, title)
    _check_campaign(campaign)
    check(choice)
    release = release or release_of(campaign, owner, UNSETTLED.format(campaign.title))
    with converting_disk_full(), scratch() as folder:
        counted = CountedLines(freezing.read(release), choice)
        write_sequences(folder / LINES, counted)
        stated = counted.settings(release)
        existing = Benchmark.objects.filter(name=name, created_by=owner, release=release).first()
        if existing is not None and existing.settings == stated:
            return existing
        benchmark = Benchmark(
            name=name,
            title=title.strip()[:200],
            kind=Benchmark.Kind.CDS,
            campaign=campaign,
            release=release,
            settings=stated,
            created_by=owner,
        )
        following.put(benchmark)
        return publish(benchmark, folder, lambda _: None)


def lines_path(benchmark: Benchmark) -> Path:
    return created_path(benchmark, LINES)


def lines_of(benchmark: Benchmark) -> list[SequenceLine]:
    """Return the sequences of the opening in the order of sequences.jsonl."""
    return read_sequences(lines_path(benchmark))


def open_lines(benchmark: Benchmark) -> IO[bytes]:
    """Open the sequences.jsonl of the newest truth; the caller closes it. Raises Refusal if it is
    missing.
    """
    if newest_number(benchmark) > FIRST:
        history = SequenceHistory.of(benchmark)
        lines = (to_json(line.as_dict()) for line in history.lines_at(history.newest))
        return io.BytesIO("".join(f"{line}\n" for line in lines).encode())
    try:
        return open(lines_path(benchmark), "rb")
    except FileNotFoundError:
        raise Refusal(SEQUENCES_GONE) from None


def first_line_of(benchmark: Benchmark) -> SequenceLine:
    """Return the first sequence of the newest truth. Raises Refusal if the file is missing."""
    with open_lines(benchmark) as file:
        return parse_line(file.readline())


def predictions_path(row: Submission) -> Path:
    return shared_files.find(_predictions_place(row), _predictions_name(row.benchmark, row.sha256))


def _predictions_place(row: Submission) -> Path:
    """Return the path on the machine that received the file."""
    return folder_of(row.benchmark) / "predictions" / f"{row.pk}-{row.sha256[:12]}.csv"


def _predictions_name(benchmark: Benchmark, sha256: str) -> str:
    """Return the name in the shared store.

    The hash is unique for each classifier, because the file contains the classifier's name.
    """
    return stored_name(benchmark, f"predictions/{sha256}.csv")


def add_predictions(
    benchmark: Benchmark, actor: User, path: Path, name: str = "predictions.csv"
) -> list[str]:
    """Return the names of the classifiers that were added or changed by a file of one or more.

    name: the user's name for the file, for messages. New predictions replace a classifier's old
    ones; the same file again changes nothing. Frames of the newest truth that the file lacks count
    as wrong; it may have frames of older truths. All or nothing. Raises BadInput with the line, or
    for a classifier without any frame of the newest truth; Refusal for invalid names or too many
    classifiers.
    """
    history = SequenceHistory.of(benchmark)
    with kept_files.naming_file(name):
        missing = _check_predictions(history, path)
    with converting_disk_full(), scratch() as folder:
        parts = _split(path, folder)
        hashes = {classifier: file_sha256(part) for classifier, part in parts.items()}
        for classifier, part in parts.items():
            # Before taking the lock, because it may take long.
            shared_files.put(part, _predictions_name(benchmark, hashes[classifier]))
        with transaction.atomic():
            benchmark = lock_benchmark(benchmark)
            rows = {row.name: row for row in benchmark.submissions.all()}
            _check_number(len(rows.keys() | hashes.keys()))
            changed = [
                classifier
                for classifier, sha256 in hashes.items()
                if classifier not in rows or rows[classifier].sha256 != sha256
            ]
            # An unchanged file also covers the newest truth if it has all frames of it.
            whole = hashes.keys() - changed - missing.keys()
            for classifier in changed:
                row = rows.get(classifier) or enter(benchmark, actor, classifier)
                row.missing_frames = missing.get(classifier, 0)
                _replace(row, parts[classifier], hashes[classifier], history.newest)
            benchmark.submissions.filter(name__in=whole).update(version=history.newest)
    return changed


def _split(path: Path, into: Path) -> dict[str, Path]:
    """Split a checked file into one CSV per classifier; return their paths by name.

    All columns are kept. The files of all classifiers are open at once.
    """
    paths: dict[str, Path] = {}
    with contextlib.ExitStack() as files:
        rows = csv.reader(files.enter_context(open(path, encoding="utf-8-sig", newline="")))
        header = [name.strip() for name in next(rows)]
        column = header.index("classifier")
        writers = {}
        for row in filter(None, rows):
            name = row[column]
            if name not in writers:
                paths[name] = into / f"{len(paths)}.csv"
                goal = files.enter_context(open(paths[name], "w", encoding="utf-8", newline=""))
                writers[name] = csv.writer(goal, lineterminator="\n")
                writers[name].writerow(header)
            writers[name].writerow(row)
    return paths


def _check_campaign(campaign: Campaign) -> None:
    if KINDS[campaign.kind].asks != OBJECTS:
        raise Refusal(
            f"{campaign.title} asks for no parts. Choose a campaign in which people draw them.",
            field="campaign",
        )


def _check_predictions(history: SequenceHistory, path: Path) -> Mapping[str, int]:
    """Return the number of frames that each classifier lacks, without those that lack none.

    Raises BadInput for unknown frames or wnids and for a classifier that lacks every frame, Refusal
    for invalid classifier names.
    """
    nouns = load()

    def check_class(wnid: str, line: int) -> None:
        try:
            nouns.index(wnid)
        except UnknownLabel:
            raise BadInput(
                f"{wnid[:MAX_NAME]!r} is not a noun of WordNet 3.0",
                path,
                line,
                "give a wnid such as n02084071, or leave it empty if nothing was named",
            ) from None

    def check_classifiers(names: Sequence[str]) -> None:
        _check_classifier(names[-1])
        _check_number(len(names))

    predictions = read_predictions(
        path,
        history.lines_at(history.newest),
        ignored=history.every_frame,
        missing_count_as_wrong=True,
        check_classifiers=check_classifiers,
        check_class=check_class,
    )
    for name, number in predictions.missing.items():
        if number == len(predictions.frames):
            raise BadInput(
                f"{name!r} has no frame of the newest truth",
                path,
                None,
                "download sequences.jsonl again and classify its frames",
            )
    return predictions.missing


def _check_classifier(name: str) -> None:
    if name.strip().casefold() == PEOPLE:
        raise Refusal(
            f"The name {name!r} is reserved for the people of the benchmark's own campaign. Give "
            "the classifier another name.",
            field="file",
        )
    if len(name) > MAX_NAME:
        raise Refusal(
            f"The name {name[:40]!r}… has {len(name)} characters. Give the classifier a name "
            f"of at most {MAX_NAME}.",
            field="file",
        )
    if not name.isprintable() or name != name.strip():
        # Otherwise two names that look the same would be two classifiers.
        raise Refusal(
            f"The name {name!r} has characters that cannot be seen. Give the classifier a name of "
            "printable characters, without spaces around it.",
            field="file",
        )


def _check_number(number: int) -> None:
    if number > MAX_CLASSIFIERS:
        raise Refusal(
            f"These would be {number} classifiers. A benchmark takes {MAX_CLASSIFIERS}; remove "
            "some, or make another benchmark.",
            field="file",
        )


def _replace(row: Submission, part: Path, sha256: str, version: int) -> None:
    """Move the file into place; the row's old file is removed on commit."""
    if row.sha256:
        remove_later(row)
    row.sha256, row.version = sha256, version
    row.save(update_fields=["sha256", "version", "missing_frames"])
    goal = _predictions_place(row)
    goal.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, goal)


def remove_later(row: Submission) -> None:
    """Remove the row's current file on commit."""
    path, name = _predictions_place(row), _predictions_name(row.benchmark, row.sha256)
    transaction.on_commit(lambda: shared_files.remove(path, name))
