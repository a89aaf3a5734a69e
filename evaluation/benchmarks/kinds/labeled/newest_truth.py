"""Scores by the newest truth, beside those by the opening truth."""

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from evaluation import devices
from evaluation.benchmarks.folders import scratch
from evaluation.benchmarks.kinds.labeled import paths, scoring, wording
from evaluation.benchmarks.kinds.labeled.earlier_scores import (
    NEWEST_IMAGES,
    EarlierScores,
    of_row,
)
from evaluation.benchmarks.kinds.labeled.results import (
    LabeledResult,
    NewestTruth,
    ScoredColumn,
    ScoredSubmission,
    TruthEffect,
)
from evaluation.benchmarks.kinds.labeled.rows import cell_at, level
from evaluation.benchmarks.kinds.labeled.settings import LabeledSettings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    LOCALIZATION,
    WSOL,
)
from evaluation.benchmarks.kinds.labeled.truth.image_rows import RowsByImage
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import BOXES_FILE, CLASSES
from evaluation.benchmarks.kinds.labeled.versions import TruthFolder, TruthHistory
from evaluation.benchmarks.scoring_device import scoring_device
from evaluation.benchmarks.submissions import write_lines
from evaluation.benchmarks.truth_versions import FIRST, newest
from evaluation.models import Submission
from evaluation.scoring.comparing import mean_difference, ranks_of
from evaluation.scoring.image_lines import ImageOutcome, Outcome, OutcomesLine
from evaluation.scoring.scored_release import ScoredRelease
from labeling.csv_rows import nfc
from labeling.files import BadInput

# Most images that a result lists as changed; the others are counted.
MAX_LISTED = 20
Outcomes = Mapping[str, Outcome | None]


def scored_by(
    history: TruthHistory,
    truth: TruthFolder,
    number: int,
    row: Submission,
    settings: LabeledSettings,
    device: str,
    part: frozenset[str] | None = None,
) -> scoring.SubmissionScores:
    """Return a submission's scores by a version of the truth.

    part: the images to score; None for all images of the version. Missing predictions count as
    wrong; a missing score map cannot be scored, so the images that the submission does not cover
    are left out.
    """
    path, part = paths.submission_path(row), truth.part if part is None else part
    if not path.exists():
        raise BadInput("the file is missing", row.name, None, "send it in again")
    if part is not None and row.version != number and history.benchmark.kind == WSOL:
        part &= history.images_at(row.version)
    with scoring.naming_user_files(path, row.name, truth.path):
        scored = scoring.score(history.benchmark.kind, truth.path, path, settings, device, part)

    def outcomes() -> Iterator[ImageOutcome]:
        with scoring.naming_user_files(path, row.name, truth.path):
            yield from scored.outcomes()

    return replace(scored, outcomes=outcomes)


def score(
    history: TruthHistory,
    rows: list[Submission],
    opening: LabeledResult,
    images: Path,
    earlier: EarlierScores | None = None,
) -> NewestTruth:
    """Return every submission's scores by the newest truth, and write newest.jsonl.

    images: images.jsonl by the opening truth; newest.jsonl goes beside it. earlier: scores of the
    last run, which are kept if they are by the same truth.
    """
    benchmark, settings, number = history.benchmark, opening.settings, history.newest
    # A submission added while the opening was scored waits for the next run.
    known = {submission.name for submission in opening.submissions}
    rows = [row for row in rows if row.name in known]
    version = newest(benchmark)
    assert version is not None, "there is a later version"
    truth_rows, every = history.at(number), history.images_at(number)
    shared = every & history.images_at(FIRST)
    device = scoring_device() if benchmark.kind == WSOL else devices.CPU
    same_images, whole = ScoredColumn(images=len(shared), submissions=[]), list[ScoredSubmission]()
    effects = []
    kept = earlier.newest(version.sha256) if earlier is not None else None
    files, reused = list[Path](), list[str]()
    with history.folder_at(number) as truth, scratch() as parts:
        for row in rows:
            if kept is not None and earlier is not None and earlier.has(row):
                same_images.submissions += of_row(kept.opening_images.submissions, row)
                whole += of_row(kept.all_images.submissions, row)
                effects += [effect for effect in kept.effects if effect.name == row.name]
                reused.append(row.name)
                continue
            covered = history.images_at(row.version)
            lines: list[ImageOutcome] = []
            outcomes: Outcomes = {}
            if shared:
                scored = scored_by(history, truth, number, row, settings, device, shared)
                same_images.submissions.append(_submission(row, scored))
                lines = [*scored.outcomes()]
                outcomes = {line["image"]: line["outcome"] for line in lines}
            if every and every <= covered:
                # If all images are shared, the scores above are also those of all images.
                if every != shared:
                    scored = scored_by(history, truth, number, row, settings, device)
                    lines = [*scored.outcomes()]
                whole.append(_submission(row, scored))
            effects.append(_effect(opening, row, _outcomes(images, row.name), outcomes))
            effects[-1].images = len(every & covered)
            effects[-1].ignored = len(covered - every)
            files.append(parts / f"{row.position}.jsonl")
            write_lines(files[-1], with_name(row.name, sorted(lines, key=itemgetter("image"))))
        merged = _merged(
            [row.name for row in rows],
            files,
            earlier.folder / NEWEST_IMAGES if earlier is not None and reused else None,
            reused,
        )
        write_lines(images.with_name(NEWEST_IMAGES), merged)
    columns = [opening.submissions, same_images.submissions, whole]
    for effect in effects:
        effect.ranks = [_ranks(opening.kind, column).get(effect.name) for column in columns]
    return NewestTruth(
        version=number,
        sha256=version.sha256,
        release=ScoredRelease(number=version.release.number, sha256=version.release.sha256),
        images=len(every),
        classes=truth_rows.classes,
        objects=truth_rows.objects,
        opening_images=same_images,
        all_images=ScoredColumn(images=len(every), submissions=whole),
        effects=effects,
    )


def with_name(name: str, lines: Iterable[ImageOutcome]) -> Iterator[OutcomesLine]:
    """Yield the lines with the outcome under the submission's name."""
    for line in lines:
        yield {
            "image": line["image"],
            "classes": line["classes"],
            "truth": line["truth"],
            "outcomes": {name: line["outcome"]},
        }


def joined(lines: Sequence[OutcomesLine], names: Sequence[str]) -> OutcomesLine:
    """Return the lines of an image as one; later lines win, None where no line has the name."""
    outcomes: dict[str, Outcome | None] = {}
    for line in lines:
        outcomes |= line["outcomes"]
    return {**lines[0], "outcomes": {name: outcomes.get(name) for name in names}}


def _merged(
    names: list[str], files: list[Path], earlier: Path | None, kept: list[str]
) -> Iterator[OutcomesLine]:
    """Merge files that are ordered by image: yield each image with the outcome of every submission,
    None where it was not scored. One line per file is held in memory.

    earlier: the last run's file, for the outcomes of the submissions in `kept`.
    """
    with ExitStack() as opened:
        each = [_lines(opened.enter_context(file.open(encoding="utf-8"))) for file in files]
        if earlier is not None:
            each.append(_lines(opened.enter_context(earlier.open(encoding="utf-8")), kept))
        for _, group in groupby(heapq.merge(*each, key=itemgetter("image")), itemgetter("image")):
            line = joined([*group], names)
            if any(line["outcomes"].values()):
                yield line


def _lines(file: Iterable[str], names: list[str] | None = None) -> Iterator[OutcomesLine]:
    """Yield the lines with the outcomes of only these submissions; of all by default."""
    for text in file:
        line: OutcomesLine = json.loads(text)
        if names is not None:
            line["outcomes"] = {name: line["outcomes"][name] for name in names}
        yield line


def with_uncovered(
    outcomes: Iterator[ImageOutcome], opening: RowsByImage
) -> Iterator[ImageOutcome]:
    """Yield the outcomes of score maps, None for the images of the opening that lack a map."""
    following = next(outcomes, None)
    for image, rows in opening.images.items():
        if following is not None and nfc(following["image"]) == nfc(image):
            yield following
            following = next(outcomes, None)
        else:
            yield {
                "image": image,
                "classes": rows[CLASSES][0],
                "truth": [[float(edge) for edge in box] for box in rows[BOXES_FILE]],
                "outcome": None,
            }


def _submission(row: Submission, scored: scoring.SubmissionScores) -> ScoredSubmission:
    return ScoredSubmission(name=row.name, attempts=row.attempts, result=scored.result)


def _outcomes(images: Path, name: str) -> Iterator[tuple[str, Outcome | None]]:
    """Yield each image of images.jsonl with a submission's outcome."""
    with images.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row["image"], row["outcomes"][name]


def _effect(
    opening: LabeledResult,
    row: Submission,
    before: Iterator[tuple[str, Outcome | None]],
    after: Outcomes,
) -> TruthEffect:
    """Return the effect of the newest truth on a submission, on the images of both truths."""
    changed: list[str] = []
    differences: list[float] = []
    for image, outcome in before:
        later = after.get(image)
        if image not in after or outcome is None or later is None:
            continue
        # Convert through JSON, so that both have the same types.
        if json.loads(json.dumps(later)) != outcome:
            changed.append(image)
        if opening.kind != DETECTION:
            differences.append(_rightness(opening.kind, later) - _rightness(opening.kind, outcome))
    sign = -1 if wording.LEADS[opening.kind][0].less_is_better else 1
    differences = [sign * difference for difference in differences]
    return TruthEffect(
        name=row.name,
        version=row.version,
        images=0,
        ignored=0,
        outcomes_changed=len(changed),
        changed_images=changed[:MAX_LISTED],
        ranks=[],
        difference=mean_difference(differences, level(opening), opening.settings.seed or 0),
    )


def _rightness(kind: str, outcome: Outcome) -> float:
    """Return an image's part in the first main number, from 0 to 1."""
    if kind == CLASSIFICATION:
        return float(outcome["top5"])
    if kind == LOCALIZATION:
        return float(outcome["right"])
    ious = [outcome[iou]["right"] for iou in ("0.3", "0.5", "0.7")]
    return sum(ious) / len(ious)


def _ranks(kind: str, column: list[ScoredSubmission]) -> dict[str, int]:
    """Return the rank of each submission by the first main number; equal values share a rank."""
    lead = wording.LEADS[kind][0]
    values = {row.name: cell_at(row.result, *lead.path).value for row in column}
    return ranks_of(values, less_is_better=lead.less_is_better)
