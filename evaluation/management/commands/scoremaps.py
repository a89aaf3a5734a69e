"""`manage.py scoremaps`: where in each image its class is, by a network, for `score wsol`."""

import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.classifiers.scoremaps import folder, reading
from evaluation.classifiers.scoremaps.planning import Plan
from evaluation.management import network_options, scoremap_options
from evaluation.management.scoremap_options import CENTER
from evaluation.management.sequence_options import Options
from evaluation.metrics.attribution.recipes import METHODS, Unsuited
from evaluation.readers import wsol_folders
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write, first_line
from labeling.jobs.image_store import saying_full
from labeling.management.contract import ContractCommand


class Command(ContractCommand):
    help = "Score maps of a network, a .npy an image, for score wsol; goes on where it stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--method", required=True, choices=(*METHODS, CENTER), help="how a map is made"
        )
        parser.add_argument(
            "--metadata",
            type=Path,
            required=True,
            metavar="DIR",
            help="image_ids.txt, class_labels.txt and, where there is one, image_sizes.txt",
        )
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a map ID.npy for each image"
        )
        scoremap_options.add(parser)

    def action(self, **options: Any) -> dict[str, object]:
        scoremap_options.refuse_unfit(options)
        labels = wsol_folders.read_labels(options["metadata"])
        try:
            with saying_full():
                if options["method"] == CENTER:
                    return devices.named(_centered(list(labels), options))
                return devices.named(self._made(labels, options))
        except Refusal as refusal:
            raise BadInput(
                refusal.message, cure="the same command then goes on where this one stopped"
            ) from None

    def show(self, result: dict[str, object]) -> str:
        return network_options.show(result)

    def _made(self, labels: dict[str, str], options: Options) -> dict[str, object]:
        names = list(labels)
        reading.refuse_missing(options["images"], names)
        plan = scoremap_options.plan(labels, options)
        settings = scoremap_options.settings(plan, options)
        with folder.opened(options["out"], settings, names) as maps:
            resumed = len(maps.done)
            constant = self._make(names, plan, maps, options)
        if options["predictions"]:
            self._name(names, plan, options)
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
            "out": os.fspath(options["out"]),
        }

    def _make(self, names: list[str], plan: Plan, maps: folder.Folder, options: Options) -> int:
        """How many of the maps made now are constant."""
        from evaluation.classifiers.scoremaps import making

        frames = _frames([name for name in names if name not in maps.done], options)
        with closing(frames), self.progress(len(names), "map", options["method"]) as bar:
            bar.update(len(maps.done))
            try:
                return making.make(frames, plan, maps, options["batch"], bar.update)
            except Unsuited as unsuited:
                raise _unsuited(unsuited, options) from None
            # Networks raise whatever they like when their gradients are asked for.
            except RuntimeError as error:
                raise _failed(error, options) from None

    def _name(self, names: list[str], plan: Plan, options: Options) -> None:
        from evaluation.classifiers.scoremaps import making

        with (
            closing(_frames(names, options)) as frames,
            self.progress(len(names), "image", "predictions") as bar,
            atomic_write(options["predictions"]) as file,
        ):
            for name, label in making.named(frames, plan, options["batch"]):
                file.write(f"{name},{label}\n")
                bar.update()


def _frames(names: list[str], options: Options) -> Generator[tuple[str, Any]]:
    sizes = options["metadata"] / "image_sizes.txt"
    return reading.read(
        options["images"],
        names,
        options["orientation"] or "upright",
        wsol_folders.read_sizes(options["metadata"]) if sizes.is_file() else {},
    )


def _centered(names: list[str], options: Options) -> dict[str, object]:
    import numpy as np

    from evaluation.metrics.wsol.box_scores import center_gaussian

    side = options["map_size"]
    middle = center_gaussian(side, side).astype(np.float32)
    recipe = {"method": CENTER, "map_size": side}
    with folder.opened(options["out"], {"recipe": recipe}, names) as maps:
        resumed = len(maps.done)
        for name in names:
            if name not in maps.done:
                maps.write(name, middle)
    return {
        "images": len(names),
        "made": len(names) - resumed,
        "resumed": resumed,
        "recipe": recipe,
        "out": os.fspath(options["out"]),
    }


def _unsuited(unsuited: Unsuited, options: Options) -> BadInput:
    cure = "give a method that fits it, or, where a file hides its layers, package.module:factory"
    if "at once" in str(unsuited):
        cure = "give --batch as many as it takes"
    return BadInput(f"{options['model']} does not suit {options['method']}: {unsuited}", cure=cure)


def _failed(error: RuntimeError, options: Options) -> BadInput:
    return BadInput(
        f"{options['model']} failed ({first_line(error)})",
        cure="give a smaller --batch where memory ran out; else look at the network",
    )
