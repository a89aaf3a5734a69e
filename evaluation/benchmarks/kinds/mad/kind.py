"""The kind `mad`: people compare classifiers on the images where they differ most."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from evaluation.benchmarks.kinds.mad import competitions, gallery
from evaluation.benchmarks.kinds.mad.pages import MadPages
from evaluation.benchmarks.kinds.mad.scoring import MadScoring
from evaluation.metrics.mad import ranking
from evaluation.models import Benchmark, Run
from evaluation.readers import selections
from labeling.errors import NotYours
from labeling.models import User
from labeling.releases import freezing


class Mad(MadScoring, MadPages):
    family = "mad"
    names = ("mad",)
    title = "MAD competition"
    key = "m"
    counted = "question"
    purpose = (
        "asks people about the images on which classifiers differ most. Select them from a pool of "
        "a dataset, or upload here what manage.py mad select chose."
    )
    templates = "evaluation/mad/{part}.html"
    urls = "evaluation.benchmarks.kinds.mad.urls"
    api_urls = "evaluation.benchmarks.kinds.mad.api_urls"
    form = "evaluation.benchmarks.kinds.mad.forms.CompetitionForm"
    submission_form = "evaluation.benchmarks.kinds.mad.forms.JoinForm"
    serializers = "evaluation.benchmarks.kinds.mad.serializers"
    has_plan = True
    made = "Benchmark created. Open its campaign to start asking people."
    names_in_file = True
    # The new pairs have no answers yet.
    scores_at_once = False
    files = {"selection.jsonl": "The current selection, for “mad rank” and “mad add”."}
    run_files = {"answers.jsonl": "mad: settled answers by image and class."}
    refusals = (ranking.RankingError,)
    gone = NotYours
    create = staticmethod(competitions.create)  # type: ignore[assignment]

    uses_of_image = staticmethod(gallery.uses_of_image)  # type: ignore[assignment]
    images_predicted = staticmethod(gallery.images_predicted)  # type: ignore[assignment]

    def plan(self, **chosen: Any) -> competitions.CompetitionPlan:
        return competitions.plan(chosen["lines"], chosen["dataset"], chosen.get("policy"))

    def accept(
        self, benchmark: Benchmark, actor: User, path: Path, file_name: str, name: str = ""
    ) -> list[str]:
        net = selections.wordnet_for(path)
        lines = selections.read(path, net, file_name)
        return competitions.add_classifier(benchmark, actor, lines, net)

    def accepted(self, names: Sequence[str]) -> str:
        return f"Added: {', '.join(names)}. Annotators are asked only about the new pairs."

    def open_file(self, benchmark: Benchmark, name: str) -> IO[bytes]:
        lines = competitions.selection_of(benchmark).text_lines()
        return io.BytesIO("".join(lines).encode())

    def run_path(self, run: Run, name: str) -> Path:
        assert run.release is not None, "a run that is done has its release"
        return freezing.folder_of(run.release) / name

    def run_file_name(self, run: Run, name: str) -> str:
        number = run.release.number if run.release else 0
        return f"{run.benchmark.name}-release-{number}-{name}"
