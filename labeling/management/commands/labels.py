"""`labels export` and `labels import`: labels out of a release and into a dataset."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from labeling.errors import Refusal
from labeling.exchange import export_files, part_reading, prior_labels
from labeling.files import BadInput
from labeling.formats import FORMATS
from labeling.formats.label import NAMES, VALUES, Label
from labeling.formats.label_studio_project import LOCAL_FILES
from labeling.formats.reading import skipped_sentence
from labeling.management import parts_command, release_options
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.management.release_options import find_campaign, find_release, images_in
from labeling.models import Dataset
from labeling.parts.model import STATES
from labeling.plurals import count_of
from labeling.release_files import exporting

# Of labels, and of objects with their parts; which ones a release has, follows from its kind.
OUT = list(dict.fromkeys([*FORMATS, *exporting.OBJECT_FORMATS]))
IN = list(dict.fromkeys([*FORMATS, *part_reading.NAMES]))


class Command(ContractCommand):
    help = "Labels out of a frozen release, or into a dataset before anybody is asked."

    def add_arguments(self, parser: CommandParser) -> None:
        out = self.verb(parser, "export", self.export, self.show_export, help="from a release")
        release_options.add_arguments(out, "pictures")
        out.add_argument(
            "--format",
            choices=OUT,
            default="csv",
            dest="format_name",
            help="csv by default; objects with their parts as coco, pascal-part, png, "
            "label-studio, or as pictures to look at",
        )
        out.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a folder that is not there yet"
        )
        out.add_argument(
            "--names",
            choices=NAMES,
            default=exporting.DEFAULT.names,
            help="of coco's categories: each once (cat head), or plain (head, of every class)",
        )
        out.add_argument(
            "--rest", action="store_true", help="coco: with what no part covers, of each object"
        )
        out.add_argument(
            "--image-base",
            default="",
            metavar="URL",
            help="label-studio: what stands before an image's name in its address; "
            f"{LOCAL_FILES} by default",
        )
        out.add_argument(
            "--with-images",
            action="store_true",
            help="with the photographs as people saw them, in images/ (voc: JPEGImages/)",
        )
        into = self.verb(
            parser, "import", self.bring_in, self.show_import, help="into a dataset, as given"
        )
        into.add_argument("dataset", metavar="DATASET", help="its name")
        into.add_argument(
            "path", metavar="FILE|DIR", type=Path, help="labels, or an export of a release"
        )
        into.add_argument(
            "--format", choices=IN, default="", dest="format_name", help="default: as the files say"
        )
        into.add_argument("--source", default="", help="of labels whose row says none")
        into.add_argument("--campaign", help="refuse classes that its question graph does not have")
        parts_command.add_arguments(into)

    def export(
        self,
        release: str,
        number: int | None,
        format_name: str,
        out: Path,
        images: Path | None,
        names: str,
        rest: bool,
        image_base: str,
        with_images: bool,
        **_: Any,
    ) -> exporting.Exported:
        options = exporting.Options(names, rest, image_base)
        frozen, stored = find_release(release, number)
        if images is not None:
            open_image: exporting.Open | None = images_in(images)
        else:
            open_image = None if stored is None else export_files.images_of(stored)
        try:
            made = exporting.export(
                frozen, format_name, out, open_image, options, with_images=with_images
            )
        except Refusal as refusal:
            raise BadInput(refusal.message) from None
        if made.note:
            self.warn(made.note)
        return made

    def show_export(self, result: exporting.Exported) -> str:
        words, counts_by_origin = VALUES, result.labels
        if counts_by_origin is None:
            words, counts_by_origin = STATES, result.parts or {}
        rows = [
            (origin, *(counts.get(word, 0) for word in words))
            for origin, counts in counts_by_origin.items()
        ]
        objects = "" if result.objects is None else f"{count_of(result.objects, 'object')} of "
        head = f"{objects}{count_of(result.images, 'image')} as {result.format} in {result.out}"
        return f"{head}\n\n{table(rows, head=('origin', *words))}"

    def bring_in(
        self, dataset: str, path: Path, format_name: str, campaign: str | None, **how: Any
    ) -> Mapping[str, Any]:
        goal = Dataset.objects.filter(name=dataset).first()
        if goal is None:
            raise BadInput(
                f"there is no dataset {dataset!r}", cure="make it with images add --create"
            )
        if how["parts"] or part_reading.is_for_parts(path, format_name):
            if campaign:
                raise UsageError("--campaign goes with labels of classes, not with parts")
            return parts_command.bring_in(self, goal, path, format_name, **how)
        return self.import_labels(goal, path, format_name, campaign, how)

    def show_import(self, result: Mapping[str, Any]) -> str:
        return parts_command.show(result) if "refused" in result else self.show(result)

    def import_labels(
        self,
        goal: Dataset,
        path: Path,
        format_name: str,
        campaign: str | None,
        how: Mapping[str, Any],
    ) -> prior_labels.BroughtIn:
        with self.progress(None, "label", "labels") as bar:

            def watch(labels: Iterable[Label]) -> Iterator[Label]:
                for label in labels:
                    bar.update()
                    yield label

            try:
                result = prior_labels.bring_in(
                    goal,
                    path,
                    format_name,
                    how["source"],
                    find_campaign(campaign) if campaign else None,
                    repair=how["repair"],
                    watch=watch,
                )
            except Refusal as refusal:
                raise BadInput(refusal.message.rstrip("."), file=path) from None
        for sentence in (*map(skipped_sentence, result["skipped"]), *result["mended"]):
            self.warn(sentence)
        if not (result["labels"] or result["unknown"]):
            self.warn("the file has no labels")
        return result
