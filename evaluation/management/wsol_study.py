"""`wsol-study run`."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evaluation import devices
from evaluation.benchmarks.kinds.labeled import benchmarks
from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import MASKS as DRAWN
from evaluation.classifiers import resuming
from evaluation.engines.running import Engine
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from evaluation.management.computing import EngineOptions, TaskWork, device_of
from evaluation.models import Benchmark
from evaluation.readers import release_predictions, wsol_folders
from evaluation.scoring.wsol.splits import FULL, TEST, WEAK
from evaluation.splits.files import read_part
from evaluation.wsol_study import results
from evaluation.wsol_study.report.content import StudyContent
from evaluation.wsol_study.report.findings import PaperFinding, findings
from evaluation.wsol_study.results import StudyFolder
from evaluation.wsol_study.running.config import StudyConfig, read_config
from evaluation.wsol_study.running.parts import PART, StudyData
from labeling.csv_rows import rows
from labeling.files import BadInput, atomic_write
from labeling.management.contract import ContractCommand, UsageError, refusals, verb
from labeling.management.options import argument, option
from labeling.records import Record

SMALL = StudyConfig(
    name="small",
    images=Path("made/images"),
    metadata=Path("made/metadata"),
    methods=["cam", "has", "acol", "cutmix", "fsl"],
    backbones=["small"],
    trials=10,
    epochs=8,
    threads=1,
    few_shot=[1, 3, 10],
    few_shot_trials=6,
    fsl_epochs=40,
)
# Two processes of one thread: small networks gain little from more threads.
SMALL_ENGINE = Engine.from_name("local:2")
MAX_SUBMISSIONS = 100
LOCK = ".lock"
Make = Callable[[Sequence[Task], str], Iterable[bytes]]
NO_MASKS = "nobody drew parts in this release"
SPLIT_AGAIN = "split the release again with fewer images in the other parts, as --by wsol:5,20"
# Folder of a study on a release; each run writes it anew.
PARTS = "release-parts"


@dataclass(kw_only=True)
class StudyOptions(EngineOptions):
    config: Path | None = argument("CONFIG.yaml, see docs/how-to/wsol-study.md", None)
    preset: str | None = option(
        "instead of CONFIG.yaml: small, on images that it draws", choices=["small"]
    )
    out: Path = option("folder of the study; a stopped run goes on there", metavar="DIR")
    work: str | None = option(
        "where trained models and the results of tasks are kept; with --on ray:… every machine "
        "must see it (without: work/ in --out)",
        metavar="DIR|s3://…",
    )
    deterministic: bool = option(
        "on a GPU: slower algorithms that give the same numbers each time, also after a stop"
    )


@dataclass(kw_only=True)
class StudyResult(Record):
    """What `wsol-study run` prints. not_converged: trials of the search, by PAIR."""

    out: str
    trials: int
    not_converged: dict[str, int]
    test_passes: int
    center: results.Center
    finals: list[results.Trial]
    findings: list[PaperFinding]
    submitted: list[str]
    device: str


def _as_text(result: StudyResult) -> str:
    """Return a line per final model, then the baseline, the numbers of trials and the findings."""

    def percent(value: float | None) -> str:
        return "  none" if value is None else f"{100 * value:6.1f}"

    lines = [
        f"{final.pair:24} trial {final.trial:2}  train-fullsup {percent(final.fullsup)}"
        f"  test {percent(final.test)}"
        for final in result.finals
    ]
    failed = sum(result.not_converged.values())
    return "\n".join(
        [
            *lines,
            f"{'center baseline':34} train-fullsup {percent(result.center.fullsup)}"
            f"  test {percent(result.center.test)}",
            f"{result.trials} trials, {failed} not converged; passes over test:"
            f" {result.test_passes}",
            *(f"{each.claim} ({each.backbone}): {each.verdict}" for each in result.findings),
            f"next: manage.py wsol-study report {result.out}",
        ]
    )


@verb("train, search and test WSOL methods as a configuration says", "run", show=_as_text)
def run_study(command: ContractCommand, options: StudyOptions) -> StudyResult:
    from evaluation.wsol_study.running.protocol import StudyRun

    if (options.config is None) == (options.preset is None):
        raise UsageError("give CONFIG.yaml or --preset small, one of them")
    if options.preset and options.on is None:
        options = replace(options, on=SMALL_ENGINE)
    device = device_of(options.device, options.on)
    out = options.out
    config = read_config(options.config) if options.config else None
    benchmark = _benchmark(config) if config else None
    out.mkdir(parents=True, exist_ok=True)
    folder = StudyFolder(out)
    with (out / LOCK).open("a+b") as file:
        resuming.lock(file, out)
        config = config or _small(out)
        data = _data(command, config, out)
        data.counts()
        for note in data.check(results.FSL in config.methods, config.few_shot):
            command.warn(note)
        before = len(folder.passes())
        store, make = _task_work(command, options)
        StudyRun(config, data, folder, store, make, device, options.deterministic).run()
    passes = len(folder.passes())
    if passes > max(1, before):
        command.warn(
            f"this is pass {passes} over test: what was changed since the first may have been"
            " chosen by looking at test"
        )
    submitted = _submit(benchmark, folder) if benchmark else []
    return _result(folder, submitted)


def _small(out: Path) -> StudyConfig:
    """Return the configuration of --preset small, after drawing its images into the folder."""
    from evaluation.wsol_study.running import made_data

    made_data.write(out / "made")
    return replace(SMALL, images=out / SMALL.images, metadata=out / "made" / "metadata")


def _data(command: ContractCommand, config: StudyConfig, out: Path) -> StudyData:
    metadata, masks = config.metadata, config.masks
    if config.release is not None:
        metadata, masks = out / PARTS, out / PARTS / PART
        _write_parts(command, config, metadata)
    assert metadata is not None
    is_masked = config.metric == results.MASKS
    return StudyData(
        images=str(config.images.absolute()),
        metadata=str(metadata.absolute()),
        masks=str(masks.absolute()) if masks is not None and is_masked else None,
        classes=sorted(set(wsol_folders.read_labels(metadata / WEAK).values())),
    )


def _write_parts(command: ContractCommand, config: StudyConfig, metadata: Path) -> None:
    """Write the three parts of a split of a release as folders that score wsol reads."""
    source = str(config.release)
    with release_predictions.opened(Path(source)) as release, refusals(source):
        if release is None:
            raise BadInput("is not a release", source, None, "give its folder or zip")
        for part in (WEAK, FULL, TEST):
            names, folder = read_part(f"{config.split}:{part}"), metadata / part
            if not names:
                raise BadInput(f"{part} is empty", config.split, None, SPLIT_AGAIN)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            # train-weaksup needs no boxes.
            kind = ground_truth.CLASSIFICATION if part == WEAK else ground_truth.WSOL
            for note in ground_truth.write(release, kind, folder, part=names).notes:
                command.warn(f"{part}: {note}")
            if part == WEAK:
                _write_classes(folder)
            elif config.metric == results.MASKS:
                if not (folder / DRAWN).is_dir():
                    raise BadInput(NO_MASKS, source, None, "leave out metric")
                for file in (folder / DRAWN).iterdir():
                    file.replace(folder / file.name)


def _write_classes(folder: Path) -> None:
    """Write the files of score wsol for images that have only a class."""
    labels = [cells for _, cells in rows(folder / ground_truth.TRUTH, ("image", "wnid"))]
    for file, lines in (
        ("image_ids.txt", [name for name, _ in labels]),
        ("class_labels.txt", [f"{name},{wnid}" for name, wnid in labels]),
    ):
        with atomic_write(folder / file) as out:
            out.write("\n".join([*lines, ""]))


def _task_work(command: ContractCommand, options: StudyOptions) -> tuple[Store, Make]:
    """Return the store of trained models, by default in the folder, and a task maker."""
    store = Store.at(options.work or str(options.out / "work"))
    if options.on is None:
        return store, partial(_made_here, command, store)
    return store, TaskWork(options.on, store, command).results


def _made_here(
    command: ContractCommand, store: Store, tasks: Sequence[Task], purpose: str
) -> Iterator[bytes]:
    """Make tasks one after the other in this process, and yield their objects."""
    with command.progress(len(tasks), "task", purpose) as bar:
        for each in tasks:
            each.make(store)
            bar.update()
            yield store.get(each.key)


def _benchmark(config: StudyConfig) -> Benchmark | None:
    """Return the benchmark that the configuration names, before anything is trained."""
    if config.submit_to is None:
        return None
    row = Benchmark.objects.filter(name=config.submit_to, kind=ground_truth.WSOL).first()
    if row is None:
        cure = "make it with benchmark open wsol, or leave submit_to out"
        raise BadInput(f"there is no benchmark of score maps {config.submit_to!r}", cure=cure)
    return row


def _submit(row: Benchmark, folder: StudyFolder) -> list[str]:
    """Submit the maps of the final models, at most MAX_SUBMISSIONS, and return their names."""
    names = []
    for final in folder.finals()[:MAX_SUBMISSIONS]:
        path = folder.path / "maps" / final.pair
        if path.is_dir():
            with refusals(path):
                benchmarks.add_submission(row, row.created_by, final.pair, path, str(path))
            names.append(final.pair)
    return names


def _result(folder: StudyFolder, submitted: list[str]) -> StudyResult:
    trials, center, study = folder.trials(), folder.center(), folder.study()
    assert center is not None
    failed = {trial.pair: 0 for trial in trials}
    for trial in trials:
        failed[trial.pair] += not trial.converged
    return StudyResult(
        out=str(folder.path),
        trials=len(trials),
        not_converged=failed,
        test_passes=len(folder.passes()),
        center=center,
        finals=folder.finals(),
        findings=findings(StudyContent(folder)),
        submitted=submitted,
        device=study.device,
        unknown={"versions": devices.versions(study.device)},
    )
