"""`manage.py scoremaps`: score maps of images by a network, for `score wsol`."""

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation import devices
from evaluation.classifiers import opening
from evaluation.classifiers.model_lists import ListedModel
from evaluation.classifiers.scoremaps import folder, reading, stretch_tasks
from evaluation.classifiers.scoremaps.planning import ScoremapPlan
from evaluation.engines.tasks import Task
from evaluation.management.computing import TaskShare, TaskWork, device_of, in_tasks, needed
from evaluation.management.scoremap_plans import CENTER
from evaluation.management.scoremap_plans import ScoremapOptions as Options
from evaluation.metrics.attribution.recipes import Unsuited
from evaluation.readers import wsol_folders
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write, first_line
from labeling.management.contract import ContractCommand, UsageError


class Command(ContractCommand):
    help = "Score maps of a network, a .npy an image, for score wsol; goes on where it stopped."

    def action(self, options: Options) -> dict[str, object] | TaskShare:
        if options.models is not None:
            return self._each(options)
        options.refuse_unfit()
        device_of(options.device, options.on)
        labels = wsol_folders.read_labels(options.metadata)
        try:
            with converting_disk_full():
                if options.method == CENTER:
                    return devices.with_device(_centered(list(labels), options))
                with in_tasks(self, options, options.shard) as engine:
                    if engine is not None and engine.shard:
                        return self._share(labels, engine, options)
                    return devices.with_device(self._made(labels, engine, options))
        except Refusal as refusal:
            raise BadInput(
                refusal.message, cure="the same command then goes on where this one stopped"
            ) from None

    def _each(self, options: Options) -> dict[str, object]:
        """Make the maps of each model of --models, in folders with the models' names."""
        for name in ("model", "predictions", "shard"):
            if getattr(options, name) is not None:
                raise UsageError(f"--{name} goes with one --model, without --models")
        of_each: dict[str, object] = {}
        for model in options.listed_models(None):
            name, _ = opening.split(model.spec)
            out = needed(options.out)
            out.mkdir(exist_ok=True)
            changes: dict[str, Any] = dict(model.preparing)
            if model.classes is not None:
                changes["classes"] = model.classes
            of_model = replace(options, models=None, model=model.spec, out=out / name, **changes)
            of_each[name] = self.action(of_model)
        return devices.with_device({"classifiers": of_each, "out": os.fspath(needed(options.out))})

    def _made(
        self, labels: dict[str, str], engine: TaskWork | None, options: Options
    ) -> dict[str, object]:
        out, names = needed(options.out), list(labels)
        reading.refuse_missing(options.folder(), names)
        plan = options.plan(labels)
        settings = options.settings(plan)
        with folder.opened(out, settings, names) as maps:
            resumed = len(maps.done)
            if engine is None:
                constant = self._make(names, plan, maps, options)
            else:
                constant = self._make_by_tasks(names, plan, maps, engine, options)
        if options.predictions and engine is None:
            self._name(names, plan, options.predictions, options)
        if constant:
            self.warn(f"{constant} of the maps are constant: no pixel counts more than another")
        return {
            "classifier": plan.classifier.name,
            "images": len(names),
            "made": len(names) - resumed,
            "resumed": resumed,
            "constant": constant,
            "recipe": settings["recipe"],
            "model": settings["model"],
            "preparation": settings["preparation"],
            "device": plan.classifier.device,
            "out": os.fspath(out),
        }

    def _share(self, labels: dict[str, str], engine: TaskWork, options: Options) -> TaskShare:
        names, plan = list(labels), options.plan(labels)
        reading.refuse_missing(options.folder(), names)
        stretches = engine.mine(stretch_tasks.stretches_of(names, plan, options.batch))
        with _refusals(options):
            return engine.share(_tasks(stretches, plan, options), options.method)

    def _make_by_tasks(
        self,
        names: list[str],
        plan: ScoremapPlan,
        maps: folder.Folder,
        engine: TaskWork,
        options: Options,
    ) -> int:
        """Make the maps and the file of --predictions; return how many new maps are constant."""
        stretches = [
            stretch
            for stretch in stretch_tasks.stretches_of(names, plan, options.batch)
            if options.predictions or not maps.done.issuperset(stretch)
        ]
        constant = 0
        with contextlib.ExitStack() as files, _refusals(options):
            tasks = _tasks(stretches, plan, options)
            made = engine.results(tasks, options.method)
            file = options.predictions and files.enter_context(atomic_write(options.predictions))
            for stretch, content in zip(stretches, made, strict=True):
                for name, scores in stretch_tasks.unpack(content, stretch):
                    if name not in maps.done:
                        maps.write(name, scores)
                        constant += int(scores.min() == scores.max())
                if file:
                    rows = stretch_tasks.classes_in(content, stretch)
                    file.writelines(f"{name},{label}\n" for name, label in rows)
        return constant

    def _make(
        self, names: list[str], plan: ScoremapPlan, maps: folder.Folder, options: Options
    ) -> int:
        """Make the maps; return how many new ones are constant."""
        from evaluation.classifiers.scoremaps import making

        frames = _frames([name for name in names if name not in maps.done], options)
        with closing(frames), self.progress(len(names), "map", options.method) as bar:
            bar.update(len(maps.done))
            with _refusals(options):
                return making.make(frames, plan, maps, options.batch, bar.update)

    def _name(self, names: list[str], plan: ScoremapPlan, path: Path, options: Options) -> None:
        from evaluation.classifiers.scoremaps import making

        with (
            closing(_frames(names, options)) as frames,
            self.progress(len(names), "image", "predictions") as bar,
            atomic_write(path) as file,
        ):
            for name, label in making.likeliest_classes(frames, plan, options.batch):
                file.write(f"{name},{label}\n")
                bar.update()


def _frames(names: list[str], options: Options) -> Generator[tuple[str, Any]]:
    images = _images(options)
    return reading.read(images.folder, names, images.orientation, images.sizes)


def _images(options: Options) -> stretch_tasks.ImageFolder:
    there = (options.metadata / "image_sizes.txt").is_file()
    sizes = wsol_folders.read_sizes(options.metadata) if there else {}
    return stretch_tasks.ImageFolder(options.folder(), options.orientation or "upright", sizes)


def _tasks(stretches: Sequence[Sequence[str]], plan: ScoremapPlan, options: Options) -> list[Task]:
    networks = options.networks([ListedModel(options.model or "", {})], [plan.classifier])
    has_classes = options.predictions is not None
    return stretch_tasks.tasks_of(
        stretches, _images(options), plan, networks, options.batch, has_classes
    )


def _centered(names: list[str], options: Options) -> dict[str, object]:
    import numpy as np

    from evaluation.metrics.wsol.box_scores import center_gaussian

    out, side = needed(options.out), options.map_size
    middle = center_gaussian(side, side).astype(np.float32)
    recipe = {"method": CENTER, "map_size": side}
    with folder.opened(out, {"recipe": recipe}, names) as maps:
        resumed = len(maps.done)
        for name in names:
            if name not in maps.done:
                maps.write(name, middle)
    return {
        "images": len(names),
        "made": len(names) - resumed,
        "resumed": resumed,
        "recipe": recipe,
        "out": os.fspath(out),
    }


@contextlib.contextmanager
def _refusals(options: Options) -> Iterator[None]:
    """Convert the errors of a network into BadInput."""
    try:
        yield
    except Unsuited as unsuited:
        cure = (
            "give a method that fits it, or, where a file hides its layers, package.module:factory"
        )
        if "at once" in str(unsuited):
            cure = "give --batch as many as it takes"
        raise BadInput(
            f"{options.model} does not suit {options.method}: {unsuited}", cure=cure
        ) from None
    # Networks may raise any RuntimeError while gradients are computed.
    except RuntimeError as error:
        raise BadInput(
            f"{options.model} failed ({first_line(error)})",
            cure="give a smaller --batch where memory ran out; else look at the network",
        ) from None
