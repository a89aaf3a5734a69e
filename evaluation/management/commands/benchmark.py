"""`manage.py benchmark`: benchmarks on released labels from the shell."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import benchmarks, rows
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.benchmarks.kinds.labeled.label_sets import rows as version_rows
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.settings import DEFAULTS, SPLITS
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import KINDS
from evaluation.management.commands.wordnet import load
from evaluation.metrics.wsol import box_scores
from evaluation.models import Benchmark, Run
from labeling.bounded_numbers import level, share, whole
from labeling.errors import Refusal
from labeling.files import BadInput, read_yaml
from labeling.jobs import queue
from labeling.management.contract import ContractCommand, Result, UsageError, table
from labeling.management.release_options import find_campaign
from labeling.releases import freezing


class Command(ContractCommand):
    help = "Make benchmarks on released labels, bring classifiers in, and score them."

    def add_arguments(self, parser: CommandParser) -> None:
        opening = self.verb(parser, "open", self.open, self.show_opened, help="make a benchmark")
        opening.add_argument("kind", choices=KINDS, help="what is scored")
        opening.add_argument("--campaign", required=True, help="whose labels are the truth")
        opening.add_argument("--name", required=True, help="of the benchmark, as in its address")
        opening.add_argument(
            "--release", type=int, metavar="N", help="by default the latest; else one is frozen"
        )
        _add_settings(opening)
        submitting = self.verb(
            parser, "submit", self.submit, help="bring in, or replace, what a classifier says"
        )
        submitting.add_argument("name", metavar="NAME", help="of the benchmark")
        submitting.add_argument("classifier", metavar="CLASSIFIER", help="its name in the tables")
        submitting.add_argument(
            "path",
            type=Path,
            metavar="PATH",
            help="CSV or COCO JSON; of a classification also a naming release; of wsol a zip or "
            "folder",
        )
        _add_reviewing(self, parser)
        scoring = self.verb(parser, "score", self.score, self.show_scored, help="score it now")
        scoring.add_argument("name", metavar="NAME", help="of the benchmark")

    def open(
        self,
        kind: str,
        campaign: str,
        name: str,
        release: int | None,
        **options: Any,
    ) -> Result:
        chosen = {key: value for key, value in options.items() if value is not None}
        if unknown := sorted(chosen.keys() - DEFAULTS[kind].keys()):
            raise UsageError(f"--{unknown[0]} is not for {kind}")
        row = find_campaign(campaign)
        with _refused():
            made = benchmarks.create(
                row.created_by,
                kind=kind,
                name=name,
                title=name,
                campaign=row,
                release=None if release is None else freezing.release_for(row, release),
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
        rows = [(key, result[key]) for key in ("name", "kind", "campaign", "release")]
        rows += [(key, truth[key]) for key in ("images", "classes", "objects")]
        rows += [(f"left out: {row['why']}", row["images"]) for row in truth["left_out"]]
        return "\n\n".join([table(rows), *(f"note: {note}" for note in truth["notes"])])

    def submit(self, name: str, classifier: str, path: Path, **options: Any) -> Result:
        row = _benchmark(name)
        if not path.exists():
            raise BadInput("does not exist", path, None, "check the path")
        before = set(row.submissions.values_list("name", "sha256"))
        with _refused(path):
            made = benchmarks.add_submission(row, row.created_by, classifier, path, str(path))
        return {
            "benchmark": name,
            "classifier": made.name,
            "attempts": made.attempts,
            "sha256": made.sha256,
            "changed": (made.name, made.sha256) not in before,
        }

    def review(
        self,
        name: str,
        campaign: str,
        models: str,
        agreements: float,
        seed: int,
        policy: Path | None,
        **options: Any,
    ) -> Result:
        row = _benchmark(name)
        rules = read_yaml(policy) if policy else None
        with _refused():
            made = reviews.open_review(
                row,
                row.created_by,
                name=campaign,
                title=campaign,
                wordnet=load(),
                models=list(dict.fromkeys(models.split(","))) if models else (),
                agreements=agreements,
                seed=seed,
                policy=rules,
            )
        return {"benchmark": name, "campaign": campaign, **made.meta}

    def show_review(self, result: Result) -> str:
        facts = [("campaign", result["campaign"]), ("of version", result["version"])]
        facts += [(key.replace("_", " "), value) for key, value in result["counts"].items()]
        return table(facts)

    def apply(
        self,
        name: str,
        campaign: str,
        release: int | None,
        queue: Path | None,
        **options: Any,
    ) -> Result:
        row, answers = _benchmark(name), find_campaign(campaign)
        actor = row.created_by
        with _refused(queue):
            number = release or freezing.freeze(answers, actor).number
            made = apply_answers(row, actor, answers, number, queue, str(queue))
        return {"benchmark": name, "campaign": campaign, "release": number, **made.result}

    def show_applied(self, result: Result) -> str:
        facts = [("label sets, version", result["version"]), ("release", result["release"])]
        facts.append(("reviewed", ", ".join(model["name"] for model in result["models"])))
        facts += [(key.replace("_", " "), value) for key, value in result["counts"].items()]
        return f"{table(facts)}\n\nevery submission is scored by it: benchmark score"

    def score(self, name: str, **options: Any) -> Result:
        try:
            run = runs.score_now(_benchmark(name))
        except Refusal as refusal:
            raise BadInput(refusal.message.rstrip("."), name) from refusal
        while True:
            job = runs.job_of(run)
            # None where a worker of the site was quicker: its result is waited for, and where it
            # dies, the next round takes its place.
            ours = queue.run(job.pk) if job else None
            run.refresh_from_db()
            if run.state in (Run.State.DONE, Run.State.FAILED):
                break
            if job is None or ours:
                raise BadInput("it was not scored", name, None, "look at jobs list, and retry it")
            time.sleep(runs.LOOK_SECONDS)
        if run.state == Run.State.FAILED:
            raise BadInput(run.error.rstrip("."), name)
        # In one order of keys, whatever the database made of it.
        result = LabeledResult.from_json(run.result or {})
        return {"benchmark": name, "run": run.pk, **result.to_json()}

    def show_scored(self, stored: Result) -> str:
        result = LabeledResult.from_json(stored)
        figures = [
            (row.name, row.attempts, row.images, measure.path[0], cell.value, cell.low, cell.high)
            for row in rows.submission_rows(result)
            for measure, cell in zip(rows.measures(result), row.cells, strict=True)
            if cell.value is not None
        ]
        head = ("classifier", "attempts", "images", "figure", "value", "low", "high")
        answer = rows.answer(result)
        versions = [
            (
                row.name,
                version.version,
                share.images,
                share.cell.value,
                share.cell.low,
                share.cell.high,
            )
            for row in version_rows.submissions(result)
            for version, share in zip(version_rows.versions(result), row.by_version, strict=True)
        ]
        by_version = ("multi-label accuracy", "version", "images", "value", "low", "high")
        notes = [
            f"note on {', '.join(who)}: {note}" if who else f"note: {note}"
            for who, note in rows.notes(result)
        ]
        parts = [
            table(figures, head=head),
            versions and table(versions, head=by_version),
            answer.sure.words if answer else "",
            *notes,
        ]
        return "\n\n".join(part for part in parts if part)


def _add_reviewing(command: Command, parser: CommandParser) -> None:
    """The verbs about label sets of a classification."""
    reviewing = command.verb(
        parser,
        "review",
        command.review,
        command.show_review,
        help="open a draft campaign on what submissions to a classification got wrong",
    )
    reviewing.add_argument("name", metavar="NAME", help="of the benchmark")
    reviewing.add_argument("--campaign", required=True, help="the name of the new campaign")
    reviewing.add_argument("--models", default="", metavar="A,B,…", help="without it all")
    reviewing.add_argument(
        "--agreements", type=share, default=reviews.SHARE, metavar="SHARE", help="of others (0.1)"
    )
    reviewing.add_argument("--seed", type=whole(), default=0, help="of what is chosen (0)")
    reviewing.add_argument("--policy", type=Path, help="policy.yaml of the campaign")
    applying = command.verb(
        parser,
        "apply",
        command.apply,
        command.show_applied,
        help="make the answers of a campaign of the kind mistake a version of the label sets",
    )
    applying.add_argument("name", metavar="NAME", help="of the benchmark")
    applying.add_argument("--campaign", required=True, help="whose answers they are")
    applying.add_argument(
        "--release", type=int, metavar="N", help="without it, what is settled now is frozen"
    )
    applying.add_argument(
        "--queue", type=Path, metavar="QUEUE.jsonl", help="where mistakes queue made it"
    )


def _add_settings(verb: CommandParser) -> None:
    """Without a word about them they are as DEFAULTS has them."""
    verb.add_argument("--split", choices=SPLITS, help="wsol: which images these are")
    verb.add_argument("--confidence", type=level, metavar="LEVEL", help="of the intervals")
    verb.add_argument("--seed", type=whole(), help="of the bootstrap")
    verb.add_argument(
        "--inclusive", action="store_true", default=None, help="x1 and y1 are the last pixels"
    )
    verb.add_argument(
        "--strict",
        action="store_true",
        default=None,
        help="localization: an IoU of 0.5 is not enough",
    )
    verb.add_argument(
        "--protocol", choices=box_scores.PROTOCOLS, help="wsol: by the paper or its code"
    )
    verb.add_argument(
        "--normalize", choices=box_scores.NORMALIZATIONS, help="wsol: what scales a map to 0 to 1"
    )
    verb.add_argument("--size", type=int, help="wsol: pixels that maps are resized to")
    verb.add_argument("--thresholds", type=int, help="wsol: how many")


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
