"""`manage.py predict`: run classifiers on photographs; writes the pool that `mad select` reads."""

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation import devices
from evaluation.classifiers import opening
from evaluation.classifiers.model_lists import ListedModel
from evaluation.classifiers.predicting import (
    decoding,
    photographs,
    pool_files,
    stretch_tasks,
)
from evaluation.classifiers.preparing import FITS
from evaluation.engines.tasks import Task
from evaluation.management.computing import TaskShare, TaskWork, device_of, in_tasks, needed
from evaluation.management.networks import MODEL, NetworkOptions
from labeling import processors
from labeling.bounded_numbers import whole
from labeling.disk_full import StorageFull, converting_disk_full
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result
from labeling.management.options import argument, option
from labeling.plurals import count_of

if TYPE_CHECKING:
    from evaluation.classifiers.predicting.predicting import Speed


@dataclass(kw_only=True)
class PredictOptions(NetworkOptions):
    images: Path = argument(
        "a folder, a .zip, or a manifest.csv with a column image of paths beside it"
    )
    model: list[str] | None = option(f"may be given several times: {MODEL}", metavar="[NAME=]SPEC")
    out: Path | None = option("the pool: a new folder, or one to go on with", metavar="DIR")
    top: int | None = option(
        "also NAME.csv with the K likeliest classes, for score classification",
        type=whole(1),
        metavar="K",
    )
    processes: int | None = option(
        "that decode photographs (a quarter of the processors; with a GPU all of them); beside "
        "each task of --on (none; with a GPU all of them)",
        type=whole(),
        metavar="N",
    )
    batch: int = option("photographs at once (32)", 32, type=whole(1))
    restart: bool = option("forget what a stopped run has done")
    fit: str = option(
        "crop: the middle (default); squash: the whole photograph, stretched; pad: the whole "
        "photograph, its proportions kept",
        "crop",
        choices=FITS,
    )


@dataclass(frozen=True)
class PredictRun:
    """A run of classifiers over photographs."""

    source: photographs.PhotographSource
    models: Sequence[ListedModel]
    classifiers: Sequence[opening.Classifier]
    options: PredictOptions

    def tasks(
        self, stretches: Sequence[stretch_tasks.ListStretch], image_list: photographs.PhotographList
    ) -> list[Task]:
        options = self.options
        networks = options.networks(self.models, self.classifiers)
        processes = options.processes
        if processes is None:
            processes = 0 if self.classifiers[0].device == devices.CPU else processors.count()
        return stretch_tasks.tasks_of(
            stretches, self.source, image_list, networks, options.batch, options.top, processes
        )

    def by_tasks(
        self,
        image_list: photographs.PhotographList,
        pool: pool_files.PoolInProgress,
        engine: TaskWork,
    ) -> "Speed":
        """Add to the pool the missing images, classified by tasks."""
        from evaluation.classifiers.predicting.predicting import Speed

        begun, before = time.perf_counter(), pool.state.images
        if not pool.state.whole:
            stretches = [
                stretch
                for stretch in stretch_tasks.stretches_of(image_list, self.options.batch)
                if stretch.end > pool.state.start
            ]
            tasks = self.tasks(stretches, image_list)
            pool.state.at_once = {each.name: self.options.batch for each in self.classifiers}
            for stretch, content in zip(stretches, engine.results(tasks, "predict"), strict=True):
                stretch_tasks.add(content, stretch, pool)
        passed = time.perf_counter() - begun
        seconds = {classifier.name: passed for classifier in self.classifiers}
        return Speed(pool.state.images - before, seconds)


class Command(ContractCommand):
    help = "Classifiers' names for photographs, as a pool for mad select; goes on where it stopped."

    def action(self, options: PredictOptions) -> Result | TaskShare:
        models = options.listed_models(options.model)
        options = replace(options, device=device_of(options.device, options.on))
        source = photographs.source_of(options.images)
        with in_tasks(self, options, options.shard) as engine:
            if engine is not None and engine.shard:
                return _share(PredictRun(source, models, _load(models, options), options), engine)
            out = needed(options.out)
            _refuse_inside(source, out)
            run = PredictRun(source, models, _load(models, options), options)
            try:
                with converting_disk_full(), pool_files.working(out, options.restart) as work:
                    return self._predict(run, out, work, engine)
            except StorageFull:
                raise BadInput(
                    "the disk is full",
                    file=out,
                    cure="free some space: the same command then goes on where this one stopped",
                ) from None

    def _predict(self, run: PredictRun, out: Path, work: Path, engine: TaskWork | None) -> Result:
        from evaluation.classifiers.predicting import predicting

        options, classifiers = run.options, run.classifiers
        image_list = photographs.write_list(run.source, work / "list")
        settings = predicting.settings(image_list, classifiers, options.batch, options.top)
        names = [classifier.name for classifier in classifiers]
        opened = pool_files.opened(
            out, settings, predicting.joined(classifiers), names, options.top
        )
        with opened as pool:
            resumed = pool.state.images
            if engine is None:
                speed = self._by_batches(run, image_list, pool)
            else:
                speed = run.by_tasks(image_list, pool, engine)
            state = pool.state
            if not state.images:
                raise BadInput(
                    f"none of {count_of(image_list.images, 'file')} can be read as a photograph",
                    run.source.path,
                    None,
                    "give JPEG, PNG, WebP, GIF, BMP or TIFF files",
                )
            pool.finish()
        if state.skipped:
            self.warn(f"{count_of(state.skipped, 'file')} skipped: see skipped.csv for the reasons")
        result = {
            "images": state.images,
            "skipped": state.skipped,
            "resumed": resumed,
            "classifiers": {
                classifier.name: {
                    "images_per_second": speed.rate(classifier.name),
                    "model": dict(classifier.source),
                    "preparation": classifier.preparation.as_dict(),
                }
                for classifier in classifiers
            },
            "out": os.fspath(out),
        }
        return devices.with_device(result, classifiers[0].device)

    def _by_batches(
        self,
        run: PredictRun,
        image_list: photographs.PhotographList,
        pool: pool_files.PoolInProgress,
    ) -> "Speed":
        """Add to the pool the missing images, classified here."""
        from evaluation.classifiers.predicting import predicting

        plan = decoding.DecodingPlan(
            run.source,
            image_list.path,
            tuple(dict.fromkeys(classifier.preparation for classifier in run.classifiers)),
            run.options.batch,
        )
        device = run.classifiers[0].device
        processes = _processes(image_list.images, device, run.options.processes)
        if pool.state.whole:
            processes = 0
        with self.progress(image_list.images, "image", "predict") as bar:
            bar.update(pool.state.images)
            return predicting.predict(plan, run.classifiers, pool, processes, bar.update, self.warn)


def _share(run: PredictRun, engine: TaskWork) -> TaskShare:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        image_list = photographs.write_list(run.source, Path(folder) / "list")
        stretches = engine.mine(stretch_tasks.stretches_of(image_list, run.options.batch))
        tasks = run.tasks(stretches, image_list)
    return engine.share(tasks, "predict")


def _load(models: Sequence[ListedModel], options: PredictOptions) -> list[opening.Classifier]:
    from evaluation.classifiers.predicting.predicting import refuse_names

    classifiers = [options.opened(model, options.classes_of(model)) for model in models]
    refuse_names([classifier.name for classifier in classifiers])
    return classifiers


def _refuse_inside(source: photographs.PhotographSource, out: Path) -> None:
    if source.kind == "folder" and out.resolve().is_relative_to(source.path.resolve()):
        raise BadInput(
            "is inside the folder of photographs", file=out, cure="give a folder beside it"
        )


def _processes(images: int, device: str, chosen: int | None) -> int:
    """Return the number of processes that decode: 0 where starting them takes longer."""
    if chosen is not None or images < decoding.MIN_FOR_PROCESSES:
        return chosen or 0
    # On a CPU the network itself uses the processors.
    return max(1, processors.count() // (4 if device == devices.CPU else 1))
