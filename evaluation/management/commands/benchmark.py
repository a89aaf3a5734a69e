"""`manage.py benchmark`: benchmarks on released labels from the shell."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks import runs, truth_versions
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.labeled import benchmarks
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.settings import DEFAULTS, SPLITS
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import KINDS
from evaluation.benchmarks.truth_versions import FOLLOWING, MAX_IMAGES, Following, TruthVersionRow
from evaluation.metrics.wsol import box_scores
from evaluation.models import Benchmark, Run
from evaluation.readers.class_files import load_wordnet
from evaluation.readers.release_predictions import is_release
from labeling.bounded_numbers import level, share, whole
from labeling.files import BadInput, read_yaml
from labeling.jobs import queue
from labeling.management.contract import ContractCommand, Result, UsageError, refusals, verb
from labeling.management.options import argument, option
from labeling.management.printing import table
from labeling.management.release_options import find_campaign
from labeling.releases import freezing


@dataclass(kw_only=True)
class BenchmarkOptions:
    name: str = argument("of the benchmark")


@dataclass(kw_only=True)
class OpenBenchmarkOptions:
    """Options of `benchmark open`. Settings that are None take the value in DEFAULTS."""

    kind: str = argument("what is scored", choices=KINDS, metavar=None)
    campaign: str = option("whose labels are the truth")
    name: str = option("of the benchmark, as in its address")
    release: int | None = option("by default the latest; else one is frozen", metavar="N")
    split: str | None = option("wsol: which images these are", choices=SPLITS)
    part: str | None = option("of a split on the site, such as 3:val", metavar="SPLIT:PART")
    confidence: float | None = option("of the intervals", type=level, metavar="LEVEL")
    seed: int | None = option("of the bootstrap", type=whole())
    inclusive: bool | None = option("x1 and y1 are the last pixels", None)
    strict: bool | None = option("localization: an IoU of 0.5 is not enough", None)
    protocol: str | None = option("wsol: by the paper or its code", choices=box_scores.PROTOCOLS)
    normalize: str | None = option(
        "wsol: what scales a map to 0 to 1", choices=box_scores.NORMALIZATIONS
    )
    size: int | None = option("wsol: pixels that maps are resized to")
    thresholds: int | None = option("wsol: how many")
    pinned: bool = option("never take newer labels than those of the release")
    every: str = option(
        "when newer labels count (night)", Following.every, choices=Benchmark.Every.values
    )
    min_images: int = option(
        "newer labels count from this many images on (50)",
        Following.min_images,
        type=whole(1, MAX_IMAGES),
    )


@dataclass(kw_only=True)
class SubmitOptions(BenchmarkOptions):
    classifier: str = argument("its name in the tables")
    path: Path = argument(
        "CSV or COCO JSON; of a classification also a naming release; of wsol a zip or folder"
    )


@dataclass(kw_only=True)
class ReviewOptions(BenchmarkOptions):
    campaign: str = option("the name of the new campaign")
    models: str = option("without it all", "", metavar="A,B,…")
    agreements: float = option(
        "share of the agreed images to ask about as well (0.1)",
        reviews.SHARE,
        type=share,
        metavar="SHARE",
    )
    seed: int = option("seed of the random choice (0)", 0, type=whole())
    policy: Path | None = option("policy.yaml of the campaign")


@dataclass(kw_only=True)
class ApplyReviewOptions(BenchmarkOptions):
    campaign: str = option("whose answers they are")
    release: int | None = option("without it, what is settled now is frozen", metavar="N")
    queue: Path | None = option("where mistakes queue made it", metavar="QUEUE.jsonl")


def _show_versions(versions: Sequence[TruthVersionRow]) -> str:
    """Return a row per version, then the images that the versions' reports list."""
    heads = ("version", "release", "made_at", "added", "removed", "changed")
    rows = [[*(getattr(row, head) for head in heads), ", ".join(row.reviews)] for row in versions]
    notes = [
        f"version {row.version}, {key.replace('_', ' ')}: {', '.join(names)}"
        for row in versions
        for key, names in row.report.to_json().items()
        if names
    ]
    return "\n".join([table(rows, [*heads, "reviews"]), *notes])


class Command(ContractCommand):
    help = "Make benchmarks on released labels, bring classifiers in, and score them."

    @verb("make a benchmark")
    def open(self, options: OpenBenchmarkOptions) -> Result:
        kind, release = options.kind, options.release
        common = ("kind", "campaign", "name", "release")
        chosen = {
            key: value
            for key, value in vars(options).items()
            if key not in common and value is not None
        }
        if unknown := sorted(chosen.keys() - DEFAULTS[kind].keys() - set(FOLLOWING)):
            raise UsageError(f"--{unknown[0]} is not for {kind}")
        row = find_campaign(options.campaign)
        with refusals():
            made = benchmarks.create(
                row.created_by,
                kind=kind,
                name=options.name,
                title=options.name,
                campaign=row,
                release=None if release is None else freezing.release_for(row, release),
                **chosen,
            )
        return {
            "name": made.name,
            "kind": made.kind,
            "campaign": options.campaign,
            "release": made.own_release.number,
            "settings": made.settings,
        }

    @verb("list the versions of a benchmark's truth", show=_show_versions)
    def versions(self, options: BenchmarkOptions) -> list[TruthVersionRow]:
        row = Benchmark.objects.filter(name=options.name).first()
        if row is None:
            raise BadInput(f"there is no benchmark {options.name!r}", cure="check the name")
        if versions := truth_versions.rows(row):
            return versions
        fault = "it has no versions of its truth: every run reads the newest answers"
        raise BadInput(fault, options.name)

    @verb("submit or replace a classifier's predictions")
    def submit(self, options: SubmitOptions) -> Result:
        row, path = _benchmark(options.name), options.path
        is_person = kind_of(row).takes_releases and is_release(path)
        if not path.exists() and not is_person:
            raise BadInput("does not exist", path, None, "check the path")
        before = set(row.submissions.values_list("name", "sha256"))
        with refusals(path):
            made = benchmarks.add_submission(
                row, row.created_by, options.classifier, path, str(path)
            )
        return {
            "benchmark": options.name,
            "classifier": made.name,
            "attempts": made.attempts,
            "sha256": made.sha256,
            "changed": (made.name, made.sha256) not in before,
        }

    @verb("open a draft campaign on what submissions to a classification got wrong")
    def review(self, options: ReviewOptions) -> Result:
        row, models = _benchmark(options.name), options.models
        rules = read_yaml(options.policy) if options.policy else None
        with refusals():
            made = reviews.open_review(
                row,
                row.created_by,
                name=options.campaign,
                title=options.campaign,
                wordnet=load_wordnet(),
                models=list(dict.fromkeys(models.split(","))) if models else (),
                agreements=options.agreements,
                seed=options.seed,
                policy=rules,
            )
        return {"benchmark": options.name, "campaign": options.campaign, **made.meta}

    @verb("make the answers of a campaign of the kind mistake a version of the label sets")
    def apply(self, options: ApplyReviewOptions) -> Result:
        row, answers, queue = (
            _benchmark(options.name),
            find_campaign(options.campaign),
            options.queue,
        )
        actor = row.created_by
        with refusals(queue):
            number = options.release or freezing.freeze(answers, actor).number
            made = apply_answers(row, actor, answers, number, queue, str(queue))
        names = {"benchmark": options.name, "campaign": options.campaign}
        return {**names, "release": number, **made.result}

    @verb("score it now")
    def score(self, options: BenchmarkOptions) -> Result:
        name = options.name
        with refusals(name):
            run = runs.score_now(_benchmark(name))
        while True:
            job = runs.job_of(run)
            # None if a worker of the site took the job: wait for its result. If that worker dies,
            # a later pass of this loop takes the job.
            finished_job = queue.run(job.pk) if job else None
            run.refresh_from_db()
            if run.state in (Run.State.DONE, Run.State.FAILED):
                break
            if job is None or finished_job:
                raise BadInput(
                    "it was not scored", name, None, "find the job with jobs list and retry it"
                )
            time.sleep(runs.LOOK_SECONDS)
        if run.state == Run.State.FAILED:
            raise BadInput(run.error.rstrip("."), name)
        # Databases may reorder the keys; restore one order.
        result = LabeledResult.from_json(run.result or {})
        return {"benchmark": name, "run": run.pk, **result.to_json()}


def _benchmark(name: str) -> Benchmark:
    row = Benchmark.objects.filter(name=name, kind__in=KINDS).first()
    if row is None:
        is_other_kind = Benchmark.objects.filter(name=name).exists()
        cure = "use mad rank or score cds, or score it on its page"
        raise BadInput(
            f"there is no benchmark on released labels {name!r}",
            cure=cure if is_other_kind else "check the name",
        )
    return row
