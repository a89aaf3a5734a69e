"""`manage.py benchmark`: benchmarks on released labels from the shell."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation import runs
from evaluation.management.numbers import level, whole
from evaluation.metrics import wsol
from evaluation.models import Benchmark, Run
from evaluation.released import benchmarks
from evaluation.released.ground_truth import KINDS
from evaluation.released.settings import DEFAULTS, SPLITS
from labeling import jobs, releases
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result, UsageError, table
from labeling.management.release_options import find_campaign
from labeling.models import User

# How often it is looked whether another worker has ended.
LOOK_SECONDS = 0.5
# The figures that are shown of each kind; --json has all of them.
FIGURES = {
    "classification": ("top1_error", "top5_error", "hierarchical_error"),
    "localization": ("error",),
    "detection": ("mean_ap",),
    "wsol": ("max_box_acc", "max_box_acc_v2", "pxap", "mpxap"),
}


class Command(ContractCommand):
    help = "Make benchmarks on released labels, bring classifiers in, and score them."

    def add_arguments(self, parser: CommandParser) -> None:
        opening = self.verb(parser, "open", self.open, self.show_opened, help="make a benchmark")
        opening.add_argument("kind", choices=KINDS)
        opening.add_argument("--campaign", required=True, help="whose labels are the truth")
        opening.add_argument("--name", required=True)
        opening.add_argument("--title", default="")
        opening.add_argument(
            "--release", type=int, metavar="N", help="by default the latest; else one is frozen"
        )
        opening.add_argument("--owner", default="", help="a username; by default the campaign's")
        _add_settings(opening)
        submitting = self.verb(
            parser, "submit", self.submit, help="bring in, or replace, what a classifier says"
        )
        submitting.add_argument("name", metavar="NAME")
        submitting.add_argument("classifier", metavar="CLASSIFIER")
        submitting.add_argument(
            "path", type=Path, metavar="PATH", help="CSV or COCO JSON; of wsol a zip or folder"
        )
        submitting.add_argument("--by", default="", help="by default the benchmark's owner")
        scoring = self.verb(parser, "score", self.score, self.show_scored, help="score it now")
        scoring.add_argument("name", metavar="NAME")

    def open(
        self,
        kind: str,
        campaign: str,
        name: str,
        title: str,
        release: int | None,
        owner: str,
        **options: Any,
    ) -> Result:
        chosen = {key: value for key, value in options.items() if value is not None}
        if other := sorted(chosen.keys() - DEFAULTS[kind].keys()):
            raise UsageError(f"--{other[0]} is not for {kind}")
        row = find_campaign(campaign)
        with _refused():
            made = benchmarks.create(
                _user(owner) if owner else row.created_by,
                kind=kind,
                name=name,
                title=title or name,
                campaign=row,
                release=None if release is None else releases.release_for(row, release),
                **chosen,
            )
        return {
            "name": made.name,
            "kind": made.kind,
            "campaign": campaign,
            "release": made.own_release.number,
            "settings": made.settings,
        }

    def show_opened(self, result: Result) -> str:
        truth = result["settings"]["truth"]
        told = [(key, result[key]) for key in ("name", "kind", "campaign", "release")]
        told += [(key, truth[key]) for key in ("images", "classes", "objects")]
        told += [(f"left out: {row['why']}", row["images"]) for row in truth["left_out"]]
        return "\n\n".join([table(told), *(f"note: {note}" for note in truth["notes"])])

    def submit(self, name: str, classifier: str, path: Path, by: str, **options: Any) -> Result:
        row = _benchmark(name)
        if not path.exists():
            raise BadInput("does not exist", path, None, "check the path")
        before = set(row.submissions.values_list("name", "sha256"))
        with _refused(path):
            actor = _user(by) if by else row.created_by
            made = benchmarks.add_submission(row, actor, classifier, path, str(path))
        return {
            "benchmark": name,
            "classifier": made.name,
            "attempts": made.attempts,
            "sha256": made.sha256,
            "changed": (made.name, made.sha256) not in before,
        }

    def score(self, name: str, **options: Any) -> Result:
        run = runs.request(_benchmark(name))
        while True:
            job = runs.job_of(run)
            # None where a worker of the site was quicker: its result is waited for, and where it
            # dies, the next round takes its place.
            ours = jobs.run(job.pk) if job else None
            run.refresh_from_db()
            if run.state in (Run.State.DONE, Run.State.FAILED):
                break
            if job is None or ours:
                raise BadInput("it was not scored", name, None, "look at jobs list, and retry it")
            time.sleep(LOOK_SECONDS)
        if run.state == Run.State.FAILED:
            raise BadInput(run.error.rstrip("."), name)
        return {"benchmark": name, "run": run.pk, **(run.result or {})}

    def show_scored(self, result: Result) -> str:
        rows = [
            (one["name"], one["attempts"], figure, value, *interval)
            for one in result["submissions"]
            for figure in FIGURES[result["kind"]]
            if one["result"].get(figure) is not None
            for value, interval in [_figure(one["result"][figure])]
        ]
        body = table(rows, head=("classifier", "attempts", "figure", "value", "low", "high"))
        return "\n\n".join([body, *(f"note: {note}" for note in result["notes"])])


def _add_settings(verb: CommandParser) -> None:
    """Without a word about them they are as DEFAULTS has them."""
    verb.add_argument("--split", choices=SPLITS)
    verb.add_argument("--confidence", type=level, metavar="LEVEL")
    verb.add_argument("--seed", type=whole())
    verb.add_argument("--inclusive", action="store_true", default=None)
    verb.add_argument("--strict", action="store_true", default=None)
    verb.add_argument("--protocol", choices=wsol.PROTOCOLS)
    verb.add_argument("--normalize", choices=wsol.NORMALIZATIONS)
    verb.add_argument("--size", type=int)
    verb.add_argument("--thresholds", type=int)


def _figure(figure: Any) -> tuple[float | None, list[float | None]]:
    """Its value, and its interval where it has one."""
    if not isinstance(figure, dict):
        return figure, [None, None]
    value = next(figure[key] for key in ("value", "accuracy", "mean") if key in figure)
    return value, figure.get("interval") or [None, None]


@contextlib.contextmanager
def _refused(path: Path | None = None) -> Iterator[None]:
    """What the domain refuses, as the shell tells it."""
    try:
        yield
    except Refusal as refusal:
        raise BadInput(refusal.message.rstrip("."), path) from refusal


def _benchmark(name: str) -> Benchmark:
    row = Benchmark.objects.filter(name=name, kind__in=KINDS).first()
    if row is None:
        raise BadInput(f"there is no benchmark on released labels {name!r}", cure="check the name")
    return row


def _user(username: str) -> User:
    user = User.objects.filter(username=username).first()
    if user is None:
        raise BadInput(f"there is no user {username!r}", cure="check the name")
    return user
