"""How a MAD competition is scored: frozen anew, then ranked. Called by kind.py."""

import json
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef

from evaluation.benchmarks.kinds.mad import competitions
from evaluation.metrics.mad import ranking
from evaluation.models import Benchmark, Run, Selection
from labeling.management.contract import to_json
from labeling.models import Question, Release
from labeling.releases import freezing

# How a run ranks; the rest of a benchmark's settings says what it ranks.
CONVENTIONS = ("smoothing", "bootstrap", "seed")


def prepare(benchmark: Benchmark, run: Run) -> Release:
    """The campaign as it is now."""
    return freezing.freeze(
        benchmark.campaign, run.requested_by, interim=bool(run.settings.get("interim"))
    )


def score(benchmark: Benchmark, release: Release) -> dict[str, Any]:
    """The result of ranking the benchmark on a release, as FORMATS has it, of strict JSON values.

    Unsettled images are left out and counted under `pending`. Raises RankingError.
    """
    frozen = freezing.read(release)
    answers = {
        (line["image"], wnid): line["contains"]
        for line in frozen.answers()
        if (wnid := line["wnid"]) is not None
    }
    selection = competitions.selection_of(benchmark)
    lines = [
        ranking.SelectedImage(line.pair, line.rank, line.image, line.labels)
        for line in selection.lines
    ]
    accuracies = dict(benchmark.submissions.values_list("name", "accuracy"))
    known = {name: value for name, value in accuracies.items() if value is not None}
    result = ranking.rank(
        lines,
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
    result |= {
        "release": {"number": release.number, "sha256": release.sha256},
        "counts": {key: counts[key] for key in ("settled", "dropped", "open", "review", "votes")},
        "accuracies": [accuracies[name] for name in selection.classifiers],
        "code_version": freezing.code_version(),
    }
    # NaN is no JSON: what is not a number is null, in the database as in the download.
    plain: dict[str, Any] = json.loads(to_json(result))
    return plain


def fingerprint(benchmark: Benchmark) -> dict[str, Any]:
    """What a result depends on, cheaply: while it is unchanged a run gives the same result."""
    return {
        "marks": freezing.marks_of(benchmark.campaign),
        "classifiers": [list(row) for row in benchmark.submissions.values_list("name", "accuracy")],
        "selections": benchmark.selections.count(),
        "conventions": {key: benchmark.settings[key] for key in CONVENTIONS},
    }


def obstacle(benchmark: Benchmark) -> str:
    """Why no ranking exists yet; "" once images whose questions settled join all classifiers."""
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
    # Without the order of the table, which would make every line distinct.
    for first, second in pairs.order_by().values_list("first__name", "second__name").distinct():
        a, b = names.index(first), names.index(second)
        compared[a, b] = compared[b, a] = True
    if not compared.any():
        return "Nothing can be compared yet: no image has both its questions settled."
    parts = ranking.compared_parts(names, compared)
    if len(parts) == 1:
        return ""
    groups = " | ".join(", ".join(part) for part in parts)
    return (
        f"Not every classifier can be compared yet: no settled image joins {groups}. Have images "
        "of a pair that joins them answered."
    )
