"""`manage.py predict`: photographs through classifiers into a pool that `mad select` reads."""

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.classifiers import opening
from evaluation.classifiers.predicting import (
    decoding,
    photographs,
    pool_files,
    stretch_tasks,
)
from evaluation.classifiers.preparing import FITS
from evaluation.engines.tasks import Task
from evaluation.management import network_options
from evaluation.management.device_options import device_of
from evaluation.management.engine_options import Share, Work, add_engine, in_tasks, needed
from labeling import processors
from labeling.bounded_numbers import whole
from labeling.disk_full import StorageFull, saying_full
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result, table
from labeling.plurals import count_of

if TYPE_CHECKING:
    from evaluation.classifiers.predicting.predicting import Speed

BATCH = 32
Options = Mapping[str, Any]


class Command(ContractCommand):
    help = "Classifiers' names for photographs, as a pool for mad select; goes on where it stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "images",
            type=Path,
            metavar="IMAGES",
            help="a folder, a .zip, or a manifest.csv with a column image of paths beside it",
        )
        network_options.add_models(parser)
        network_options.add_classes(parser)
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="the pool: a new folder, or one to go on with",
        )
        parser.add_argument(
            "--top",
            type=whole(1),
            metavar="K",
            help="also NAME.csv with the K likeliest classes, for score classification",
        )
        parser.add_argument(
            "--processes",
            type=whole(),
            metavar="N",
            help="that decode photographs (a quarter of the processors; with a GPU all of them); "
            "beside each task of --on (none; with a GPU all of them)",
        )
        network_options.add_network(parser, BATCH, "photographs")
        parser.add_argument(
            "--restart", action="store_true", help="forget what a stopped run has done"
        )
        network_options.add_preparation(parser).add_argument(
            "--fit",
            choices=FITS,
            default="crop",
            help="crop: the middle (default); squash: the whole photograph, stretched; pad: the "
            "whole photograph, its proportions kept",
        )
        add_engine(parser)

    def action(self, **options: Any) -> Result | Share:
        options["chosen"] = network_options.chosen(options)
        options["device"] = device_of(options["device"], options["on"])
        source, out = photographs.source_of(options["images"]), options["out"]
        with in_tasks(self, options["on"], options["work"], options["shard"]) as engine:
            if engine is not None and engine.shard:
                return self._share(source, _load(options), engine, options)
            return self._made(source, needed(out), engine, options)

    def _made(
        self, source: photographs.Source, out: Path, engine: Work | None, options: Options
    ) -> Result:
        _refuse_inside(source, out)
        classifiers = _load(options)
        try:
            with saying_full(), pool_files.working(out, options["restart"]) as work:
                return self._predict(source, work, classifiers, engine, options)
        except StorageFull:
            raise BadInput(
                "the disk is full",
                file=out,
                cure="free some space: the same command then goes on where this one stopped",
            ) from None

    def show(self, result: Result | Share) -> str:
        if isinstance(result, Share):
            return super().show(result)
        rows = [
            (name, speed["images_per_second"], speed["model"]["model"])
            for name, speed in result["classifiers"].items()
        ]
        head = {key: value for key, value in result.items() if not isinstance(value, dict)}
        return f"{table(head.items())}\n\n{table(rows, ('classifier', 'images/s', 'model'))}"

    def _predict(
        self,
        source: photographs.Source,
        work: Path,
        classifiers: list[opening.Classifier],
        engine: Work | None,
        options: Options,
    ) -> Result:
        from evaluation.classifiers.predicting import predicting

        image_list = photographs.write_list(source, work / "list")
        settings = predicting.settings(image_list, classifiers, options["batch"], options["top"])
        names = [classifier.name for classifier in classifiers]
        opened = pool_files.opened(
            options["out"], settings, predicting.joined(classifiers), names, options["top"]
        )
        with opened as pool:
            resumed = pool.state.images
            if engine is None:
                speed = self._by_batches(source, image_list, classifiers, pool, options)
            else:
                speed = _by_tasks(source, image_list, classifiers, pool, engine, options)
            state = pool.state
            if not state.images:
                raise BadInput(
                    f"none of {count_of(image_list.images, 'file')} can be read as a photograph",
                    source.path,
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
            "out": os.fspath(options["out"]),
        }
        return devices.with_device(result, classifiers[0].device)

    def _by_batches(
        self,
        source: photographs.Source,
        image_list: photographs.Listed,
        classifiers: list[opening.Classifier],
        pool: pool_files.Pool,
        options: Options,
    ) -> "Speed":
        """Adds to the pool what it lacks, here."""
        from evaluation.classifiers.predicting import predicting

        plan = decoding.Plan(
            source,
            image_list.path,
            tuple(dict.fromkeys(classifier.preparation for classifier in classifiers)),
            options["batch"],
        )
        processes = _processes(image_list.images, classifiers[0].device, options["processes"])
        if pool.state.whole:
            processes = 0
        with self.progress(image_list.images, "image", "predict") as bar:
            bar.update(pool.state.images)
            return predicting.predict(plan, classifiers, pool, processes, bar.update, self.warn)

    def _share(
        self,
        source: photographs.Source,
        classifiers: list[opening.Classifier],
        engine: Work,
        options: Options,
    ) -> Share:
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            image_list = photographs.write_list(source, Path(folder) / "list")
            stretches = engine.mine(stretch_tasks.stretches_of(image_list, options["batch"]))
            tasks = _tasks(stretches, source, image_list, classifiers, options)
        return engine.share(tasks, "predict")


def _by_tasks(
    source: photographs.Source,
    image_list: photographs.Listed,
    classifiers: list[opening.Classifier],
    pool: pool_files.Pool,
    engine: Work,
    options: Options,
) -> "Speed":
    """Adds to the pool what it lacks, made by tasks."""
    from evaluation.classifiers.predicting.predicting import Speed

    begun, before = time.perf_counter(), pool.state.images
    if not pool.state.whole:
        stretches = [
            stretch
            for stretch in stretch_tasks.stretches_of(image_list, options["batch"])
            if stretch.end > pool.state.start
        ]
        tasks = _tasks(stretches, source, image_list, classifiers, options)
        pool.state.at_once = {classifier.name: options["batch"] for classifier in classifiers}
        for stretch, content in zip(stretches, engine.results(tasks, "predict"), strict=True):
            stretch_tasks.add(content, stretch, pool)
    passed = time.perf_counter() - begun
    return Speed(
        pool.state.images - before, {classifier.name: passed for classifier in classifiers}
    )


def _tasks(
    stretches: Sequence[stretch_tasks.Stretch],
    source: photographs.Source,
    image_list: photographs.Listed,
    classifiers: list[opening.Classifier],
    options: Options,
) -> list[Task]:
    networks = network_options.networks(options["chosen"], classifiers, options)
    processes = options["processes"]
    if processes is None:
        processes = 0 if classifiers[0].device == devices.CPU else processors.count()
    return stretch_tasks.tasks_of(
        *(stretches, source, image_list, networks, options["batch"], options["top"]), processes
    )


def _load(options: Options) -> list[opening.Classifier]:
    from evaluation.classifiers.predicting.predicting import refuse_names

    classifiers = [
        network_options.opened(model, network_options.classes_of(model, options), options)
        for model in options["chosen"]
    ]
    refuse_names([classifier.name for classifier in classifiers])
    return classifiers


def _refuse_inside(source: photographs.Source, out: Path) -> None:
    if source.kind == "folder" and out.resolve().is_relative_to(source.path.resolve()):
        raise BadInput(
            "lies within the folder of photographs", file=out, cure="give a folder beside it"
        )


def _processes(images: int, device: str, chosen: int | None) -> int:
    """How many decode: none where starting them takes longer than what they would do."""
    if chosen is not None or images < decoding.WORTH_IT:
        return chosen or 0
    # On a CPU the network itself needs the processors.
    return max(1, processors.count() // (4 if device == devices.CPU else 1))
