"""Scoring of a MAD competition."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Exists, OuterRef

from evaluation import devices
from evaluation.benchmarks.kind import BenchmarkKind
from evaluation.benchmarks.kinds.mad import alike, competitions
from evaluation.benchmarks.kinds.mad.alike import AlikeResult
from evaluation.metrics.mad import ranking
from evaluation.metrics.mad.results import Ranking
from evaluation.models import Benchmark, Run, Selection
from evaluation.scoring.scored_release import ScoredRelease
from labeling.models import Question, Release, Settlement
from labeling.releases import freezing


@dataclass(kw_only=True)
class MadResult(Ranking):
    """The result of a run. counts: the release's questions and votes. accuracies: the published
    ones. alike: None without a pool and a truth. device, versions: see devices.with_device.
    """

    release: ScoredRelease
    counts: dict[str, int] | None = None
    accuracies: list[float | None]
    alike: AlikeResult | None = None
    code_version: str | None = None
    device: str | None = None
    versions: dict[str, str] | None = None


class MadScoring(BenchmarkKind[MadResult]):
    """How a MAD competition is scored: its newest release is ranked."""

    def prepare(self, benchmark: Benchmark, run: Run) -> Release:
        return freezing.freeze(
            benchmark.campaign, run.requested_by, interim=bool(run.settings.get("interim"))
        )

    def score(self, benchmark: Benchmark, release: Release, run: Run) -> MadResult:
        """Return the ranking on a release.

        Unsettled images are left out and counted under `pending`. Raises RankingError.
        """
        frozen = freezing.read(release)
        answers = {
            (line["image"], wnid): line["contains"]
            for line in frozen.answers()
            if (wnid := line["wnid"]) is not None
        }
        selection = competitions.selection_of(benchmark)
        accuracies = dict(benchmark.submissions.values_list("name", "accuracy"))
        known = {name: value for name, value in accuracies.items() if value is not None}
        ranked = ranking.rank(
            selection.lines,
            answers,
            selection.classifiers,
            selection.top_k,
            smoothing=benchmark.settings["smoothing"],
            bootstrap=benchmark.settings["bootstrap"],
            seed=benchmark.settings["seed"],
            missing="exclude",
            accuracy=known if len(known) == len(accuracies) else None,
            ablation=True,
        )
        counts = frozen.meta["counts"]
        result = MadResult(
            **vars(ranked),
            release=ScoredRelease(number=release.number, sha256=release.sha256),
            counts={key: counts[key] for key in ("settled", "dropped", "open", "review", "votes")},
            accuracies=[accuracies[name] for name in selection.classifiers],
            alike=alike.alike_and_wrong(benchmark),
            code_version=freezing.code_version(),
        )
        return devices.with_device(result)

    def fingerprint(self, benchmark: Benchmark) -> dict[str, object]:
        classifiers = benchmark.submissions.values_list("name", "accuracy")
        return {
            "marks": freezing.fingerprint(benchmark.campaign),
            "classifiers": [list(row) for row in classifiers],
            "selections": benchmark.selections.count(),
            "conventions": {key: benchmark.settings[key] for key in competitions.DEFAULTS},
            **alike.fingerprint(benchmark),
        }

    def count_settled(self, benchmark: Benchmark, since: Run | None) -> int:
        marks = since.settings["signature"]["marks"] if since else {"last_settlement": 0}
        rows = Settlement.objects.filter(question__campaign=benchmark.campaign)
        new = rows.filter(pk__gt=marks["last_settlement"])
        return new.order_by().values("question").distinct().count()

    def obstacle(self, benchmark: Benchmark) -> str:
        settled = benchmark.campaign.questions.filter(
            state=Question.State.SETTLED, item__image__name=OuterRef("image")
        )
        names = list(benchmark.submissions.values_list("name", flat=True))
        compared = np.zeros((len(names), len(names)), dtype=bool)
        pairs = benchmark.selections.filter(
            Exists(settled.filter(topic=OuterRef("first_label"))),
            Exists(settled.filter(topic=OuterRef("second_label"))),
            state=Selection.State.CHOSEN,
        )
        # Without the default order, which would make every row distinct.
        for first, second in pairs.order_by().values_list("first__name", "second__name").distinct():
            a, b = names.index(first), names.index(second)
            compared[a, b] = compared[b, a] = True
        if not compared.any():
            return "No classifiers can be compared yet: no image has both of its questions settled."
        parts = ranking.compared_parts(names, compared)
        if len(parts) == 1:
            return ""
        groups = " | ".join(", ".join(part) for part in parts)
        return (
            f"Not every classifier can be compared yet: no settled image connects {groups}. Settle "
            f"images of a pair that connects them."
        )

    def remove_interim(self, run: Run, gone: Sequence[int]) -> None:
        if run.release is not None:
            freezing.prune(run.benchmark.campaign, run.release)
