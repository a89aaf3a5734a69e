"""Mean CDS by the newest truth, beside the scores by the opening truth."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.benchmarks.truth_versions import newest
from evaluation.models import Run, Submission
from evaluation.readers.sequences import ObjectKey, SequenceLine, object_of
from evaluation.scoring.cds import tables
from evaluation.scoring.cds.result import (
    CdsResult,
    NewestColumn,
    NewestScore,
    NewestSequences,
    SequenceScores,
    SequencesEffect,
)
from evaluation.scoring.cds.scoring import CdsScores
from evaluation.scoring.comparing import mean_difference, ranks_of
from evaluation.scoring.scored_release import ScoredRelease

# Most objects that a result lists as changed; the others are counted.
MAX_LISTED = 20
# Key of the fingerprint.
CLASSIFIERS = "classifiers"
# Classifier → the mean CDS of each object that it was asked about.
Means = Mapping[str, Mapping[ObjectKey, float]]
# Function that scores the lines of a version; None without predictions.
Score = Callable[[Sequence[SequenceLine]], CdsScores] | None


@dataclass(frozen=True)
class KeptScores:
    """Scores by the same newest truth in the last run. names: classifiers whose scores are kept."""

    newest: NewestSequences
    names: frozenset[str]

    @classmethod
    def of(cls, run: Run | None, machines: Iterable[Submission]) -> "KeptScores | None":
        """Return the scores of the submissions that have not changed since the run."""
        scores = CdsResult.from_json(run.result or {}).newest if run is not None else None
        if run is None or scores is None:
            return None
        version = newest(run.benchmark)
        if version is None or version.sha256 != scores.sha256:
            return None
        versions = {effect.name: effect.version for effect in scores.effects}
        names = {
            row.name
            for row in machines
            if [row.name, row.sha256, False] in run.settings["signature"][CLASSIFIERS]
            and versions.get(row.name) == row.version
        }
        return cls(scores, frozenset(names))

    def added_to(self, column: NewestColumn, earlier: NewestColumn) -> NewestColumn:
        rows = [row for row in earlier.classifiers if row.name in self.names]
        return replace(column, classifiers=[*column.classifiers, *rows])


def score(
    history: SequenceHistory,
    opening: CdsResult,
    sequences: Path,
    scored: Score,
    kept: KeptScores | None,
) -> NewestSequences:
    """Return all scores by the newest truth. sequences: sequences.jsonl by the opening truth."""
    version = newest(history.benchmark)
    assert version is not None, "there is a later version"
    lines, known = history.lines_at(history.newest), set(map(object_of, history.opening))
    common = [line for line in lines if object_of(line) in known]
    before = _means(_stored(sequences), history.opening)
    whole, after = _column(lines, scored)
    corrected, _ = (whole, after) if common == lines else _column(common, scored)
    kept_effects = {}
    if kept is not None:
        whole = kept.added_to(whole, kept.newest.all_objects)
        corrected = kept.added_to(corrected, kept.newest.opening_objects)
        kept_effects = {row.name: row for row in kept.newest.effects if row.name in kept.names}
    first = NewestColumn(
        objects=opening.objects,
        classifiers=_scores(opening, before),
    )
    order = {name: number for number, name in enumerate(opening.classifiers)}
    for column in (whole, corrected):
        column.classifiers.sort(key=lambda row: order.get(row.name, len(order)))
    submissions = list(history.benchmark.submissions.all())
    machines = {row.name for row in submissions if not row.is_people}
    ranks = [_ranks(column, machines) for column in (first, corrected, whole)]
    every = history.frames_at(history.newest).keys()
    effects = []
    for row in submissions:
        if row.name not in opening.classifiers:
            continue
        if row.name in kept_effects:
            effects.append(kept_effects[row.name])
            continue
        of_row = after.get(row.name, {})
        earlier = before.get(row.name, {})
        differences = {key: of_row[key] - earlier[key] for key in earlier if key in of_row}
        changed = [key for key, difference in differences.items() if difference]
        bootstrap = opening.bootstrap
        effects.append(
            SequencesEffect(
                name=row.name,
                version=row.version,
                opening=len(earlier),
                objects=len(of_row),
                ignored=len(history.frames_at(row.version).keys() - every),
                ranks=[],
                difference=mean_difference(
                    list(differences.values()), bootstrap.level, bootstrap.seed
                ),
                outcomes_changed=len(changed),
                changed_objects=["/".join(key) for key in changed[:MAX_LISTED]],
            )
        )
    for effect in effects:
        effect.ranks = [column.get(effect.name) for column in ranks]
    return NewestSequences(
        version=history.newest,
        sha256=version.sha256,
        release=ScoredRelease(number=version.release.number, sha256=version.release.sha256),
        objects=whole.objects,
        opening_objects=corrected,
        all_objects=whole,
        effects=effects,
        waiting=version.report["waiting"],
    )


def _column(lines: Sequence[SequenceLine], scored: Score) -> tuple[NewestColumn, Means]:
    """Return the scores on these lines, and the means of the objects."""
    column = NewestColumn(objects=len(set(map(object_of, lines))), classifiers=[])
    if not lines or scored is None:
        return column, {}
    scores = scored(lines)
    means = _means(scores.sequences(), lines)
    return replace(column, classifiers=_scores(scores.result, means)), means


def _scores(result: CdsResult, means: Means) -> list[NewestScore]:
    """Return the numbers that the page shows as the mean over content schemes."""
    values = {
        measure: {
            row.classifier: row.mean
            for row in tables.classifier_rows(result, measure, tables.ReaderChoice().averaging)
        }
        for measure in tables.measures(result)
    }
    return [
        NewestScore(
            name=name,
            objects=len(means.get(name, {})),
            cds=values.get("cds", {}).get(name),
            b_cds=values.get("b_cds", {}).get(name),
        )
        for name in result.classifiers
    ]


def _ranks(column: NewestColumn, machines: Collection[str]) -> dict[str, int]:
    """Return the ranks of the machines that were asked about every object."""
    whole = {
        row.name: row.cds
        for row in column.classifiers
        if row.name in machines and row.objects == column.objects
    }
    return ranks_of(whole, less_is_better=True)


def _stored(path: Path) -> Iterator[SequenceScores]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield SequenceScores.from_json(json.loads(line))


def _means(rows: Iterable[SequenceScores], lines: Iterable[SequenceLine]) -> Means:
    """Return the mean CDS of objects, without objects of which a sequence was not asked."""
    sequences = Counter(map(object_of, lines))
    scores: defaultdict[str, defaultdict[ObjectKey, list[float]]]
    scores = defaultdict(lambda: defaultdict(list))
    for row in rows:
        scores[row.classifier][row.image, row.object].append(row.cds)
    return {
        name: {
            key: sum(values) / len(values)
            for key, values in by_object.items()
            if len(values) == sequences[key]
        }
        for name, by_object in scores.items()
    }
